// What passes between the host and a device that makes images by a recipe:
// where each decoded image lies, and the numbers of its resize. Plain data, the
// same on both.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_H_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_H_

#include "ops/codecs/l3/device/l3_device.h"

namespace liquid {

// A block of threads makes a tile of an image at once.
constexpr uint32_t kImageTileRows = 16;
constexpr uint32_t kImageTileColumns = 32;
constexpr uint32_t kImageThreads = 128;

// How a pixel of the result comes about. Tables are of 32-bit words, for every
// row or column of what comes out:
//
//   kCopy    the pixel itself; no table
//   kPick    which one it is
//   kLerp    the lower one of two; the upper one; a float, its share
//   kFilter  the first of `taps`; the weights of all first taps, of all second
//            ones… : int32_t in units of 2^-22 for 8 bits; for 16 bits doubles,
//            at a multiple of two words
enum class ImageDeviceMethod : uint32_t { kCopy, kPick, kLerp, kFilter };

// Of the colours of an image of 8 bits, once it has its size; one after
// another.
enum class ImageChange : uint32_t {
  kNone,
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kGray,
  kSolarize
};

struct ImageDeviceAxis {
  uint64_t table;         // of all tables' words
  uint32_t size;          // pixels of what is decoded
  uint32_t begin, count;  // pixels of the result that come of it
  uint32_t taps;
};

struct ImageDeviceSample {
  // Of the scratch: the first pixel of the upright image, and the way to the
  // next one of its column and of its row.
  int64_t first, down, across;
  ImageDeviceAxis rows, columns;
  uint32_t image;  // in the batch
  ImageDeviceMethod method;
  uint32_t rows_first;
  uint32_t mirrored, flipped;
  uint32_t fill;  // of what does not come of the image
  // Where in the scratch each tile has the sum of its luma, for contrast:
  // bytes.
  uint64_t luma;
  uint32_t changes;  // the first in the low four bits
  float brightness, contrast, saturation;
  uint32_t hue, threshold;
};
static_assert(sizeof(ImageDeviceSample) == 128, "Python knows the layout");

LIQUID_HOST_DEVICE inline bool NeedsMean(const ImageDeviceSample& sample) {
  for (uint32_t left = sample.changes; left != 0; left >>= 4) {
    if ((left & 15) == static_cast<uint32_t>(ImageChange::kContrast)) {
      return true;
    }
  }
  return false;
}

// Of a result of that size, how many a device makes by itself.
LIQUID_HOST_DEVICE constexpr uint32_t ImageTiles(uint32_t height,
                                                 uint32_t width) {
  return ((height + kImageTileRows - 1) / kImageTileRows) *
         ((width + kImageTileColumns - 1) / kImageTileColumns);
}

// Of a block's shared memory, for images of `bits` a sample.
LIQUID_HOST_DEVICE constexpr uint32_t ImageSharedBytes(uint32_t channels,
                                                       uint32_t bits) {
  const uint32_t values = kImageTileRows * kImageTileColumns * channels;
  // And a mean.
  return bits == 8 ? values * (sizeof(int32_t) + 1) + 16
                   : values * 2 * sizeof(double);
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_H_
