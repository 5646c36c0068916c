// How long to wait before a request is repeated.
#ifndef LIQUID_OPS_HTTP_RETRY_DELAY_H_
#define LIQUID_OPS_HTTP_RETRY_DELAY_H_

#include <cstdint>

namespace liquid {

struct RetryDelays {
  // Seconds before the second attempt; then twice as much. Batches come in
  // order, so all wait for an answer that fails again and again. Where one in
  // ten fails, one in a thousand fails three times. With .05 it takes .26 s of
  // pauses, as long as 512 MiB of look-ahead last at 2 GB/s.
  double first = .02;
  double most = 5;
};

// Before attempt `attempt`, counted from 0, thus of 1 or more: half of it is
// left to `random`, any number, so that clients that failed together do not
// come back together. At least what the server asked for, `wanted`.
double RetryDelay(const RetryDelays& delays, int attempt, uint32_t random,
                  double wanted);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_RETRY_DELAY_H_
