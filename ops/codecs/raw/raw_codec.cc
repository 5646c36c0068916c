#include "ops/codecs/raw/raw_codec.h"

#include <cstring>
#include <utility>

#include "ops/codecs/codec_util.h"

namespace liquid {
namespace {

constexpr char kMagic[] = "LRAW";

// Samples of 16 bits are little-endian on disk, in the host's order in memory.
void SwapSamples(uint8_t* samples, size_t size) {
  for (size_t i = 0; i + 1 < size; i += 2)
    std::swap(samples[i], samples[i + 1]);
}

}  // namespace

void StoreRawHeader(const ImageInfo& info, uint8_t header[kRawHeaderBytes]) {
  std::memcpy(header, kMagic, 4);
  StoreLittle32(info.height, header + 4);
  StoreLittle32(info.width, header + 8);
  header[12] = info.channels;
  header[13] = info.bits;
  StoreLittle16(0, header + 14);
}

Status PeekRaw(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info) {
  if (bytes.size < kRawHeaderBytes) {
    return DataLoss("raw: " + std::to_string(bytes.size) +
                    " bytes are fewer than the header of 16");
  }
  if (std::memcmp(bytes.data, kMagic, 4) != 0) {
    return DataLoss("raw: the bytes do not begin with \"LRAW\"");
  }
  ImageInfo stored;
  stored.height = LoadLittle32(bytes.data + 4);
  stored.width = LoadLittle32(bytes.data + 8);
  stored.channels = bytes.data[12];
  stored.bits = bytes.data[13];
  if (stored.channels < 1 || stored.channels > 4) {
    return DataLoss("raw: channels at offset 12 (" +
                    std::to_string(stored.channels) + ") must be 1 to 4");
  }
  if (stored.bits != 8 && stored.bits != 16) {
    return DataLoss("raw: bits at offset 13 (" + std::to_string(stored.bits) +
                    ") must be 8 or 16");
  }
  if (LoadLittle16(bytes.data + 14) != 0) {
    return DataLoss("raw: the two bytes at offset 14 must be 0");
  }
  LIQUID_RETURN_IF_ERROR(
      CheckImageSize("raw", stored.height, stored.width, limits));
  if (bytes.size - kRawHeaderBytes != stored.PixelBytes()) {
    return DataLoss("raw: an image of " + DescribeImage(stored) + " takes " +
                    std::to_string(stored.PixelBytes() + kRawHeaderBytes) +
                    " bytes; there are " + std::to_string(bytes.size));
  }
  *info = stored;
  return OkStatus();
}

Status DecodeRaw(ByteSpan bytes, const DecodeLimits& limits,
                 const ImageInfo& expected, const Window& window, uint8_t* out,
                 size_t row_stride) {
  ImageInfo stored;
  LIQUID_RETURN_IF_ERROR(PeekRaw(bytes, limits, &stored));
  LIQUID_RETURN_IF_ERROR(
      CheckRequest("raw", stored, expected, window, row_stride));
  const size_t row_bytes = window.width * stored.BytesPerPixel();
  const uint8_t* pixels = bytes.data + kRawHeaderBytes;
  if (CoversImage(window, stored) && row_stride == row_bytes) {
    std::memcpy(out, pixels, stored.PixelBytes());
    if (stored.bits == 16 && !kHostIsLittleEndian) {
      SwapSamples(out, stored.PixelBytes());
    }
    return OkStatus();
  }
  for (size_t y = 0; y < window.height; ++y) {
    uint8_t* row = out + y * row_stride;
    std::memcpy(row,
                pixels + (window.y + y) * stored.RowBytes() +
                    window.x * stored.BytesPerPixel(),
                row_bytes);
    if (stored.bits == 16 && !kHostIsLittleEndian) SwapSamples(row, row_bytes);
  }
  return OkStatus();
}

Status EncodeRaw(const EncodeOptions& /*options*/, const ImageInfo& info,
                 const uint8_t* pixels, std::string* out) {
  uint8_t header[kRawHeaderBytes];
  StoreRawHeader(info, header);
  out->reserve(out->size() + kRawHeaderBytes + info.PixelBytes());
  out->append(reinterpret_cast<const char*>(header), kRawHeaderBytes);
  out->append(reinterpret_cast<const char*>(pixels), info.PixelBytes());
  if (info.bits == 16 && !kHostIsLittleEndian) {
    SwapSamples(
        reinterpret_cast<uint8_t*>(&(*out)[out->size()]) - info.PixelBytes(),
        info.PixelBytes());
  }
  return OkStatus();
}

}  // namespace liquid
