// What the tests of L3 share.
#ifndef LIQUID_TESTS_OPS_CODECS_L3_TESTING_H_
#define LIQUID_TESTS_OPS_CODECS_L3_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_targets.h"
#include "tests/ops/codecs/codec_testing.h"
#include "tests/ops/codecs/l3_mutations.h"

namespace liquid {

// How many of `cases` drawn by chance are tried: a sanitizer makes each several
// times as slow.
constexpr int RandomCases(int cases) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return cases / 4;
#else
  return cases;
#endif
}

// Bytes from hexadecimal digits; blanks are skipped.
inline std::string Hex(const std::string& text) {
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  return bytes;
}

inline std::string EncodeAsL3(L3Version version, int patch,
                              const ImageInfo& info, const Bytes& pixels,
                              L3Profile profile = L3Profile::kFast,
                              Effort effort = Effort::kDefault) {
  L3Options options;
  options.profile = profile;
  options.effort = effort;
  options.version = version;
  options.patch = patch;
  std::string file;
  const Status status = EncodeL3(options, info, pixels.data(), &file);
  return status.ok() ? file : status.message();
}

// Decodes a window of bytes that end exactly where an allocation does, into one
// that ends where the window does, for the sanitizers.
inline Status DecodeExactly(const std::string& file, const ImageInfo& info,
                            const Window& window, Bytes* pixels) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[file.size()]);
  std::copy(file.begin(), file.end(), copy.get());
  const size_t row_bytes = window.width * info.BytesPerPixel();
  const size_t size = row_bytes * window.height;
  const std::unique_ptr<uint8_t[]> out(new uint8_t[size]);
  std::fill_n(out.get(), size, uint8_t{0xA5});
  const Status status =
      DecodeL3(ByteSpan(copy.get(), file.size()), DecodeLimits(), info, window,
               out.get(), row_bytes);
  pixels->assign(out.get(), out.get() + size);
  return status;
}

inline Status DecodeWhole(const std::string& file, ImageInfo* info,
                          Bytes* pixels) {
  DecodeLimits limits;
  limits.max_pixels = 1 << 20;
  L3Info found;
  LIQUID_RETURN_IF_ERROR(PeekL3(SpanIn(file), limits, &found));
  *info = found.image;
  return DecodeExactly(file, *info, {0, 0, info->height, info->width}, pixels);
}

// Decodes a window as every target does. Returns in what they differ: empty
// where each has the scalar one's pixels, or refuses the file as that does.
// `*status` and `*pixels` are the scalar one's.
inline std::string DecodeByTargets(const std::string& file,
                                   const ImageInfo& info, const Window& window,
                                   Status* status, Bytes* pixels) {
  for (const VectorTarget target : RunnableTargets()) {
    const ScopedL3Target scoped(target);
    Bytes decoded;
    const Status found = DecodeExactly(file, info, window, &decoded);
    if (target == VectorTarget::kScalar) {
      *status = found;
      *pixels = decoded;
    } else if (found.code() != status->code()) {
      return std::string(VectorTargetName(target)) + " says \"" +
             found.message() + "\", scalar \"" + status->message() + "\"";
    } else if (found.ok() && decoded != *pixels) {
      // Before an error a target may have written more than another.
      return std::string(VectorTargetName(target)) + " gives other pixels";
    }
  }
  return "";
}

// As DecodeByTargets, of a whole file whose header may be bad as well.
inline std::string DecodeWholeByTargets(const std::string& file,
                                        ImageInfo* info, Status* status,
                                        Bytes* pixels) {
  DecodeLimits limits;
  limits.max_pixels = 1 << 16;
  L3Info found;
  *status = PeekL3(SpanIn(file), limits, &found);
  *info = found.image;
  if (!status->ok()) return "";
  return DecodeByTargets(file, *info, {0, 0, info->height, info->width}, status,
                         pixels);
}

// Images of every kind that an encoder may meet.
enum class Content {
  kSlope,
  kNoise,
  kConstant,
  kGradient,
  kExtremes,
  kMixed,
  kFlat
};
constexpr int kContents = 7;

inline Bytes MakeContent(Content content, const ImageInfo& info, Noise* noise) {
  switch (content) {
    case Content::kSlope: {
      // One after the other: compilers evaluate arguments in any order.
      const uint32_t range = 1u << noise->Below(7);
      return MakePixels(info, noise->Next(), range);
    }
    case Content::kGradient:
      return MakePixels(info, 0, 0);
    case Content::kConstant:
      return Bytes(info.PixelBytes(), static_cast<uint8_t>(noise->Next()));
    default:
      break;
  }
  Bytes pixels(info.PixelBytes());
  if (content == Content::kFlat) {
    // Rectangles of 1 to 300 colours.
    std::vector<Bytes> colours(1 + noise->Below(1u << noise->Below(9)));
    for (Bytes& colour : colours) {
      colour.resize(info.BytesPerPixel());
      for (uint8_t& sample : colour)
        sample = static_cast<uint8_t>(noise->Next());
    }
    for (int i = 0; i < 30; ++i) {
      const Window area = i == 0 ? Window{0, 0, info.height, info.width}
                                 : RandomWindow(info, noise);
      const Bytes& colour =
          colours[noise->Below(static_cast<uint32_t>(colours.size()))];
      for (uint32_t y = area.y; y < area.y + area.height; ++y) {
        for (uint32_t x = area.x; x < area.x + area.width; ++x) {
          // Some pixels of any colour, so that all kinds of changes occur.
          const Bytes& own =
              noise->Below(12) == 0
                  ? colours[noise->Below(static_cast<uint32_t>(colours.size()))]
                  : colour;
          std::copy(
              own.begin(), own.end(),
              pixels.begin() + y * info.RowBytes() + x * info.BytesPerPixel());
        }
      }
    }
    return pixels;
  }
  uint32_t mask = 0xFF;
  for (uint8_t& sample : pixels) {
    // Extremes make every difference as large as it can be; mixed content puts
    // calm and wild groups side by side, so that all widths occur.
    if (content == Content::kExtremes) {
      sample = noise->Below(2) == 0 ? 0 : 255;
      continue;
    }
    if (content == Content::kMixed && noise->Below(24) == 0) {
      mask = (1u << noise->Below(9)) - 1;
    }
    sample = static_cast<uint8_t>(noise->Next() & mask);
  }
  return pixels;
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CODECS_L3_TESTING_H_
