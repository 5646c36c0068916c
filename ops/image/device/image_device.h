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
// A block looks through a whole image.
constexpr uint32_t kImageFindThreads = 512;
// What it finds: a table of bytes for each channel, or a number; and the shared
// memory that it needs for that.
constexpr uint32_t kImageFoundBytes = 3 * 256;
constexpr uint32_t kImageFindSharedBytes = 8 * kImageFindThreads;

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

struct ImageDeviceColours {
  uint32_t changes = 0;  // the first in the low four bits
  float brightness = 1, contrast = 1, saturation = 1;
  uint32_t hue = 0, threshold = 0;
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
  ImageDeviceColours colours;
};
static_assert(sizeof(ImageDeviceSample) == 128, "Python knows the layout");

LIQUID_HOST_DEVICE inline bool NeedsMean(const ImageDeviceColours& colours) {
  for (uint32_t left = colours.changes; left != 0; left >>= 4) {
    if ((left & 15) == static_cast<uint32_t>(ImageChange::kContrast)) {
      return true;
    }
  }
  return false;
}

// What happens to an image that has its size, on canvases: rows of pixels of
// the stored type without gaps. Operations read one canvas and write another.
//
//   kNearest    the pixel in which a place lies, by doubles
//   kSteps      the same, by whole steps of 2^-16
//   kPlaces     the same, by a table: for every column, then for every row, of
//               the source; none is ~0
//   kBilinear   between 4 pixels, as RotateBilinear
//   kBicubic    through 16, as SampleBicubic
//   kColours    those of a pixel by itself, or with the mean of all
//   kTones      by a table of 256 bytes
//   kAutoContrast, kEqualize  by tables, one a channel, that are found
//   kSharpen    by the eight neighbours, as Sharpen
//   kBlurRows, kBlurColumns   a mean over a box along a row or a column
enum class ImageOperation : uint32_t {
  kNone,  // the image lies where it is
  kNearest,
  kSteps,
  kPlaces,
  kBilinear,
  kBicubic,
  kColours,
  kTones,
  kAutoContrast,
  kEqualize,
  kSharpen,
  kBlurRows,
  kBlurColumns
};

struct ImageDeviceOperation {
  uint64_t from, to;  // of the canvases: the first pixel
  uint64_t table;     // of all tables' words
  // From a pixel of the result to its place in the source: x is
  // map[0] * x + map[1] * y + map[2], y by the others, as ops/image/affine.h
  // has them. Those of kSteps are whole numbers.
  double map[6];
  uint16_t fill[4];  // what lies outside, by channel
  ImageDeviceColours colours;
  ImageOperation kind;
  float factor;                          // of kSharpen
  uint32_t radius, weight, edge_weight;  // of the box, as ops/image/filters.h
};
static_assert(sizeof(ImageDeviceOperation) == 128, "Python knows the layout");

LIQUID_HOST_DEVICE inline bool NeedsWhole(
    const ImageDeviceOperation& operation) {
  return operation.kind == ImageOperation::kAutoContrast ||
         operation.kind == ImageOperation::kEqualize ||
         (operation.kind == ImageOperation::kColours &&
          NeedsMean(operation.colours));
}

// A rectangle of a finished image.
struct ImageDeviceErasure {
  uint32_t image;  // in the batch
  uint32_t y, x, height, width;
  uint32_t noise;   // in place of `values`
  uint32_t key[2];  // of the noise
  float values[4];  // by channel
};
static_assert(sizeof(ImageDeviceErasure) == 48, "Python knows the layout");

// What becomes of an image of the batch once all are there, as floats: it stays
// as it is, a window of another one is put into it, or both are added up in
// shares.
enum class ImageBlend : uint32_t { kNone, kCut, kMix };

struct ImageDeviceBlend {
  uint32_t partner;  // in the batch
  ImageBlend kind;
  float share, rest;
  uint32_t y, x, height, width;  // of the window
};
static_assert(sizeof(ImageDeviceBlend) == 32, "Python knows the layout");

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
