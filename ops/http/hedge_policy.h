// When to ask a second time for what has not been answered yet.
#ifndef LIQUID_OPS_HTTP_HEDGE_POLICY_H_
#define LIQUID_OPS_HTTP_HEDGE_POLICY_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace liquid {

// A few answers of a store take many times as long as the others, and who takes
// records in their order waits for these. A second request for the same is
// mostly answered in the usual time.
//
// Not thread-safe; O(1), but for one sort of kAnswers numbers in so many
// answers. It has no clock; the times are the caller's.
class HedgePolicy {
 public:
  static constexpr size_t kAnswers = 64;

  // An answer began `seconds` after its request.
  void Answered(double seconds);
  // Seconds after which a request without an answer counts among the slowest;
  // none until kAnswers have come.
  std::optional<double> limit() const { return limit_; }
  // Takes leave for a second request, of which there is one for each fifty
  // answers, and no more than four saved up; false: there is none.
  bool Take();

 private:
  std::vector<double> answers_;  // since limit_ was found
  std::optional<double> limit_;
  double leaves_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_HEDGE_POLICY_H_
