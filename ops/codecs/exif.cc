#include "ops/codecs/exif.h"

#include <cstdint>
#include <cstring>

#include "ops/codecs/codec.h"
#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/jpeg_scans.h"

namespace liquid {
namespace {

constexpr size_t kPngSignature = 8, kRiffHeader = 12;
constexpr char kPrefix[] = {'E', 'x', 'i', 'f', 0, 0};

ByteSpan FindPngExif(ByteSpan file) {
  // Length, name, data, CRC-32.
  size_t at = kPngSignature;
  while (at < file.size && file.size - at >= 12) {
    const size_t size = LoadBig32(file.data + at);
    const uint8_t* name = file.data + at + 4;
    if (size > file.size - at - 12) break;
    if (std::memcmp(name, "eXIf", 4) == 0) return ByteSpan(name + 4, size);
    at += 12 + size;
  }
  return ByteSpan();
}

ByteSpan FindWebpExif(ByteSpan file) {
  // Name, length, data, padding.
  size_t at = kRiffHeader;
  while (at < file.size && file.size - at >= 8) {
    const size_t size = LoadLittle32(file.data + at + 4);
    const uint8_t* name = file.data + at;
    if (size > file.size - at - 8) break;
    if (std::memcmp(name, "EXIF", 4) == 0) {
      ByteSpan found(name + 8, size);
      // Some writers put JPEG's prefix in front.
      if (size >= sizeof(kPrefix) &&
          std::memcmp(found.data, kPrefix, sizeof(kPrefix)) == 0) {
        found = ByteSpan(found.data + sizeof(kPrefix), size - sizeof(kPrefix));
      }
      return found;
    }
    at += 8 + size + (size & 1);
  }
  return ByteSpan();
}

// The orientation in a TIFF structure, 1 where there is none.
int TiffOrientation(ByteSpan tiff) {
  if (tiff.size < 8) return 1;
  const bool big = std::memcmp(tiff.data, "MM\0*", 4) == 0;
  if (!big && std::memcmp(tiff.data, "II*\0", 4) != 0) return 1;
  const auto load16 = [&](size_t at) {
    const uint8_t* p = tiff.data + at;
    return big ? uint32_t{p[0]} << 8 | p[1] : uint32_t{p[1]} << 8 | p[0];
  };
  const auto load32 = [&](size_t at) {
    return big ? load16(at) << 16 | load16(at + 2)
               : load16(at + 2) << 16 | load16(at);
  };
  constexpr size_t kEntry = 12;
  const size_t directory = load32(4);
  if (directory > tiff.size - 2) return 1;
  const size_t count = load16(directory);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntry;
    if (entry > tiff.size || tiff.size - entry < kEntry) return 1;
    constexpr uint32_t kOrientation = 0x0112, kShort = 3;
    if (load16(entry) != kOrientation) continue;
    const uint32_t value = load16(entry + 8);
    const bool good = load16(entry + 2) == kShort && value >= 1 && value <= 8;
    return good ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int ExifOrientation(ByteSpan file) {
  Format format;
  if (!SniffFormat(file, &format).ok()) return 1;
  switch (format) {
    case Format::kJpeg:
      return TiffOrientation(FindJpegExif(file));
    case Format::kPng:
      return TiffOrientation(FindPngExif(file));
    case Format::kWebp:
      return TiffOrientation(FindWebpExif(file));
    default:
      return 1;
  }
}

}  // namespace liquid
