// Images read at the places that an affine map gives.
//
// `map` leads from where a pixel of the result is to where its value is in the
// source, of the same size. Results of 8 bits equal to the bit those of Pillow
// 13.0.0's Image.transform with the same six coefficients. `fill` is the pixel
// of what lies outside the source. Images of two or four channels have alpha
// last, and colours count as much as their alpha. All functions are pure and
// thread-safe; images have 1 to 4 channels, sides from 1 to below 2^24, and no
// gaps between the rows; `in` and `out` must not overlap. Each takes O(pixels).
#ifndef LIQUID_OPS_IMAGE_AFFINE_SAMPLE_H_
#define LIQUID_OPS_IMAGE_AFFINE_SAMPLE_H_

#include <cstddef>
#include <cstdint>

#include "ops/image/affine.h"

namespace liquid {

// The pixel in which a place lies; for values that are not to be mixed. Places
// are rounded as Pillow rounds them for images of that many bits. T is uint8_t
// or uint16_t.
template <typename T>
void SampleNearest(const T* in, size_t height, size_t width, size_t channels,
                   const Affine& map, const T* fill, T* out);

// Between the four nearest pixels. Values of 8 bits are rounded down, as Pillow
// does, those of 16 bits to the nearest, halves up.
template <typename T>
void SampleBilinear(const T* in, size_t height, size_t width, size_t channels,
                    const Affine& map, const T* fill, T* out);

// Through the 16 nearest pixels, rounded down. Requires 1 or 3 channels.
void SampleBicubic(const uint8_t* in, size_t height, size_t width,
                   size_t channels, const Affine& map, const uint8_t* fill,
                   uint8_t* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_AFFINE_SAMPLE_H_
