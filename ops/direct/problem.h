// How direct functions say what is wrong.
#ifndef LIQUID_OPS_DIRECT_PROBLEM_H_
#define LIQUID_OPS_DIRECT_PROBLEM_H_

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "ops/core/status.h"
#include "ops/direct/direct.h"

namespace liquid {

inline void Say(const std::string& message, LiquidProblem problem) {
  const size_t size = std::min<size_t>(message.size(), problem.size - 1);
  std::memcpy(problem.text, message.data(), size);
  problem.text[size] = '\0';
}

// What nobody waits for is told where the process says such things.
inline void Warn(const std::string& sentence) {
  std::fprintf(stderr, "liquid: %s\n", sentence.c_str());
}

// Calls `work`, which gives a Status, and says what is wrong.
template <typename Work>
StatusCode Guarded(LiquidProblem problem, const Work& work) {
  try {
    const Status status = work();
    if (!status.ok()) Say(status.message(), problem);
    return status.code();
  } catch (const std::bad_alloc&) {
    Say("memory is short", problem);
    return StatusCode::kUnavailable;
  } catch (const std::exception& error) {
    Say(error.what(), problem);
    return StatusCode::kInternal;
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_DIRECT_PROBLEM_H_
