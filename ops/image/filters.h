// Filters whose pixels depend on their neighbours, as Pillow 13.0.0 computes
// them, to the bit.
//
// Images are of 8 bits and 1 or 3 channels, without gaps between the rows, with
// sides of at least 1; buffers of one call must not overlap. All functions are
// pure and thread-safe.
#ifndef LIQUID_OPS_IMAGE_FILTERS_H_
#define LIQUID_OPS_IMAGE_FILTERS_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// ImageEnhance.Sharpness: away from the smoothed image, or towards it where
// `factor` is below 1. What lies at an edge stays. O(pixels).
void Sharpen(const uint8_t* in, size_t height, size_t width, size_t channels,
             float factor, uint8_t* out);

// A mean over 2 * radius + 1 values and a part of the next one on either side,
// in 2^-24.
struct BlurBox {
  uint32_t radius;
  uint32_t weight;       // of whole values
  uint32_t edge_weight;  // of the two beyond them
};

// Three means over this box, one after the other and each rounded, are nearly a
// Gaussian of `sigma`. A radius of 0 and no weight beyond it leaves all as it
// is. Beyond an edge lies the value at the edge.
BlurBox BlurBoxOf(float sigma);

// ImageFilter.GaussianBlur, which is three means over boxes in each direction.
// Requires a finite `sigma` of at least 0, in pixels. `canvas` changes in
// place, with `other`, of as many bytes, for what is in between. O(pixels),
// whatever sigma is.
void GaussianBlur(size_t height, size_t width, size_t channels, float sigma,
                  uint8_t* canvas, uint8_t* other);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_FILTERS_H_
