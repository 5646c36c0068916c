// Which answers are received now, and which wait for their turn.
#ifndef LIQUID_OPS_HTTP_RECEIVE_TURNS_H_
#define LIQUID_OPS_HTTP_RECEIVE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace liquid {

// Answers that are received all at once share the network and end together,
// late. Who takes records in their order gets nothing until then, and asks for
// as many again only then, so that nothing comes for as long as a server takes
// to answer. So a few are received at a time, those that were asked for first.
// What has come of the others lies in the system's buffers. None waits for
// long.
//
// Not thread-safe; O(log n) but for Next and wait(), which look at all that
// wait where none may begin. It has no clock; the times are the caller's.
class ReceiveTurns {
 public:
  static constexpr size_t kMost = 8;
  // Seconds that one waits. A store may give each connection less than its
  // share of a fast network: then more wait for so long, and more are received.
  static constexpr double kLongest = .25;

  // Whether the answer to request `number` may be received. If not, it waits
  // until Next names it. Numbers grow in the order of the requests.
  bool Begin(uint64_t number, double now);
  // It is received, given up, or was never begun.
  void End(uint64_t number);
  // One that has waited and may be received from now on; none: no other one.
  std::optional<uint64_t> Next(double now);
  // Seconds until the first one has waited for long enough; none waits: none.
  std::optional<double> wait(double now) const;

 private:
  std::set<uint64_t> received_;
  std::map<uint64_t, double> waiting_;  // since when
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_RECEIVE_TURNS_H_
