#include "ops/codecs/png/png_layout.h"

#include <libdeflate.h>

#include <cstring>
#include <string>

#include "ops/codecs/codec_util.h"

namespace liquid {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr uint8_t kSignature[kSignatureBytes] = {0x89, 'P',  'N',  'G',
                                                 '\r', '\n', 0x1A, '\n'};

Status Damaged(size_t offset, const std::string& what) {
  return DataLoss("png: " + what + " at offset " + std::to_string(offset));
}

struct Chunk {
  size_t offset = 0;  // of the length field
  uint8_t type[4] = {};
  ByteSpan data;
  uint32_t crc = 0;  // as stored

  bool Is(const char* name) const { return std::memcmp(type, name, 4) == 0; }
  std::string Name() const {
    std::string name;
    for (const uint8_t c : type) {
      name += c >= 0x20 && c < 0x7F ? static_cast<char>(c) : '?';
    }
    return name;
  }
};

Status ReadChunk(ByteSpan bytes, size_t offset, Chunk* chunk) {
  if (bytes.size - offset < 12) {
    return Damaged(offset, "the file ends where a chunk should begin,");
  }
  const uint8_t* p = bytes.data + offset;
  const uint32_t length = LoadBig32(p);
  chunk->offset = offset;
  std::memcpy(chunk->type, p + 4, 4);
  if (length > bytes.size - offset - 12) {
    return Damaged(offset, "chunk " + chunk->Name() + " of " +
                               std::to_string(length) +
                               " bytes goes past the end of the file,");
  }
  chunk->data = ByteSpan(p + 8, length);
  chunk->crc = LoadBig32(p + 8 + length);
  return OkStatus();
}

Status CheckCrc(const Chunk& chunk) {
  const uint32_t crc =
      libdeflate_crc32(0, chunk.data.data - 4, chunk.data.size + 4);
  if (crc == chunk.crc) return OkStatus();
  return Damaged(chunk.offset, "chunk " + chunk.Name() + " has a wrong CRC");
}

bool IsDepthAllowed(uint8_t color, uint8_t depth) {
  switch (color) {
    case kPngGray:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 ||
             depth == 16;
    case kPngPalette:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case kPngRgb:
    case kPngGrayAlpha:
    case kPngRgba:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

Status ReadHeader(const Chunk& chunk, const DecodeLimits& limits,
                  PngLayout* layout) {
  if (!chunk.Is("IHDR") || chunk.data.size != 13) {
    return Damaged(chunk.offset, "no IHDR chunk of 13 bytes");
  }
  LIQUID_RETURN_IF_ERROR(CheckCrc(chunk));
  const uint8_t* p = chunk.data.data;
  layout->width = LoadBig32(p);
  layout->height = LoadBig32(p + 4);
  layout->bit_depth = p[8];
  layout->color = p[9];
  layout->interlaced = p[12] == 1;
  if (!IsDepthAllowed(layout->color, layout->bit_depth)) {
    return Damaged(chunk.offset, "IHDR states colour type " +
                                     std::to_string(layout->color) + " with " +
                                     std::to_string(layout->bit_depth) +
                                     " bits, which PNG does not have,");
  }
  if (p[10] != 0 || p[11] != 0 || p[12] > 1) {
    return Damaged(chunk.offset,
                   "IHDR states an unknown compression, filter or interlacing");
  }
  if (layout->width > INT32_MAX || layout->height > INT32_MAX) {
    return Damaged(chunk.offset, "IHDR states a size over 2^31 - 1");
  }
  return CheckImageSize("png", layout->height, layout->width, limits);
}

Status ReadPalette(const Chunk& chunk, PngLayout* layout) {
  LIQUID_RETURN_IF_ERROR(CheckCrc(chunk));
  // In other images the chunk is a mere suggestion for poor displays.
  if (layout->color != kPngPalette) return OkStatus();
  if (layout->palette.data != nullptr) {
    return Damaged(chunk.offset, "a second PLTE chunk");
  }
  if (chunk.data.size == 0 || chunk.data.size > 768 ||
      chunk.data.size % 3 != 0) {
    return Damaged(chunk.offset, "PLTE has " + std::to_string(chunk.data.size) +
                                     " bytes, not 3 for each of 1 to 256 "
                                     "colours,");
  }
  layout->palette = chunk.data;
  return OkStatus();
}

Status ReadTransparency(const Chunk& chunk, PngLayout* layout) {
  LIQUID_RETURN_IF_ERROR(CheckCrc(chunk));
  size_t size = chunk.data.size;
  switch (layout->color) {
    case kPngGray:
      size = 2;
      break;
    case kPngRgb:
      size = 6;
      break;
    case kPngPalette:
      if (layout->palette.data == nullptr) {
        return Damaged(chunk.offset, "a tRNS chunk before PLTE");
      }
      if (size > layout->palette.size / 3) size = layout->palette.size / 3;
      break;
    default:  // an image that has an alpha channel already
      return OkStatus();
  }
  if (chunk.data.size != size || layout->has_transparency) {
    return Damaged(chunk.offset, "tRNS is repeated or has a wrong size");
  }
  layout->has_transparency = chunk.data.size > 0;
  layout->transparency = chunk.data;
  return OkStatus();
}

// Reads from the signature up to IDAT, which is left in `*chunk`.
Status ReadToData(ByteSpan bytes, const DecodeLimits& limits, PngLayout* layout,
                  Chunk* chunk) {
  if (bytes.size < kSignatureBytes ||
      std::memcmp(bytes.data, kSignature, kSignatureBytes) != 0) {
    return Damaged(0, "no PNG signature");
  }
  LIQUID_RETURN_IF_ERROR(ReadChunk(bytes, kSignatureBytes, chunk));
  LIQUID_RETURN_IF_ERROR(ReadHeader(*chunk, limits, layout));
  while (true) {
    LIQUID_RETURN_IF_ERROR(
        ReadChunk(bytes, chunk->offset + chunk->data.size + 12, chunk));
    if (chunk->Is("IDAT")) break;
    if (chunk->Is("PLTE")) {
      LIQUID_RETURN_IF_ERROR(ReadPalette(*chunk, layout));
    } else if (chunk->Is("tRNS")) {
      LIQUID_RETURN_IF_ERROR(ReadTransparency(*chunk, layout));
    } else if (chunk->Is("IEND")) {
      return Damaged(chunk->offset, "IEND comes before any pixels");
    } else if (chunk->Is("IHDR")) {
      return Damaged(chunk->offset, "a second IHDR chunk");
    } else if ((chunk->type[0] & 0x20) == 0) {
      return Unimplemented("png: unknown critical chunk " + chunk->Name() +
                           " at offset " + std::to_string(chunk->offset));
    }
  }
  if (layout->color == kPngPalette && layout->palette.data == nullptr) {
    return Damaged(chunk->offset, "a palette image has no PLTE chunk");
  }
  return OkStatus();
}

}  // namespace

ImageInfo PngLayout::Info() const {
  ImageInfo info;
  info.height = height;
  info.width = width;
  info.bits = bit_depth == 16 ? 16 : 8;
  switch (color) {
    case kPngGray:
      info.channels = 1;
      break;
    case kPngGrayAlpha:
      info.channels = 2;
      break;
    case kPngRgba:
      info.channels = 4;
      break;
    default:
      info.channels = 3;
  }
  if (has_transparency) ++info.channels;
  return info;
}

size_t PngLayout::Channels() const {
  static constexpr uint8_t kChannels[] = {1, 0, 3, 1, 2, 0, 4};
  return kChannels[color];
}

uint64_t PngLayout::RowBytes(uint64_t columns) const {
  return (columns * Channels() * bit_depth + 7) / 8;
}

std::vector<PngPass> PngLayout::Passes() const {
  if (!interlaced) return {{0, 0, 1, 1}};
  return {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4},
          {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};
}

uint64_t PngLayout::FilteredBytes() const {
  uint64_t total = 0;
  for (const PngPass& pass : Passes()) {
    const uint64_t columns = pass.Columns(width);
    if (columns > 0) total += pass.Rows(height) * (1 + RowBytes(columns));
  }
  return total;
}

Status ParsePngHeader(ByteSpan bytes, const DecodeLimits& limits,
                      PngLayout* layout) {
  Chunk chunk;
  return ReadToData(bytes, limits, layout, &chunk);
}

Status ParsePng(ByteSpan bytes, const DecodeLimits& limits, PngLayout* layout) {
  Chunk chunk;
  LIQUID_RETURN_IF_ERROR(ReadToData(bytes, limits, layout, &chunk));
  bool data_ended = false;
  while (!chunk.Is("IEND")) {
    if (chunk.Is("IDAT")) {
      if (data_ended) {
        return Damaged(chunk.offset, "IDAT chunks are not adjacent:");
      }
      LIQUID_RETURN_IF_ERROR(CheckCrc(chunk));
      layout->data.push_back(chunk.data);
      layout->data_bytes += chunk.data.size;
    } else {
      data_ended = true;
      if ((chunk.type[0] & 0x20) == 0) {
        return Damaged(chunk.offset,
                       "critical chunk " + chunk.Name() + " after the pixels");
      }
    }
    LIQUID_RETURN_IF_ERROR(
        ReadChunk(bytes, chunk.offset + chunk.data.size + 12, &chunk));
  }
  return CheckCrc(chunk);
}

}  // namespace liquid
