#include "ops/image/erase.h"

#include <cmath>

#include "ops/image/draws.h"
#include "ops/image/noise.h"

namespace liquid {
namespace {

constexpr uint8_t kAttempts = 10;

}  // namespace

Erasure DrawErasure(const ErasingStep& step, uint64_t seed, int64_t epoch,
                    uint64_t draw, uint32_t height, uint32_t width) {
  const auto words = [&](uint8_t part) {
    return DrawWords(RngPurpose::kErasing, seed, epoch, draw, part);
  };
  Erasure erasure;
  // The first word said whether.
  const PhiloxCounter first = words(0);
  erasure.key = {first[2], first[3]};
  for (uint8_t attempt = 1; attempt <= kAttempts; ++attempt) {
    const PhiloxCounter drawn = words(attempt);
    const auto [area, aspect] = step.size.Draw(drawn, height, width);
    // Halves to even, as Python rounds.
    const double h = std::rint(std::sqrt(area * aspect));
    const double w = std::rint(std::sqrt(area / aspect));
    if (!(h < height && w < width)) continue;
    Window& window = erasure.window;
    window.height = static_cast<uint32_t>(h);
    window.width = static_cast<uint32_t>(w);
    window.y = Below(drawn[2], uint64_t{height - window.height} + 1);
    window.x = Below(drawn[3], uint64_t{width - window.width} + 1);
    break;
  }
  return erasure;
}

void FillErased(const ErasingStep& step, const Erasure& erasure, uint32_t row,
                size_t channels, float* out) {
  const size_t n = erasure.window.width * channels;
  if (step.noise) return FillNoise(erasure.key, row, n, out);
  const std::vector<float>& values = step.values;
  for (size_t i = 0; i < n; ++i) {
    out[i] = values[values.size() == 1 ? 0 : i % channels];
  }
}

}  // namespace liquid
