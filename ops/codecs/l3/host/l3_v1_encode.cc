#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_rows.h"
#include "ops/codecs/l3/host/l3_targets.h"

namespace liquid {
namespace {

constexpr uint32_t kRowPadding = 32;

// Packs one row of residuals; returns the bytes written. Up to 7 bytes after
// them may be overwritten.
size_t PackRow(const int8_t* residuals, uint32_t width, uint8_t* out) {
  int8_t least = residuals[0], most = residuals[0];
  for (uint32_t x = 1; x < width; ++x) {
    least = std::min(least, residuals[x]);
    most = std::max(most, residuals[x]);
  }
  const uint32_t spread = static_cast<uint32_t>(most - least);
  uint32_t bits = 0;
  while (spread >> bits != 0) ++bits;
  uint64_t word = bits | uint64_t{static_cast<uint8_t>(least)} << 4;
  uint32_t filled = 12;
  uint8_t* at = out;
  for (uint32_t x = 0; x < width; ++x) {
    word |= uint64_t{static_cast<uint8_t>(residuals[x] - least)} << filled;
    filled += bits;
    if (filled >= 32) {
      StoreLittle32(static_cast<uint32_t>(word), at);
      at += 4;
      word >>= 32;
      filled -= 32;
    }
  }
  for (; filled > 0; filled -= std::min(filled, 8u)) {
    *at++ = static_cast<uint8_t>(word);
    word >>= 8;
  }
  return static_cast<size_t>(at - out);
}

}  // namespace

Status EncodeL3V1(uint32_t side, const ImageInfo& info, const uint8_t* pixels,
                  std::string* out) {
  const uint64_t across = L3PatchesAcross(info.width, side);
  const uint64_t down = L3PatchesAcross(info.height, side);
  const uint64_t patches = across * down;
  const size_t start = out->size();
  const size_t table_at = start + kL3V1HeaderBytes;
  out->resize(table_at + 6 * patches);
  char* header = &(*out)[start];
  std::memcpy(header, kL3V1Magic, 4);
  StoreLittle32(info.width, reinterpret_cast<uint8_t*>(header) + 4);
  StoreLittle32(info.height, reinterpret_cast<uint8_t*>(header) + 8);
  header[12] = static_cast<char>(side);

  const L3RowDecoders& decoders = CurrentL3Decoders();
  // The row and the one above it, with pixels of 0 beside them.
  uint8_t rows[2][kL3MaxPatchRow + 2 + kRowPadding] = {};
  uint8_t predicted[kL3MaxPatchRow + kRowPadding];
  int8_t residuals[kL3MaxPatchRow];
  const Buffer packed = AllocateBuffer(UINT16_MAX + 8);
  if (packed == nullptr) return OutOfMemory("l3", UINT16_MAX);
  for (uint64_t c = 0; c < 3; ++c) {
    for (uint64_t p = 0; p < patches; ++p) {
      const uint32_t x0 = static_cast<uint32_t>(p % across) * side;
      const uint32_t y0 = static_cast<uint32_t>(p / across) * side;
      const uint32_t width = std::min(side, info.width - x0);
      const uint32_t height = std::min(side, info.height - y0);
      size_t size = 0;
      for (uint32_t y = 0; y < height; ++y) {
        const uint8_t* source =
            pixels + size_t{y0 + y} * info.RowBytes() + size_t{x0} * 3 + c;
        uint8_t* row = rows[y & 1];
        const uint8_t* above = rows[~y & 1];
        row[0] = row[width + 1] = 0;
        for (uint32_t x = 0; x < width; ++x) row[x + 1] = source[3 * x];
        if (y == 0) {
          std::memcpy(residuals, row + 1, width);
        } else {
          decoders.predict_v1(above, width, predicted);
          for (uint32_t x = 0; x < width; ++x) {
            residuals[x] = static_cast<int8_t>(row[x + 1] - predicted[x]);
          }
        }
        size += PackRow(residuals, width, packed.get() + size);
      }
      StoreLittle16(static_cast<uint16_t>(size),
                    reinterpret_cast<uint8_t*>(
                        &(*out)[table_at + 2 * (c * patches + p)]));
      out->append(reinterpret_cast<const char*>(packed.get()), size);
    }
  }
  return OkStatus();
}

}  // namespace liquid
