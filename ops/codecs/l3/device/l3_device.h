// What passes between the host and a device that decodes L3: tasks, the layout
// of the batch, and what became of each task. Plain data, the same on both.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_H_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_H_

#include "ops/codecs/l3/host/l3_arithmetic.h"

namespace liquid {

constexpr uint32_t kL3Warp = 32;  // threads
// Rows that are decoded before they are stored: the shared memory of a block
// holds this many of each channel.
constexpr uint32_t kL3V2BandRows = 16;
constexpr uint32_t kL3V1BandRows = 8;
// Bytes of the batch are read in pieces of this size, each of them at a
// multiple of it. The batch begins and ends at one.
constexpr uint32_t kL3PieceBytes = 16;

// The last three are steps of JPEG: see ops/codecs/jpeg/device/jpeg_device.h.
enum class L3TaskKind : uint32_t {
  kRaw = 0,
  kV1 = 1,
  kV2 = 2,
  kCompact = 3,
  kJpegCodes = 4,
  kJpegBlocks = 5,
  kJpegPixels = 6
};

// A patch, or a rectangle of a raw image: what one block of threads does at
// once.
struct L3DeviceTask {
  // Where it lies in the batch's bytes. v1: the patches of R, G and B. v2 and
  // raw: the first entry only.
  uint64_t begin[3];
  uint32_t size[3];  // bytes; raw: from one row to the next
  uint32_t number;   // of the patch in its image
  uint32_t image;    // in the batch
  uint32_t out_y, out_x;
  L3TaskKind kind;
  uint32_t width, height;  // of the patch
  // What of it is wanted, and goes to (out_y, out_x) of the image.
  uint32_t row_begin, row_end, x_begin, x_end;
};
static_assert(sizeof(L3DeviceTask) == 80, "Python knows the layout");

// The tensor that takes the batch: dense [n, height, width, channels], or with
// `planar` [n, channels, height, width]. Floating samples are (v - mean) / std.
struct L3DeviceOutput {
  uint32_t height, width, channels, planar;
  float mean[kL3MaxChannels], std[kL3MaxChannels];
  // Whether the host has checked the files' bytes: then the checksums of their
  // patches are not. All else is.
  uint32_t verified;
};
static_assert(sizeof(L3DeviceOutput) == 52, "Python knows the layout");

// What a task found; a result is the error | channel << 8.
enum class L3DeviceError : uint32_t {
  kNone = 0,
  kCrc = 1,
  kNoWidths = 2,
  kWidthOverBits = 3,
  kManyWidths = 4,
  kReservedBits = 5,
  kColour = 6,
  kCodes = 7,
  kShort = 8,
  kLong = 9,
  kBadWidth = 10,
  kPredictor = 11,
  kFirstK = 12,
  kHeaders = 13,
  kSegment = 14,
  kRest = 15,
  kFlatWord = 16,
  kPalette = 17,
  kCode = 18,
};

LIQUID_HOST_DEVICE inline uint32_t L3DeviceResult(L3DeviceError error,
                                                  uint32_t channel) {
  return static_cast<uint32_t>(error) | channel << 8;
}

LIQUID_HOST_DEVICE constexpr uint32_t L3RoundUp(uint32_t bytes) {
  return (bytes + kL3PieceBytes - 1) / kL3PieceBytes * kL3PieceBytes;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_H_
