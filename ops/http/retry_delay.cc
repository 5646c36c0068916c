#include "ops/http/retry_delay.h"

#include <algorithm>
#include <cmath>

namespace liquid {

double RetryDelay(const RetryDelays& delays, int attempt, uint32_t random,
                  double wanted) {
  const double whole = std::min(
      delays.most, std::ldexp(delays.first, std::min(attempt, 30) - 1));
  return std::max(wanted, whole / 2 * (1 + std::ldexp(random, -32)));
}

}  // namespace liquid
