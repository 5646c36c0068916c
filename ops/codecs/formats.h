// The formats: all that C++ knows of each stands in its row.
//
// liquid_tf/_store/formats.py has the rows of Python, which works without this
// library too; tests/liquid_tf/store/formats_test.py compares them.
#ifndef LIQUID_OPS_CODECS_FORMATS_H_
#define LIQUID_OPS_CODECS_FORMATS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "ops/codecs/bmp/bmp_codec.h"
#include "ops/codecs/codec_types.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/codecs/png/png_codec.h"
#include "ops/codecs/raw/raw_codec.h"
#include "ops/codecs/webp/webp_codec.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Values are stored in a dataset's index: never renumber.
enum class Format : uint8_t {
  kRaw = 0,
  kPng = 1,
  kJpeg = 2,
  kWebp = 3,
  kBmp = 4,
  kL3 = 5,
  kPcr = 6,
  kL3Compact = 7,  // L3 of the compact profile
};

constexpr uint32_t kAnySide = UINT32_MAX;

struct FormatRow {
  Format format;
  const char* name;
  // What its files begin with, one or two; '?' stands for any byte, and of
  // those that fit the longest counts. With none it is never found by them.
  std::array<const char*, 2> first_bytes;
  uint32_t side;         // the largest height and width that it holds
  const char* channels;  // the numbers of them that it holds, as digits
  int bits;              // 8; or 16, which holds 8 as well
  // Whether pixels come back as they were, unless EncodeOptions asks for loss.
  bool lossless;
  // How many bytes are copied while one of its bytes is decoded, about.
  uint32_t cost;
  // codec.h describes them. Images are not encoded one at a time without the
  // last.
  Status (*peek)(ByteSpan, const DecodeLimits&, ImageInfo*);
  Status (*decode)(ByteSpan, const DecodeLimits&, const ImageInfo&,
                   const Window&, uint8_t*, size_t);
  Status (*encode)(const EncodeOptions&, const ImageInfo&, const uint8_t*,
                   std::string*);
};

// By number. An image of a pcr, glued, is a JPEG file.
// clang-format off
inline constexpr FormatRow kFormats[] = {
    // format, name, first bytes,
    //  side, channels, bits, lossless, cost, peek, decode, encode
    {Format::kRaw, "raw", {"LRAW"},
     kAnySide, "1234", 16, true, 1, PeekRaw, DecodeRaw, EncodeRaw},
    {Format::kPng, "png", {"\x89PNG\r\n\x1a\n"},
     kAnySide, "1234", 16, true, 40, PeekPng, DecodePng, EncodePng},
    {Format::kJpeg, "jpeg", {"\xff\xd8\xff"},
     65500, "13", 8, false, 100, PeekJpeg, DecodeJpeg, EncodeJpeg},
    {Format::kWebp, "webp", {"RIFF????WEBP"},
     16383, "34", 8, true, 100, PeekWebp, DecodeWebp, EncodeWebp},
    {Format::kBmp, "bmp", {"BM"},
     kAnySide, "134", 8, true, 1, PeekBmp, DecodeBmp, EncodeBmp},
    {Format::kL3, "l3", {"LLL.", "LLL2"},
     kAnySide, "1234", 16, true, 4, PeekL3Image, DecodeL3, EncodeL3Fast},
    {Format::kPcr, "pcr", {},
     65500, "13", 8, false, 100, PeekJpeg, DecodeJpeg, nullptr},
    {Format::kL3Compact, "l3-compact", {"LLL2???????????\x01"},
     kAnySide, "1234", 16, true, 12, PeekL3Image, DecodeL3, EncodeL3Compact},
};
// clang-format on
constexpr Format kLastFormat = static_cast<Format>(std::size(kFormats) - 1);

// A format's row, or nullptr for an unknown value.
constexpr const FormatRow* FindFormat(Format format) {
  return format <= kLastFormat ? &kFormats[static_cast<size_t>(format)]
                               : nullptr;
}

constexpr bool RowsStandByNumber() {
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    if (kFormats[i].format != static_cast<Format>(i)) return false;
  }
  return true;
}
static_assert(RowsStandByNumber(), "a format's number is its row's position");

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_FORMATS_H_
