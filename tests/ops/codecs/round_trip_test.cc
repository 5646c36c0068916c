// What holds for every codec: lossless formats give back the pixels at every
// size and depth, and a window is the crop of the whole image.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid {
namespace {

struct Kind {
  const char* name;
  Format format;
  int channels;
  int bits;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class LosslessTest : public testing::TestWithParam<Kind> {};

TEST_P(LosslessTest, GivesBackThePixelsAtEverySize) {
  const Kind& kind = GetParam();
  for (uint32_t height = 1; height <= 40; height += height < 10 ? 1 : 3) {
    for (uint32_t width = 1; width <= 40; width += width < 10 ? 1 : 3) {
      const ImageInfo info = Info(height, width, kind.channels, kind.bits);
      const Bytes pixels = MakePixels(info, height * 41 + width);
      std::string file = "before";
      const Status encoded =
          Encode(kind.format, EncodeOptions(), info, pixels.data(), &file);
      ASSERT_TRUE(encoded.ok()) << encoded.message();
      ASSERT_EQ(file.substr(0, 6), "before") << "Encode must append";
      file.erase(0, 6);

      Format sniffed;
      ASSERT_TRUE(SniffFormat(Span(file), &sniffed).ok());
      ASSERT_EQ(sniffed, kind.format);
      ImageInfo found;
      Bytes decoded;
      const Status status = DecodeFile(kind.format, file, &found, &decoded);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(found.height, height);
      ASSERT_EQ(found.width, width);
      ASSERT_EQ(found.channels, kind.channels);
      ASSERT_EQ(found.bits, kind.bits);
      ASSERT_EQ(decoded, pixels) << height << " x " << width;
    }
  }
}

TEST_P(LosslessTest, WindowIsTheCropAndWritesNothingElse) {
  const Kind& kind = GetParam();
  const ImageInfo info = Info(37, 29, kind.channels, kind.bits);
  const Bytes pixels = MakePixels(info, 5);
  std::string file;
  ASSERT_TRUE(
      Encode(kind.format, EncodeOptions(), info, pixels.data(), &file).ok());
  Noise noise(11);
  for (int i = 0; i < 60; ++i) {
    const Window window = RandomWindow(info, &noise);
    const Bytes crop = Crop(info, pixels, window);
    const size_t row_bytes = window.width * info.BytesPerPixel();
    const size_t stride = row_bytes + i % 5;
    Bytes out(stride * window.height + 8, 0x5A);
    const Status status = Decode(kind.format, Span(file), DecodeLimits(), info,
                                 window, out.data(), stride);
    ASSERT_TRUE(status.ok()) << status.message();
    for (uint32_t y = 0; y < window.height; ++y) {
      const auto row = out.begin() + y * stride;
      ASSERT_TRUE(
          std::equal(row, row + row_bytes, crop.begin() + y * row_bytes))
          << "row " << y << " of the window at " << window.y << ", "
          << window.x;
      for (size_t k = row_bytes; k < stride; ++k) ASSERT_EQ(row[k], 0x5A);
    }
    for (size_t k = stride * window.height; k < out.size(); ++k) {
      ASSERT_EQ(out[k], 0x5A);
    }
  }
}

TEST_P(LosslessTest, RefusesWhatTheCallerDidNotExpect) {
  const Kind& kind = GetParam();
  const ImageInfo info = Info(9, 7, kind.channels, kind.bits);
  const Bytes pixels = MakePixels(info, 3);
  std::string file;
  ASSERT_TRUE(
      Encode(kind.format, EncodeOptions(), info, pixels.data(), &file).ok());
  std::vector<ImageInfo> others(4, info);
  others[0].height = 8;
  others[1].width = 8;
  others[2].channels = info.channels == 1 ? 3 : 1;
  others[3].bits = info.bits == 8 ? 16 : 8;
  Bytes out(2 * info.PixelBytes(), 0x5A);
  for (const ImageInfo& other : others) {
    const Status status =
        Decode(kind.format, Span(file), DecodeLimits(), other,
               {0, 0, other.height, other.width}, out.data(), other.RowBytes());
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_NE(status.message().find("9 x 7"), std::string::npos)
        << status.message();
  }
  const uint32_t huge = UINT32_MAX;
  for (const Window& window :
       {Window{0, 0, 0, 1}, Window{0, 0, 1, 0}, Window{9, 0, 1, 1},
        Window{0, 7, 1, 1}, Window{0, 0, 10, 1}, Window{0, 0, 1, 8},
        Window{1, 0, 9, 1}, Window{huge, 0, 2, 1}, Window{0, huge, 1, 2},
        Window{1, 1, huge, huge}}) {
    const Status status = Decode(kind.format, Span(file), DecodeLimits(), info,
                                 window, out.data(), SIZE_MAX);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  }
  EXPECT_EQ(Decode(kind.format, Span(file), DecodeLimits(), info, {0, 0, 9, 7},
                   out.data(), info.RowBytes() - 1)
                .code(),
            StatusCode::kInvalidArgument);
  for (const uint8_t byte : out) ASSERT_EQ(byte, 0x5A);

  DecodeLimits limits;
  limits.max_pixels = 62;
  ImageInfo found;
  EXPECT_EQ(Peek(kind.format, Span(file), limits, &found).code(),
            StatusCode::kResourceExhausted);
  limits.max_pixels = 63;
  EXPECT_TRUE(Peek(kind.format, Span(file), limits, &found).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LosslessTest,
    testing::Values(
        Kind{"RawGray", Format::kRaw, 1, 8},
        Kind{"RawGrayAlpha", Format::kRaw, 2, 8},
        Kind{"RawRgb", Format::kRaw, 3, 8}, Kind{"RawRgba", Format::kRaw, 4, 8},
        Kind{"RawGray16", Format::kRaw, 1, 16},
        Kind{"RawRgba16", Format::kRaw, 4, 16},
        Kind{"PngGray", Format::kPng, 1, 8},
        Kind{"PngGrayAlpha", Format::kPng, 2, 8},
        Kind{"PngRgb", Format::kPng, 3, 8}, Kind{"PngRgba", Format::kPng, 4, 8},
        Kind{"PngGray16", Format::kPng, 1, 16},
        Kind{"PngGrayAlpha16", Format::kPng, 2, 16},
        Kind{"PngRgb16", Format::kPng, 3, 16},
        Kind{"PngRgba16", Format::kPng, 4, 16},
        Kind{"WebpRgb", Format::kWebp, 3, 8},
        Kind{"WebpRgba", Format::kWebp, 4, 8},
        Kind{"BmpGray", Format::kBmp, 1, 8}, Kind{"BmpRgb", Format::kBmp, 3, 8},
        Kind{"BmpRgba", Format::kBmp, 4, 8}, Kind{"L3Gray", Format::kL3, 1, 8},
        Kind{"L3GrayAlpha", Format::kL3, 2, 8},
        Kind{"L3Rgb", Format::kL3, 3, 8}, Kind{"L3Rgba", Format::kL3, 4, 8},
        Kind{"L3Gray16", Format::kL3, 1, 16},
        Kind{"L3GrayAlpha16", Format::kL3, 2, 16},
        Kind{"L3Rgb16", Format::kL3, 3, 16},
        Kind{"L3Rgba16", Format::kL3, 4, 16},
        Kind{"L3CompactGray", Format::kL3Compact, 1, 8},
        Kind{"L3CompactRgb", Format::kL3Compact, 3, 8},
        Kind{"L3CompactRgba16", Format::kL3Compact, 4, 16}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(EncodeTest, RefusesWhatAFormatCannotHold) {
  const auto code = [](Format format, const ImageInfo& info,
                       const EncodeOptions& options = EncodeOptions()) {
    const Bytes pixels = MakePixels(info, 1);
    std::string file;
    const Status status = Encode(format, options, info, pixels.data(), &file);
    EXPECT_TRUE(file.empty());
    return status.code();
  };
  constexpr StatusCode kRefused = StatusCode::kInvalidArgument;
  EXPECT_EQ(code(Format::kJpeg, Info(4, 4, 4)), kRefused);
  EXPECT_EQ(code(Format::kJpeg, Info(4, 4, 2)), kRefused);
  EXPECT_EQ(code(Format::kJpeg, Info(4, 4, 3, 16)), kRefused);
  EXPECT_EQ(code(Format::kWebp, Info(4, 4, 1)), kRefused);
  EXPECT_EQ(code(Format::kWebp, Info(4, 4, 3, 16)), kRefused);
  EXPECT_EQ(code(Format::kWebp, Info(16384, 1, 3)), kRefused);
  EXPECT_EQ(code(Format::kBmp, Info(4, 4, 2)), kRefused);
  EXPECT_EQ(code(Format::kBmp, Info(4, 4, 3, 16)), kRefused);
  EXPECT_EQ(code(Format::kPng, Info(4, 4, 5)), kRefused);
  EXPECT_EQ(code(Format::kRaw, Info(4, 4, 0)), kRefused);
  EXPECT_EQ(code(Format::kRaw, Info(0, 4, 1)), kRefused);
  EncodeOptions options;
  options.png_level = 13;
  EXPECT_EQ(code(Format::kPng, Info(4, 4, 1), options), kRefused);
  options.jpeg_quality = 0;
  EXPECT_EQ(code(Format::kJpeg, Info(4, 4, 1), options), kRefused);
  options.webp_quality = 101;
  EXPECT_EQ(code(Format::kWebp, Info(4, 4, 3), options), kRefused);
  EXPECT_EQ(code(Format::kL3, Info(4, 4, 5)), kRefused);
  EXPECT_EQ(code(Format::kL3, Info(4, 0, 3)), kRefused);
  EXPECT_EQ(code(Format::kPcr, Info(4, 4, 3)), StatusCode::kUnimplemented);
}

TEST(FormatTest, NamesNumbersAndFirstBytes) {
  // The numbers are stored in datasets.
  const char* const names[] = {"raw", "png", "jpeg", "webp",
                               "bmp", "l3",  "pcr",  "l3-compact"};
  for (int i = 0; i < 8; ++i) {
    EXPECT_STREQ(FormatName(static_cast<Format>(i)), names[i]);
    Format format;
    ASSERT_TRUE(ParseFormat(names[i], &format).ok());
    EXPECT_EQ(static_cast<int>(format), i);
  }
  EXPECT_EQ(FormatName(static_cast<Format>(8)), nullptr);
  Format format;
  const Status unknown = ParseFormat("gif", &format);
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(),
            "format (\"gif\") must be one of raw, png, jpeg, webp, bmp, "
            "l3, l3-compact");
  EXPECT_EQ(SniffFormat(Span("GIF89a"), &format).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(SniffFormat(Span(""), &format).code(),
            StatusCode::kInvalidArgument);
}

TEST(PixelHashTest, CoversPixelsShapeAndDepth) {
  const Bytes pixels = MakePixels(Info(6, 4, 1), 1);
  const uint64_t hash = PixelHash(Info(6, 4, 1), pixels.data());
  EXPECT_NE(hash, PixelHash(Info(4, 6, 1), pixels.data()));
  EXPECT_NE(hash, PixelHash(Info(6, 2, 2), pixels.data()));
  EXPECT_NE(hash, PixelHash(Info(3, 4, 1, 16), pixels.data()));
  Bytes other = pixels;
  other.back() ^= 1;
  EXPECT_NE(hash, PixelHash(Info(6, 4, 1), other.data()));
}

// Indices of written datasets hold such hashes.
TEST(PixelHashTest, StaysTheSame) {
  const uint8_t pixels[6] = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(PixelHash(Info(1, 2, 3), pixels), 0xAE050A2C6D1E6D84u);
}

}  // namespace
}  // namespace liquid
