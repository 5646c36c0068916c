// The pixels of a tile, shared out among a block's threads; and types of them.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_EACH_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_EACH_CUH_

#include "ops/codecs/l3/device/l3_device_store.cuh"
#include "ops/image/device/image_device_exact.cuh"

namespace liquid {

// Where a tile lies in an image of the result's size, and how much of it there
// is.
struct ImageTile {
  LIQUID_DEVICE ImageTile(const L3DeviceOutput& output, uint32_t tile) {
    const auto least = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
    const uint32_t across =
        (output.width + kImageTileColumns - 1) / kImageTileColumns;
    top = tile / across * kImageTileRows;
    left = tile % across * kImageTileColumns;
    rows = least(kImageTileRows, output.height - top);
    columns = least(kImageTileColumns, output.width - left);
  }
  uint32_t top, left, rows, columns;
};

// The pixel that value `i` of a row is of.
LIQUID_DEVICE inline uint32_t ImagePixelOf(uint32_t i, uint32_t channels) {
  if (channels == 3) return i / 3;
  return channels == 1 ? i : i >> (channels / 2);
}

// Calls f(row, i) of the block's threads for all of `rows` x `values`.
template <typename Block, typename F>
LIQUID_DEVICE void ImageEach(Block& block, uint32_t rows, uint32_t values,
                             F f) {
  block.EachThread([&](uint32_t thread) {
    for (uint32_t row = thread / kL3Warp; row < rows;
         row += block.Threads() / kL3Warp) {
      for (uint32_t i = thread % kL3Warp; i < values; i += kL3Warp) f(row, i);
    }
  });
}

// A float of 16 bits.
struct ImageHalf {
  uint16_t bits;
};

// Rounds to the nearest, ties to even, as ops/image/finish.h; no value here is
// a NaN.
LIQUID_DEVICE inline void ImageRound(float value, ImageHalf* out) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  uint32_t half;
  if (size >= 0x477FF000) {  // rounds to 2^16 and more
    half = 0x7C00;
  } else if (size < 0x38800000) {  // below 2^-14: a multiple of 2^-24
    // The sum's last bit is 2^-24, and the addition rounds to even.
    float small;
    memcpy(&small, &size, sizeof(small));
    small = ImageSum(small, 0.5f);
    memcpy(&half, &small, sizeof(half));
    half -= 0x3F000000;
  } else {
    half = (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13;
  }
  out->bits = static_cast<uint16_t>(sign | half);
}

LIQUID_DEVICE inline void ImageRound(float value, float* out) { *out = value; }
LIQUID_DEVICE inline void ImageRound(float value, L3BFloat16* out) {
  L3Round(value, out);
}

LIQUID_DEVICE inline void L3Finish(uint32_t sample, float mean, float std,
                                   ImageHalf* out) {
  float value;
  L3Finish(sample, mean, std, &value);
  ImageRound(value, out);
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_EACH_CUH_
