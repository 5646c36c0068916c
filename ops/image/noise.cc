#include "ops/image/noise.h"

#include <algorithm>
#include <cmath>

#include "ops/image/logarithm.h"

namespace liquid {

// Wichura, "Algorithm AS 241: the percentage points of the normal
// distribution", Applied Statistics 37 (1988), at its lesser precision. Its
// third range begins where no word reaches.
float NormalQuantile(uint32_t word) {
  constexpr double kUnit = 1.0 / 4294967296.0;
  const double q = (static_cast<double>(word) + .5) * kUnit - .5;
  if (std::fabs(q) <= .425) {
    const double r = .180625 - q * q;
    const double above =
        ((5.9109374720e1 * r + 1.5929113202e2) * r + 5.0434271938e1) * r +
        3.3871327179;
    const double below =
        ((6.7187563600e1 * r + 7.8757757664e1) * r + 1.7895169469e1) * r + 1;
    return static_cast<float>(q * above / below);
  }
  const double tail = .5 - std::fabs(q);
  const double r = std::sqrt(-Logarithm(tail)) - 1.6;
  const double above =
      ((1.7023821103e-1 * r + 1.3067284816) * r + 2.7568153900) * r +
      1.4234372777;
  const double below = (1.2021132975e-1 * r + 7.3700164250e-1) * r + 1;
  return static_cast<float>(std::copysign(above / below, q));
}

void FillNoise(const PhiloxKey& key, uint32_t row, size_t n, float* out) {
  uint32_t block = 0;
  for (size_t i = 0; i < n; i += 4, ++block) {
    const PhiloxCounter words = Philox4x32({block, row, 0, 0}, key);
    const size_t some = std::min<size_t>(4, n - i);
    for (size_t k = 0; k < some; ++k) out[i + k] = NormalQuantile(words[k]);
  }
}

}  // namespace liquid
