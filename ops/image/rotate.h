// Images turned about their centre by any angle, which keep their size.
//
// Angles are in degrees, counter-clockwise, and finite. Results of 8 bits equal
// to the bit those of Pillow 13.0.0's Image.rotate, given the same sine and
// cosine; those are made without the machine's library, and so may differ from
// Python's in their 15th digit for a few angles. Images of two or four channels
// have alpha last, and colours count as much as their alpha. All functions are
// pure and thread-safe; T is uint8_t or uint16_t; images have 1 to 4 channels,
// sides from 1 to below 2^24, and no gaps between the rows; `in` and `out` must
// not overlap. Each takes O(pixels).
#ifndef LIQUID_OPS_IMAGE_ROTATE_H_
#define LIQUID_OPS_IMAGE_ROTATE_H_

#include <cstddef>
#include <cstdint>

#include "ops/image/affine.h"

namespace liquid {

// From places in the image to places in the turned one.
Affine RotateMap(double degrees, size_t height, size_t width);

// The opposite way: from where a turned pixel is to where its value is.
Affine RotateSource(double degrees, size_t height, size_t width);

// Whether pixels of the turned image lie on those of the image, so that nothing
// is to be mixed.
bool TurnsOntoPixels(double degrees, size_t height, size_t width);

// Between the four nearest pixels; `fill` is every channel of what lies outside
// the image. Values of 8 bits are rounded down, as Pillow does, those of 16
// bits to the nearest, halves up.
template <typename T>
void RotateBilinear(const T* in, size_t height, size_t width, size_t channels,
                    double degrees, T fill, T* out);

// The pixel in which the centre of the turned one lies; for values that are not
// to be mixed. Places are rounded as Pillow rounds them for images of that many
// bits.
template <typename T>
void RotateNearest(const T* in, size_t height, size_t width, size_t channels,
                   double degrees, T fill, T* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_ROTATE_H_
