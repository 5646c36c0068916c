// Normally distributed numbers that are the same on every machine.
#ifndef LIQUID_OPS_IMAGE_NOISE_H_
#define LIQUID_OPS_IMAGE_NOISE_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/rng.h"

namespace liquid {

// The number below which a normal variable of mean 0 and deviation 1 lies with
// the probability (word + .5) / 2^32, to 2e-7 of it: from -6.34 to 6.34.
float NormalQuantile(uint32_t word);

// Row `row` of as many rows of noise as one likes: `n` normal numbers, by the
// key alone.
void FillNoise(const PhiloxKey& key, uint32_t row, size_t n, float* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_NOISE_H_
