#include <algorithm>
#include <cstring>
#include <string>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_arithmetic.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_places.h"
#include "ops/codecs/l3/host/l3_rows.h"
#include "ops/codecs/l3/host/l3_targets.h"
#include "ops/core/crc32c.h"

namespace liquid {
namespace {

Status BadPatch(uint64_t number, uint64_t offset, const std::string& what) {
  return DataLoss("l3: patch " + std::to_string(number) + " at offset " +
                  std::to_string(offset) + ": " + what);
}

// Reads a channel's word. Null if it is valid, otherwise what is wrong.
const char* ParseChannel(uint32_t word, uint32_t index, const ImageInfo& image,
                         L3Channel* channel) {
  const uint32_t set = L3WidthSetOf(word);
  if (set == 0) return "its set of widths is empty";
  if (set >> (image.bits + 1) != 0) return "a width is over the sample's bits";
  if ((word >> 21 & 7) != 0) return "bits 21 to 23 must be 0";
  channel->code_bits = L3WidthTable(set, channel->widths);
  if (set == 0x1FFFF) {
    return "its set has over 16 widths";
  }
  const auto colour = static_cast<L3Colour>(L3ColourOf(word));
  if (!L3ColourAllowed(colour, index, image.channels)) {
    return "its colour transform is unknown";
  }
  channel->predictor = static_cast<L3Predictor>(L3PredictorOf(word));
  channel->colour = colour;
  channel->base = L3BaseOf(word) << (image.bits - 8);
  return nullptr;
}

// What became of the rows of a patch, whose bytes `stopped` points into.
Status RowsStatus(L3RowsResult result, const uint8_t* bytes,
                  const uint8_t* stopped, size_t size, uint64_t number,
                  uint64_t offset, const char* is_short) {
  if (result == L3RowsResult::kOk) return OkStatus();
  const std::string at =
      std::to_string(offset + static_cast<size_t>(stopped - bytes));
  return BadPatch(
      number, offset,
      result == L3RowsResult::kShort
          ? "the row at offset " + at + is_short + std::to_string(offset + size)
          : "its last row ends at offset " + at + ", the patch at offset " +
                std::to_string(offset + size));
}

Status DecodeCompactPatch(const uint8_t* bytes, size_t size, uint64_t number,
                          uint64_t offset, const ImageInfo& image,
                          uint32_t width, uint32_t height, const L3Rows& rows) {
  L3CompactPatch patch;
  std::string error;
  size_t at = 0;
  if (!ParseL3Compact(bytes, size, image, width, height, &patch, &error, &at)) {
    return BadPatch(number, offset,
                    "at offset " + std::to_string(offset + at) + ": " + error);
  }
  const uint8_t* stopped = nullptr;
  const L3RowDecoders& decoders = CurrentL3Decoders();
  const L3RowsResult result = patch.flat
                                  ? decoders.flat(patch.colours, rows, &stopped)
                                  : decoders.rice(patch.rice, rows, &stopped);
  return RowsStatus(result, bytes, stopped, size, number, offset,
                    " has a code that is none, or reaches past the end of its "
                    "channel, in the patch that ends at offset ");
}

Status DecodePlainPatch(const uint8_t* bytes, size_t size, uint64_t number,
                        uint64_t offset, const ImageInfo& image, uint32_t width,
                        uint32_t height, const L3Rows& rows) {
  L3V2Patch patch;
  patch.width = width;
  patch.height = height;
  patch.channels = image.channels;
  patch.bits = image.bits;
  patch.end = bytes + size;
  patch.payload = bytes + 4 + 4 * patch.channels;
  for (uint32_t c = 0; c < patch.channels; ++c) {
    const char* error = ParseChannel(LoadLittle32(bytes + 4 + 4 * c), c, image,
                                     &patch.channel[c]);
    if (error != nullptr) {
      return BadPatch(number, offset,
                      "channel " + std::to_string(c) + ", word at offset " +
                          std::to_string(offset + 4 + 4 * c) + ": " + error);
    }
    const size_t codes = patch.channel[c].code_bits * height;
    if (static_cast<size_t>(patch.end - patch.payload) < codes) {
      return BadPatch(number, offset,
                      "the codes of channel " + std::to_string(c) +
                          " reach past its end at offset " +
                          std::to_string(offset + size));
    }
    patch.channel[c].codes = patch.payload;
    patch.payload += codes;
  }
  const L3RowDecoders& decoders = CurrentL3Decoders();
  const uint8_t* stopped = nullptr;
  const L3RowsResult result = image.bits == 8
                                  ? decoders.v2_8(patch, rows, &stopped)
                                  : decoders.v2_16(patch, rows, &stopped);
  return RowsStatus(result, bytes, stopped, size, number, offset,
                    " reaches past its end at offset ");
}

// Decodes one patch, whose bytes are followed by kL3Padding readable ones.
Status DecodePatch(const uint8_t* bytes, size_t size, uint64_t number,
                   uint64_t offset, const L3Info& info, uint32_t width,
                   uint32_t height, const L3Rows& rows) {
  uint8_t stored_number[4];
  StoreLittle32(static_cast<uint32_t>(number), stored_number);
  const uint32_t crc = ExtendCrc32c(Crc32c(ByteSpan(stored_number, 4)),
                                    ByteSpan(bytes + 4, size - 4));
  if (crc != LoadLittle32(bytes)) {
    return BadPatch(number, offset, "its CRC-32C does not match");
  }
  const auto decode = info.profile == L3Profile::kCompact ? DecodeCompactPatch
                                                          : DecodePlainPatch;
  return decode(bytes, size, number, offset, info.image, width, height, rows);
}

}  // namespace

Status PeekL3V2(ByteSpan bytes, const DecodeLimits& limits, L3Info* info) {
  if (bytes.size < kL3V2HeaderBytes) {
    return DataLoss("l3: the file ends at offset " +
                    std::to_string(bytes.size) + ", inside the header of 20");
  }
  const uint8_t* header = bytes.data;
  if (Crc32c(ByteSpan(header, 16)) != LoadLittle32(header + 16)) {
    return DataLoss(
        "l3: the header's CRC-32C at offset 16 does not match its 16 bytes");
  }
  if (header[12] < 1 || header[12] > kL3MaxChannels) {
    return DataLoss("l3: channels at offset 12 (" + std::to_string(header[12]) +
                    ") must be 1 to 4");
  }
  if (header[13] != 8 && header[13] != 16) {
    return DataLoss("l3: bits at offset 13 (" + std::to_string(header[13]) +
                    ") must be 8 or 16");
  }
  if (header[14] != kL3V2Patch) {
    return Unimplemented("l3: the patch's side at offset 14 (" +
                         std::to_string(header[14]) + ") must be 64");
  }
  if (header[15] > 1) {
    return Unimplemented("l3: the profile at offset 15 (" +
                         std::to_string(header[15]) + ") must be 0 or 1");
  }
  const uint32_t height = LoadLittle32(header + 4);
  const uint32_t width = LoadLittle32(header + 8);
  LIQUID_RETURN_IF_ERROR(CheckImageSize("l3", height, width, limits));
  info->version = L3Version::kV2;
  info->profile = static_cast<L3Profile>(header[15]);
  info->patch = kL3V2Patch;
  info->image.height = height;
  info->image.width = width;
  info->image.channels = header[12];
  info->image.bits = header[13];
  return OkStatus();
}

Status DecodeL3V2(ByteSpan bytes, const L3Info& info, const Window& window,
                  uint8_t* out, size_t row_stride) {
  const ImageInfo& image = info.image;
  L3V2Table table;
  LIQUID_RETURN_IF_ERROR(L3V2Table::Read(bytes, info, &table));
  const L3PatchRange range = L3PatchesOf(window, kL3V2Patch);
  for (uint32_t py = range.y_begin; py < range.y_end; ++py) {
    for (uint32_t px = range.x_begin; px < range.x_end; ++px) {
      const uint64_t number = py * table.PatchesAcross() + px;
      L3Place place;
      LIQUID_RETURN_IF_ERROR(table.Find(number, &place));
      const size_t size = place.size;
      const uint64_t offset = place.offset;
      const uint8_t* patch = bytes.data + offset;
      const uint32_t width =
          std::min(kL3V2Patch, image.width - px * kL3V2Patch);
      const uint32_t height =
          std::min(kL3V2Patch, image.height - py * kL3V2Patch);
      const L3Rows rows =
          L3Intersect(window, kL3V2Patch, px, py, image, out, row_stride);
      if (bytes.size - offset >= size + kL3Padding) {
        LIQUID_RETURN_IF_ERROR(DecodePatch(patch, size, number, offset, info,
                                           width, height, rows));
        continue;
      }
      // The decoders read ahead: the file's last patches move to where they
      // may.
      uint8_t padded[kL3CompactMaxPatchBytes + kL3Padding];
      std::memcpy(padded, patch, size);
      std::memset(padded + size, 0, kL3Padding);
      LIQUID_RETURN_IF_ERROR(
          DecodePatch(padded, size, number, offset, info, width, height, rows));
    }
  }
  return OkStatus();
}

}  // namespace liquid
