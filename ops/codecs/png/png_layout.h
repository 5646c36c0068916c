// The chunks of a PNG file, found and checked without decoding pixels.
#ifndef LIQUID_OPS_CODECS_PNG_PNG_LAYOUT_H_
#define LIQUID_OPS_CODECS_PNG_PNG_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"

namespace liquid {

enum PngColor : uint8_t {
  kPngGray = 0,
  kPngRgb = 2,
  kPngPalette = 3,
  kPngGrayAlpha = 4,
  kPngRgba = 6,
};

struct PngLayout {
  uint32_t width = 0;
  uint32_t height = 0;
  uint8_t bit_depth = 0;
  uint8_t color = 0;
  bool interlaced = false;
  ByteSpan palette;  // 3 bytes per entry
  ByteSpan transparency;
  bool has_transparency = false;
  std::vector<ByteSpan> data;  // of the IDAT chunks; filled by ParsePng only
  uint64_t data_bytes = 0;

  ImageInfo Info() const;  // of the decoded image
  // Bytes of all filtered rows, every interlacing pass included.
  uint64_t FilteredBytes() const;
};

// Reads the chunks before the first IDAT. Errors: DataLoss with the offset,
// Unimplemented for an unknown critical chunk, ResourceExhausted.
Status ParsePngHeader(ByteSpan bytes, const DecodeLimits& limits,
                      PngLayout* layout);

// Reads all chunks up to IEND; bytes after it are ignored.
Status ParsePng(ByteSpan bytes, const DecodeLimits& limits, PngLayout* layout);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_PNG_PNG_LAYOUT_H_
