// The clock that durations are measured by: nobody sets it back.
#ifndef LIQUID_OPS_CORE_CLOCK_H_
#define LIQUID_OPS_CORE_CLOCK_H_

#include <chrono>

namespace liquid {

// Seconds since some moment before.
inline double MonotonicSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_CLOCK_H_
