// Images of another size, and mirrored ones.
#ifndef LIQUID_OPS_DATASET_DECODE_RESIZE_H_
#define LIQUID_OPS_DATASET_DECODE_RESIZE_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// Interleaved pixels without gaps between the rows.
struct PixelShape {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;

  bool operator==(const PixelShape& o) const {
    return height == o.height && width == o.width && channels == o.channels;
  }
};

// Resizes `in` to `out`, bilinear between the centres of pixels and rounded to
// the nearest value, halves to even: to the bit what tf.image.resize gives,
// rounded. T is uint8_t or uint16_t. Requires sides of at least 1 and below
// 2^24, and as many channels on both sides. The buffers must not overlap.
// Time: O(out pixels); memory: O(out width).
template <typename T>
void ResizeBilinear(const T* in, const PixelShape& in_shape, T* out,
                    const PixelShape& out_shape);

// Likewise, each pixel the one whose area has its centre, as
// tf.image.resize(method="nearest") gives; for values that are not to be mixed.
template <typename T>
void ResizeNearest(const T* in, const PixelShape& in_shape, T* out,
                   const PixelShape& out_shape);

// Mirrors an image left to right, in place.
template <typename T>
void Mirror(T* pixels, const PixelShape& shape);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_RESIZE_H_
