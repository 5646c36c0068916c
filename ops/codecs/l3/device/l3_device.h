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

// Bytes behind all that is sent that are read, and mean nothing: a group is
// read in whole words, and what is damaged up to a row on.
constexpr uint32_t kL3ReadOn = 208;

// The most of a raw image that makes a task. A block's threads number what they
// store in 32 bits.
constexpr uint32_t kL3RawRows = 16;
constexpr uint32_t kL3RawColumns = 1024;

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
static_assert(sizeof(L3DeviceTask) == 80, "Python knows the size");

// An image of a batch, of which a device makes its tasks.
struct L3DeviceImage {
  // Where in the batch's bytes, modulo 2^64, its table of patches has what it
  // says of the first one that the window meets; raw: where the window's first
  // row lies, and each `width` pixels behind it the next one.
  uint64_t table;
  uint32_t first_task;  // of the batch
  uint32_t image;       // in the batch
  L3TaskKind kind;
  // Patches that lie one after another in the file, and that the window meets,
  // lie so in the batch: `run_rows` rows of patches, which are either one or
  // all. The runs of version 1 are those of R, then of G, then of B.
  uint32_t first_run, run_rows;
  uint32_t side;           // of a patch
  uint32_t height, width;  // as stored; raw: see `table`
  uint32_t window_y, window_x, window_height, window_width;
  uint32_t least, most;  // bytes of a patch; raw: of a pixel
};
static_assert(sizeof(L3DeviceImage) == 64, "the op says the layout");

// Where patches lie in the batch's bytes, modulo 2^64.
struct L3DeviceRun {
  uint64_t begin, size;
};
static_assert(sizeof(L3DeviceRun) == 16, "the op says the layout");

// The tensor that takes the batch: dense [n, height, width, channels], or with
// `planar` [n, channels, height, width]. Floating samples are (v - mean) / std,
// where a recipe's kernels take what is subtracted from `mean_image`, if there
// is one: an address in the device's memory, of a float for each value of an
// image, as that lies in the tensor.
struct L3DeviceOutput {
  uint32_t height, width, channels, planar;
  float mean[kL3MaxChannels], std[kL3MaxChannels];
  // Whether the host has checked the files' bytes: then the checksums of their
  // patches are not. All else is.
  uint32_t verified;
  uint64_t mean_image;  // 0: none
};
static_assert(sizeof(L3DeviceOutput) == 64, "Python knows the layout");

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

// What no task leaves: one that was never done.
constexpr uint32_t kL3NotDone = ~uint32_t{0};

// Errors as numbers, of which the least is the one to tell: those of tables
// come before those of patches, as whoever reads a file finds them; then the
// first image's, and its first patch's.
enum class L3ErrorOf : uint32_t { kTable = 0, kPatch = 1 };
constexpr uint64_t kL3NoError = ~uint64_t{0};
constexpr uint32_t kL3MostImages = 1 << 20;  // of a batch

// `patch` is what L3OrderOf says of a task, `result` what became of it, and 0
// of a table.
LIQUID_HOST_DEVICE constexpr uint64_t L3ErrorKey(L3ErrorOf of, uint32_t image,
                                                 uint32_t patch,
                                                 uint32_t result) {
  return uint64_t{static_cast<uint32_t>(of)} << 63 | uint64_t{image} << 43 |
         uint64_t{patch} << 11 | (result & 31) << 6 | (result >> 8 & 63);
}

// The number of a patch in its image; of JPEG, whose tasks are of three kinds,
// also the kind, in the order in which they are done.
LIQUID_HOST_DEVICE constexpr uint32_t L3OrderOf(const L3DeviceTask& task) {
  return task.kind < L3TaskKind::kJpegCodes
             ? task.number
             : (static_cast<uint32_t>(task.kind) -
                static_cast<uint32_t>(L3TaskKind::kJpegCodes))
                       << 30 |
                   task.number;
}

// The parts of a key.
LIQUID_HOST_DEVICE constexpr L3ErrorOf L3ErrorOfKey(uint64_t key) {
  return static_cast<L3ErrorOf>(key >> 63);
}
LIQUID_HOST_DEVICE constexpr uint32_t L3ImageOfKey(uint64_t key) {
  return static_cast<uint32_t>(key >> 43) % kL3MostImages;
}
LIQUID_HOST_DEVICE constexpr uint32_t L3PatchOfKey(uint64_t key) {
  return static_cast<uint32_t>(key >> 11);
}
LIQUID_HOST_DEVICE constexpr uint32_t L3ResultOfKey(uint64_t key) {
  return static_cast<uint32_t>((key >> 6 & 31) | (key & 63) << 8);
}

// What a device has found of a batch, when all its kernels have run.
struct L3DeviceFindings {
  uint64_t first_error = kL3NoError;  // the least key
  uint64_t checked = 0;               // tasks, whatever became of them
};
static_assert(sizeof(L3DeviceFindings) == 16, "Python knows the layout");

LIQUID_HOST_DEVICE constexpr uint32_t L3RoundUp(uint32_t bytes) {
  return (bytes + kL3PieceBytes - 1) / kL3PieceBytes * kL3PieceBytes;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_H_
