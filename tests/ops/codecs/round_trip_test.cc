// What holds for every codec: lossless formats give back the pixels at every
// size and depth, and a window is the crop of the whole image.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::round_trip_test {
namespace {

class LosslessTest : public testing::TestWithParam<FormatKind> {};

TEST_P(LosslessTest, GivesBackThePixelsAtEverySize) {
  const FormatKind& kind = GetParam();
  for (uint32_t height = 1; height <= 40; height += height < 10 ? 1 : 3) {
    for (uint32_t width = 1; width <= 40; width += width < 10 ? 1 : 3) {
      const ImageInfo info = Info(height, width, kind.channels, kind.bits);
      const Bytes pixels = MakePixels(info, height * 41 + width);
      std::string file = "before";
      const Status encoded =
          Encode(kind.row->format, EncodeOptions(), info, pixels.data(), &file);
      ASSERT_TRUE(encoded.ok()) << encoded.message();
      ASSERT_EQ(file.substr(0, 6), "before") << "Encode must append";
      file.erase(0, 6);

      Format sniffed;
      ASSERT_TRUE(SniffFormat(SpanIn(file), &sniffed).ok());
      ASSERT_EQ(sniffed, kind.row->format);
      ImageInfo found;
      Bytes decoded;
      const Status status =
          DecodeFile(kind.row->format, file, &found, &decoded);
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
  const FormatKind& kind = GetParam();
  const ImageInfo info = Info(37, 29, kind.channels, kind.bits);
  const Bytes pixels = MakePixels(info, 5);
  std::string file;
  ASSERT_TRUE(
      Encode(kind.row->format, EncodeOptions(), info, pixels.data(), &file)
          .ok());
  Noise noise(11);
  for (int i = 0; i < 60; ++i) {
    const Window window = RandomWindow(info, &noise);
    const Bytes crop = Crop(info, pixels, window);
    const size_t row_bytes = window.width * info.BytesPerPixel();
    const size_t stride = row_bytes + i % 5;
    Bytes out(stride * window.height + 8, 0x5A);
    const Status status = Decode(kind.row->format, SpanIn(file), DecodeLimits(),
                                 info, window, out.data(), stride);
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
  const FormatKind& kind = GetParam();
  const ImageInfo info = Info(9, 7, kind.channels, kind.bits);
  const Bytes pixels = MakePixels(info, 3);
  std::string file;
  ASSERT_TRUE(
      Encode(kind.row->format, EncodeOptions(), info, pixels.data(), &file)
          .ok());
  std::vector<ImageInfo> others(4, info);
  others[0].height = 8;
  others[1].width = 8;
  others[2].channels = info.channels == 1 ? 3 : 1;
  others[3].bits = info.bits == 8 ? 16 : 8;
  Bytes out(2 * info.PixelBytes(), 0x5A);
  for (const ImageInfo& other : others) {
    const Status status =
        Decode(kind.row->format, SpanIn(file), DecodeLimits(), other,
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
    const Status status = Decode(kind.row->format, SpanIn(file), DecodeLimits(),
                                 info, window, out.data(), SIZE_MAX);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  }
  EXPECT_EQ(Decode(kind.row->format, SpanIn(file), DecodeLimits(), info,
                   {0, 0, 9, 7}, out.data(), info.RowBytes() - 1)
                .code(),
            StatusCode::kInvalidArgument);
  for (const uint8_t byte : out) ASSERT_EQ(byte, 0x5A);

  DecodeLimits limits;
  limits.max_pixels = 62;
  ImageInfo found;
  EXPECT_EQ(Peek(kind.row->format, SpanIn(file), limits, &found).code(),
            StatusCode::kResourceExhausted);
  limits.max_pixels = 63;
  EXPECT_TRUE(Peek(kind.row->format, SpanIn(file), limits, &found).ok());
}

INSTANTIATE_TEST_SUITE_P(Kinds, LosslessTest,
                         testing::ValuesIn(LosslessKinds()),
                         [](const auto& info) { return info.param.Name(); });

TEST(EncodeTest, HoldsWhatTheTableSays) {
  for (const FormatRow& row : kFormats) {
    if (row.encode == nullptr) continue;
    const auto encodes = [&](const ImageInfo& info) {
      const Bytes pixels(info.PixelBytes() + 1);
      std::string file;
      const Status status =
          Encode(row.format, EncodeOptions(), info, pixels.data(), &file);
      EXPECT_EQ(status.ok(), !file.empty());
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidArgument)
          << status.message();
      return status.ok();
    };
    for (int channels = 0; channels <= 5; ++channels) {
      for (const int bits : {8, 16}) {
        const bool holds =
            bits <= row.bits && std::strchr(row.channels, '0' + channels);
        EXPECT_EQ(encodes(Info(4, 5, channels, bits)), holds)
            << row.name << " " << channels << " x " << bits;
      }
    }
    if (row.side == kAnySide) continue;
    EXPECT_TRUE(encodes(Info(row.side, 1, 3))) << row.name;
    EXPECT_TRUE(encodes(Info(1, row.side, 3))) << row.name;
    EXPECT_FALSE(encodes(Info(row.side + 1, 1, 3))) << row.name;
    EXPECT_FALSE(encodes(Info(1, row.side + 1, 3))) << row.name;
  }
}

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
  const int count = static_cast<int>(std::size(names));
  for (int i = 0; i < count; ++i) {
    EXPECT_STREQ(FormatName(static_cast<Format>(i)), names[i]);
    Format format;
    ASSERT_TRUE(ParseFormat(names[i], &format).ok());
    EXPECT_EQ(static_cast<int>(format), i);
  }
  EXPECT_EQ(FormatName(static_cast<Format>(count)), nullptr);
  Format format;
  const Status unknown = ParseFormat("gif", &format);
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(),
            "format (\"gif\") must be one of raw, png, jpeg, webp, bmp, "
            "l3, l3-compact");
  const Status no_image = SniffFormat(SpanIn("GIF89a"), &format);
  EXPECT_EQ(no_image.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(no_image.message(),
            "the bytes begin with [47 49 46 38 39 61] (6 in all), which is no "
            "raw, png, jpeg, webp, bmp or l3 image");
  for (const char* none : {"", "LRA", "RIFF....", "RIFF....WAVE", "LLL3"}) {
    EXPECT_EQ(SniffFormat(SpanIn(none), &format).code(),
              StatusCode::kInvalidArgument)
        << none;
  }
  // What is cut off before it says its profile may be of either.
  ASSERT_TRUE(SniffFormat(SpanIn("LLL2"), &format).ok());
  EXPECT_EQ(format, Format::kL3);
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
}  // namespace liquid::round_trip_test
