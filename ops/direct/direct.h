// What Python calls without an op: a call costs a microsecond, and not fifty.
//
// C functions, since Python finds them by name. Those here work on the calling
// thread alone, so they also do in a forked child, which has no other;
// thread-safe, without state. Nothing is thrown, and no byte is trusted.
#ifndef LIQUID_OPS_DIRECT_DIRECT_H_
#define LIQUID_OPS_DIRECT_DIRECT_H_

#include <cstdint>

extern "C" {

// The image that a buffer is sized for, and what it may cost.
struct LiquidImage {
  int32_t format;  // a liquid::Format, or -1 to go by the first bytes
  uint32_t height;
  uint32_t width;
  uint32_t channels;  // 1 to 4
  uint32_t bits;      // 8 or 16
  uint64_t max_pixels;
  uint64_t max_scans;
};

// Bytes that somebody else owns.
struct LiquidBytes {
  const uint8_t* data;
  uint64_t size;
};

// Where a sentence about what is wrong goes, cut off and ended by a zero.
struct LiquidProblem {
  char* text;
  uint64_t size;  // at least 1
};

// A progressive compressed record, and what its index says of it.
struct LiquidPcr {
  LiquidBytes record;
  const uint32_t* lengths;  // of metadata and scan groups
  const uint32_t* crc32cs;  // of each
  uint64_t parts;           // at least 2
  uint64_t images;
};

// Where the parts of a record's images stand: offsets and sizes, in bytes.
struct LiquidPcrPlaces {
  uint64_t* chunks;    // [parts - 1, images, 2]
  uint64_t* examples;  // [images, 2]; sizes of 0 for none
  int32_t* labels;     // [images]; -1 for none
};

// Extends `crc` (0 to start) by the CRC-32C of bytes.
uint32_t liquid_direct_crc32c(LiquidBytes bytes, uint32_t crc);

// Decodes a whole image into height * width * channels * bits / 8 bytes, rows
// from the top, without padding; `index`: the entry points of a JPEG, or empty.
// Returns whether it could. Another size in the file is a problem.
bool liquid_direct_decode(LiquidBytes file, LiquidBytes index,
                          const LiquidImage* image, uint8_t* pixels,
                          LiquidProblem problem);

// Checks a whole record and finds its parts. Returns whether it is right.
bool liquid_direct_pcr(const LiquidPcr* pcr, const LiquidPcrPlaces* places,
                       LiquidProblem problem);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_H_
