// Random words of one draw of an epoch, and what is chosen by them.
#ifndef LIQUID_OPS_IMAGE_DRAWS_H_
#define LIQUID_OPS_IMAGE_DRAWS_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/rng.h"

namespace liquid {

// Four words that depend on nothing else: the counter of RandomStream, with the
// draw as the block and the attempt in the place of the format.
inline PhiloxCounter DrawWords(RngPurpose purpose, uint64_t seed, int64_t epoch,
                               uint64_t draw, uint8_t attempt = 0) {
  const uint64_t low = uint64_t{attempt} << 56 |
                       uint64_t{static_cast<uint8_t>(purpose)} << 48 |
                       (draw & ((uint64_t{1} << 48) - 1));
  const auto epoch_bits = static_cast<uint64_t>(epoch);
  return Philox4x32(
      {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
       static_cast<uint32_t>(epoch_bits),
       static_cast<uint32_t>(epoch_bits >> 32)},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

// The draw of a view of the image: of view 0 the draw itself, which must be
// below 2^40, of each other one a draw of its own. Requires view < kMostViews.
inline constexpr size_t kMostViews = 256;
inline uint64_t DrawOfView(uint64_t draw, size_t view) {
  return static_cast<uint64_t>(view) << 40 | draw;
}

// A number in [0, n). Requires n <= 2^32.
inline uint32_t Below(uint32_t word, uint64_t n) {
  return static_cast<uint32_t>((word * n) >> 32);
}

// Of the draws, those that are below it in 2^32: 1 << 32 is every draw.
using Chance = uint64_t;

inline bool Happens(uint32_t word, Chance chance) {
  return uint32_t{~word} < chance;
}

// From `least` on, to below `most`, by one quotient that is exact.
inline double Between(double least, double most, uint32_t word) {
  return least + (most - least) * (static_cast<double>(word) / 4294967296.0);
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DRAWS_H_
