// What passes between the host and a device that decodes JPEG by the index of a
// file: where its parts lie, its tables, and what became of them. Plain data,
// the same on both.
//
// A task of a batch (L3DeviceTask) of one of JPEG's kinds means this:
//
//   kJpegCodes   entropy decoding of segments [number, number + width) of the
//                image `begin[0]`, into its blocks
//   kJpegBlocks  the inverse DCT of blocks [number, number + width) of the
//   image
//                `begin[0]`, in their place
//   kJpegPixels  rows [row_begin, row_end) of the window of the image
//                `begin[0]`: what lies between chroma's samples, and colours,
//                to `begin[1]` of the scratch memory, where the window's first
//                row is, each `size[0]` bytes behind the one before
//
// The images are numbered from the first one of the batch's JPEG files on.
#ifndef LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_H_
#define LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_H_

#include "ops/codecs/l3/device/l3_device.h"

namespace liquid {

constexpr uint32_t kJpegBlockSide = 8;
constexpr uint32_t kJpegBlockSize = 64;  // coefficients
// Of a block in scratch memory: its coefficients, then its samples, in rows.
constexpr uint32_t kJpegBlockBytes = kJpegBlockSize * sizeof(int16_t);
constexpr uint32_t kJpegTables = 4;  // of an image, at most
// Bits of a code that are looked up; longer ones are found one by one.
constexpr uint32_t kJpegLookupBits = 9;

// That do a task of the first kind, which has as many segments at most; and of
// the others.
constexpr uint32_t kJpegCodesThreads = 64;
constexpr uint32_t kJpegThreads = 128;

// A Huffman table. Codes of n bits, moved up to 16, lie below end[n - 1], which
// is 0 where there is none; a code of n bits + delta[n - 1] is the number of
// its symbol. The host has checked that this is one of 256.
struct JpegDeviceCodes {
  uint32_t end[16];
  int32_t delta[16];
  uint8_t symbols[256];
};

// What follows a segment.
enum class JpegDeviceEnd : uint8_t {
  kAnything,  // the window ends before the next entry
  kEntry,     // the next one, at the end of the bytes
  kFile       // the file's end
};

// MCUs from an entry of the index up to the next one, or to the window's end.
struct JpegDeviceSegment {
  uint64_t begin;  // of the batch's bytes
  uint32_t bytes;
  uint32_t row, column;     // of the first MCU that the window needs, in it
  uint32_t dropped, count;  // MCUs before that one; and from there on
  uint32_t until_restart;   // MCUs; 0: there are no restarts
  int16_t dc[3], end_dc[3];
  uint8_t bit;        // of the first byte
  uint8_t spare;      // bits of the last byte that are the next entry's
  uint8_t restart;    // number of the next marker
  JpegDeviceEnd end;  // what is checked there
};
static_assert(sizeof(JpegDeviceSegment) == 48, "tests in Python know it");

struct JpegDeviceComponent {
  uint64_t blocks;       // where they begin, of the scratch memory
  uint32_t first_block;  // its number in the image
  uint32_t across;       // blocks of a row
  uint32_t h, v;         // blocks of an MCU
  uint32_t dc, ac;       // tables
  uint16_t quantization[kJpegBlockSize];  // in rows
};

struct JpegDeviceImage {
  uint64_t segments;  // bytes from the first image on
  uint32_t components, tables;
  uint32_t restart_interval;
  uint32_t blocks;                   // of all components
  uint32_t h, v;                     // luma's samples for one of chroma
  uint32_t y, x, height, width;      // the window, in pixels of the image
  uint32_t first_row, first_column;  // of MCUs
  uint32_t chroma_height, chroma_width;
  JpegDeviceComponent component[3];
  JpegDeviceCodes codes[kJpegTables];
};
static_assert(sizeof(JpegDeviceImage) == 2080, "tests in Python know it");

// What a task found; a result is the error | number << 8, of the segment in the
// task.
enum class JpegDeviceError : uint32_t {
  kNone = 0,
  kCode = 1,
  kDc = 2,
  kShort = 3,
  kRestart = 4,
  kEntry = 5,
  kEnd = 6,
  kLarge = 7,
};

LIQUID_HOST_DEVICE inline uint32_t JpegDeviceResult(JpegDeviceError error,
                                                    uint32_t number) {
  return static_cast<uint32_t>(error) | number << 8;
}

// Shared memory of a block of threads.

// A thread's block, which begins in another bank than that of the thread
// before.
constexpr uint32_t kJpegThreadValues = kJpegBlockSize + 2;
struct JpegSharedCodes {
  uint16_t lookup[kJpegTables << kJpegLookupBits];
  uint8_t order[kJpegBlockSize];  // of coefficients
  uint32_t found[kJpegCodesThreads];
  alignas(4) int16_t blocks[kJpegCodesThreads * kJpegThreadValues];
};

// A block between the dimensions, likewise.
constexpr uint32_t kJpegBetween = kJpegBlockSize + kJpegBlockSide;
struct JpegSharedBlocks {
  int16_t between[kJpegThreads / kJpegBlockSide * kJpegBetween];
  uint32_t found[kJpegThreads / kL3Warp];
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_H_
