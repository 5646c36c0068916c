// Images and comparisons that the tests of the codecs share.
#ifndef LIQUID_TESTS_OPS_CODECS_CODEC_TESTING_H_
#define LIQUID_TESTS_OPS_CODECS_CODEC_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/formats.h"

namespace liquid {

using Bytes = std::vector<uint8_t>;

// Images that a format holds.
struct FormatKind {
  const FormatRow* row;
  int channels;
  int bits;

  // Of letters and digits, as names of tests must be.
  std::string Name() const {
    std::string name = std::string(row->name) + "_" + std::to_string(channels) +
                       "x" + std::to_string(bits);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

inline void PrintTo(const FormatKind& kind, std::ostream* out) {
  *out << kind.Name();
}

// All kinds of the formats of which an image can be encoded.
inline std::vector<FormatKind> FormatKinds() {
  std::vector<FormatKind> kinds;
  for (const FormatRow& row : kFormats) {
    if (row.encode == nullptr) continue;
    for (int bits = 8; bits <= row.bits; bits += 8) {
      for (const char* c = row.channels; *c != '\0'; ++c) {
        kinds.push_back({&row, *c - '0', bits});
      }
    }
  }
  return kinds;
}

inline std::vector<FormatKind> LosslessKinds() {
  std::vector<FormatKind> kinds = FormatKinds();
  kinds.erase(
      std::remove_if(kinds.begin(), kinds.end(),
                     [](const FormatKind& k) { return !k.row->lossless; }),
      kinds.end());
  return kinds;
}

inline ImageInfo Info(uint32_t height, uint32_t width, int channels,
                      int bits = 8) {
  ImageInfo info;
  info.height = height;
  info.width = width;
  info.channels = static_cast<uint8_t>(channels);
  info.bits = static_cast<uint8_t>(bits);
  return info;
}

// A small generator, so that every run tests the same images.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }
  uint32_t Below(uint32_t bound) { return Next() % bound; }

 private:
  uint64_t state_;
};

// Slopes with noise on top, so that PNG's filters all find work; alpha, where
// there is one, varies as well.
inline Bytes MakePixels(const ImageInfo& info, uint64_t seed,
                        uint32_t noise_level = 24) {
  Noise noise(seed);
  Bytes pixels(info.PixelBytes());
  size_t at = 0;
  for (uint32_t y = 0; y < info.height; ++y) {
    for (uint32_t x = 0; x < info.width; ++x) {
      for (uint32_t c = 0; c < info.channels; ++c) {
        const uint32_t value =
            x * (3 + c) + y * (5 - c) + 40 * c + noise.Below(noise_level + 1);
        if (info.bits == 8) {
          pixels[at++] = static_cast<uint8_t>(value);
        } else {
          const uint16_t sample = static_cast<uint16_t>(value * 173 + x);
          std::memcpy(&pixels[at], &sample, 2);
          at += 2;
        }
      }
    }
  }
  return pixels;
}

inline ByteSpan SpanIn(const std::string& text) {
  return ByteSpan(text.data(), text.size());
}

inline Status DecodeWindow(Format format, const std::string& file,
                           const ImageInfo& info, const Window& window,
                           Bytes* pixels) {
  const size_t row_bytes = window.width * info.BytesPerPixel();
  pixels->assign(window.height * row_bytes, 0xA5);
  return Decode(format, SpanIn(file), DecodeLimits(), info, window,
                pixels->data(), row_bytes);
}

inline Status DecodeFile(Format format, const std::string& file,
                         ImageInfo* info, Bytes* pixels) {
  LIQUID_RETURN_IF_ERROR(Peek(format, SpanIn(file), DecodeLimits(), info));
  return DecodeWindow(format, file, *info, {0, 0, info->height, info->width},
                      pixels);
}

inline Bytes Crop(const ImageInfo& info, const Bytes& pixels,
                  const Window& window) {
  Bytes crop;
  for (uint32_t y = 0; y < window.height; ++y) {
    const auto row = pixels.begin() + (window.y + y) * info.RowBytes() +
                     window.x * info.BytesPerPixel();
    crop.insert(crop.end(), row, row + window.width * info.BytesPerPixel());
  }
  return crop;
}

inline Window RandomWindow(const ImageInfo& info, Noise* noise) {
  Window window;
  window.height = 1 + noise->Below(info.height);
  window.width = 1 + noise->Below(info.width);
  window.y = noise->Below(info.height - window.height + 1);
  window.x = noise->Below(info.width - window.width + 1);
  return window;
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CODECS_CODEC_TESTING_H_
