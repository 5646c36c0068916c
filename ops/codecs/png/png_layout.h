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

// Pixels that are stored one after another: every `row_step`th row from
// `first_row`, of each every `column_step`th pixel from `first_column`.
struct PngPass {
  uint32_t first_row;
  uint32_t first_column;
  uint32_t row_step;
  uint32_t column_step;

  // How many of its rows and columns are among the first of the image. None is
  // negative, since the first is smaller than the step.
  uint64_t Rows(uint64_t height) const {
    return (height - first_row + row_step - 1) / row_step;
  }
  uint64_t Columns(uint64_t width) const {
    return (width - first_column + column_step - 1) / column_step;
  }
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

  ImageInfo Info() const;   // of the decoded image
  size_t Channels() const;  // as stored: 1 for a palette
  // Bytes of so many pixels of a row, without its filter.
  uint64_t RowBytes(uint64_t columns) const;
  // The passes of the image, of which some may be empty: one without
  // interlacing.
  std::vector<PngPass> Passes() const;
  // Bytes of all filtered rows, every pass included.
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
