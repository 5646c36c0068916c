#include "ops/http/request_limit.h"

#include <algorithm>
#include <cmath>

namespace liquid {

void RequestLimit::Answered(double seconds, double now) {
  if (answers_ == 0) since_ = now;
  least_ = answers_ == 0 ? seconds : std::min(least_, seconds);
  if (++answers_ < kAnswers) return;
  const double took = std::max(1e-6, now - since_);
  const double needed = least_ * (kAnswers - 1) / took;
  most_ = kReceived + static_cast<size_t>(std::ceil(kMargin * needed));
  answers_ = 0;
}

}  // namespace liquid
