// How many requests to have under way.
#ifndef LIQUID_OPS_HTTP_REQUEST_LIMIT_H_
#define LIQUID_OPS_HTTP_REQUEST_LIMIT_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// While a server thinks about an answer, others have to come: as many as come
// in that time must be under way, beside those that are received. What is asked
// for beyond that comes early and waits in the system's buffers, which are then
// so large that no cache of the processor has them.
//
// Not thread-safe; O(1). It has no clock; the times are the caller's.
class RequestLimit {
 public:
  static constexpr size_t kAnswers = 64;
  // Beside those that wait for an answer.
  static constexpr size_t kReceived = 16;
  // How many times as many wait as the fastest answer needs. It is that which
  // has waited for no other one; most need longer, and where too few wait,
  // their number has to grow.
  static constexpr double kMargin = 4;

  // An answer that has begun `seconds` after its request ends at `now`.
  void Answered(double seconds, double now);
  // No request is under way: what comes later says nothing of the rate so far.
  void Idle() { answers_ = 0; }
  // Most requests; no limit until kAnswers have come.
  size_t most() const { return most_; }

 private:
  // Of the answers since most_ was found:
  size_t answers_ = 0;
  double since_ = 0;  // when they began
  double least_ = 0;  // seconds
  size_t most_ = SIZE_MAX;
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_REQUEST_LIMIT_H_
