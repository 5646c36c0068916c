// The layouts of L3, versions 1 and 2. docs/formats/l3.md has the reasons.
// Everything is little-endian.
//
// Version 1:
//
//   0    "LLL."
//   4    int32 width, int32 height
//   12   uint8 N, the patch's side
//   13   uint16 size of each patch of R, then of G, then of B
//   ...  the patches of R row-major, then of G, then of B
//
//   row: 4-bit width n | 8-bit base | n bits per pixel, LSB first, to a byte
//
// Version 2:
//
//   0    "LLL2"
//   4    uint32 height, uint32 width
//   12   uint8 channels (1..4), bits (8, 16), patch side (64), profile (0, 1)
//   16   uint32 CRC-32C of the 16 bytes before
//   20   uint32 offset of each patch and of the end, from the first patch
//   ...  the patches row-major
//
//   patch of profile 0 (profile 1 is in l3_compact.h):
//          uint32 CRC-32C of the patch's number and of the rest of the patch
//          uint32 per channel (below)
//          codes    b bytes per channel and row: eight codes of b bits
//          payload  per row, per channel, per group of 8 pixels: n bytes
//
//   channel: predictor 2 | colour 2 | set of widths 17 | 0 (3) | base 8 bits
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_FORMAT_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/codec.h"
#include "ops/codecs/l3/host/l3_arithmetic.h"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

constexpr char kL3V1Magic[] = "LLL.";
constexpr char kL3V2Magic[] = "LLL2";
constexpr size_t kL3V1HeaderBytes = 13;
constexpr size_t kL3V2HeaderBytes = 20;

// A range of patches, [x_begin, x_end) by [y_begin, y_end).
struct L3PatchRange {
  uint32_t x_begin, x_end, y_begin, y_end;
};

inline uint64_t L3PatchesAcross(uint32_t pixels, uint32_t side) {
  return (uint64_t{pixels} + side - 1) / side;
}

inline L3PatchRange L3PatchesOf(const Window& window, uint32_t side) {
  return {window.x / side,
          static_cast<uint32_t>((uint64_t{window.x} + window.width + side - 1) /
                                side),
          window.y / side,
          static_cast<uint32_t>(
              (uint64_t{window.y} + window.height + side - 1) / side)};
}

// What of a patch a window wants, in pixels of the patch.
struct L3Rows {
  uint32_t row_begin, row_end;
  uint32_t x_begin, x_end;
  uint8_t* out;  // of pixel (row_begin, x_begin)
  size_t stride;
};

// Where patch (px, py) meets the window, and where that goes in `out`.
L3Rows L3Intersect(const Window& window, uint32_t side, uint32_t px,
                   uint32_t py, const ImageInfo& image, uint8_t* out,
                   size_t row_stride);

// The two versions behind the functions of l3_codec.h. The request and the
// image to encode have been checked, as has the magic of `bytes`.
Status PeekL3V1(ByteSpan bytes, const DecodeLimits& limits, L3Info* info);
Status PeekL3V2(ByteSpan bytes, const DecodeLimits& limits, L3Info* info);
Status DecodeL3V1(ByteSpan bytes, const L3Info& info, const Window& window,
                  uint8_t* out, size_t row_stride);
Status DecodeL3V2(ByteSpan bytes, const L3Info& info, const Window& window,
                  uint8_t* out, size_t row_stride);
Status EncodeL3V1(uint32_t patch, const ImageInfo& info, const uint8_t* pixels,
                  std::string* out);
Status EncodeL3V2(const L3Options& options, const ImageInfo& info,
                  const uint8_t* pixels, std::string* out);

// Appends a patch of version 2 whose first 4 bytes are for its checksum.
void AppendL3Patch(uint32_t number, uint8_t* bytes, size_t size,
                   std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_FORMAT_H_
