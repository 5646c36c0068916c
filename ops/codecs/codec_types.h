// What the functions of every codec take.
#ifndef LIQUID_OPS_CODECS_CODEC_TYPES_H_
#define LIQUID_OPS_CODECS_CODEC_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// What an encoder spends on finding the smallest file.
enum class Effort : uint8_t { kFast = 0, kDefault = 1, kBest = 2 };

struct ImageInfo {
  uint32_t height = 0;
  uint32_t width = 0;
  uint8_t channels = 0;  // 1 gray, 2 gray + alpha, 3 RGB, 4 RGBA
  uint8_t bits = 8;      // 8 or 16 per channel

  size_t BytesPerPixel() const { return size_t{channels} * (bits / 8); }
  size_t RowBytes() const { return width * BytesPerPixel(); }
  size_t PixelBytes() const { return height * RowBytes(); }
  bool operator==(const ImageInfo& other) const {
    return height == other.height && width == other.width &&
           channels == other.channels && bits == other.bits;
  }
};

// The part of an image to decode, in pixels of the whole image.
struct Window {
  uint32_t y = 0;
  uint32_t x = 0;
  uint32_t height = 0;
  uint32_t width = 0;
};

struct DecodeLimits {
  uint64_t max_pixels = uint64_t{1} << 28;  // height * width of the whole image
  // Of a JPEG. Each costs a pass over the whole image; encoders make about ten.
  uint64_t max_scans = 100;
};

struct EncodeOptions {
  int png_level = 6;      // zlib level
  int jpeg_quality = 95;  // 1..100, 4:4:4
  // Of Transcode: JPEG files of several scans become files of one.
  bool jpeg_one_scan = false;
  bool webp_lossless = true;
  int webp_quality = 90;                // lossy only
  Effort l3_effort = Effort::kDefault;  // of the compact profile
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_CODEC_TYPES_H_
