// What the ways to read an image through an affine map share.
#ifndef LIQUID_OPS_IMAGE_AFFINE_SOURCE_H_
#define LIQUID_OPS_IMAGE_AFFINE_SOURCE_H_

#include <algorithm>
#include <cstddef>

#include "ops/image/affine.h"
#include "ops/image/wide.h"

namespace liquid {

// Pixels of a source, where a pixel of the result is found in it, and what
// comes out where that is outside.
template <typename T, size_t kChannels>
struct AffineSource {
  const T* pixels;
  size_t height, width;
  Affine map;
  const T* fill;

  LIQUID_INLINE const T* At(size_t y, size_t x) const {
    return pixels + (y * width + x) * kChannels;
  }
  LIQUID_INLINE void Copy(size_t y, size_t x, T* out) const {
    std::copy_n(At(y, x), kChannels, out);
  }
  LIQUID_INLINE void Fill(size_t count, T* out) const {
    if (count == 0) return;
    std::copy_n(fill, kChannels, out);
    for (size_t done = 1; done < count; done *= 2) {
      std::copy_n(out, std::min(done, count - done) * kChannels,
                  out + done * kChannels);
    }
  }
};

// Where the pixels of a row of the result are found, each by itself.
struct RowPlaces {
  LIQUID_INLINE RowPlaces(const Affine& affine, size_t y)
      : map(affine),
        row_x(map.xy * (static_cast<double>(y) + 0.5)),
        row_y(map.yy * (static_cast<double>(y) + 0.5)) {}

  LIQUID_INLINE double X(size_t x) const {
    return map.xx * (static_cast<double>(x) + 0.5) + row_x + map.x0;
  }
  LIQUID_INLINE double Y(size_t x) const {
    return map.yx * (static_cast<double>(x) + 0.5) + row_y + map.y0;
  }

  const Affine map;
  const double row_x, row_y;
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_AFFINE_SOURCE_H_
