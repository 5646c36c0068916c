#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::webp_test {
namespace {

std::string Lossy(const ImageInfo& info, const Bytes& pixels,
                  int quality = 90) {
  EncodeOptions options;
  options.webp_lossless = false;
  options.webp_quality = quality;
  std::string file;
  const Status status =
      Encode(Format::kWebp, options, info, pixels.data(), &file);
  EXPECT_TRUE(status.ok()) << status.message();
  return file;
}

TEST(WebpTest, LossyWindowIsTheCropOfTheWhole) {
  Noise noise(3);
  for (const int channels : {3, 4}) {
    for (const uint32_t quality : {20, 95}) {
      const ImageInfo info = Info(83, 101, channels);
      const std::string file =
          Lossy(info, MakePixels(info, 3, 90), static_cast<int>(quality));
      ImageInfo found;
      Bytes whole;
      ASSERT_TRUE(DecodeFile(Format::kWebp, file, &found, &whole).ok());
      ASSERT_EQ(found.channels, channels);
      for (int i = 0; i < 150; ++i) {
        const Window window = RandomWindow(info, &noise);
        Bytes crop;
        const Status status =
            DecodeWindow(Format::kWebp, file, info, window, &crop);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(crop, Crop(info, whole, window))
            << "y " << window.y << ", x " << window.x << ", " << window.height
            << " x " << window.width;
      }
    }
  }
}

TEST(WebpTest, OpaqueImagesOfFourChannelsKeepThem) {
  const ImageInfo info = Info(17, 18, 4);
  Bytes pixels = MakePixels(info, 9);
  for (size_t i = 3; i < pixels.size(); i += 4) pixels[i] = 255;
  std::string lossless;
  ASSERT_TRUE(
      Encode(Format::kWebp, EncodeOptions(), info, pixels.data(), &lossless)
          .ok());
  ImageInfo found;
  Bytes decoded;
  ASSERT_TRUE(DecodeFile(Format::kWebp, lossless, &found, &decoded).ok());
  EXPECT_EQ(found.channels, 4);
  EXPECT_EQ(decoded, pixels);

  const Status status =
      DecodeFile(Format::kWebp, Lossy(info, pixels), &found, &decoded);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(found.channels, 4);
  EXPECT_EQ(found.height, 17u);
  EXPECT_EQ(found.width, 18u);
  for (size_t i = 3; i < decoded.size(); i += 4) ASSERT_EQ(decoded[i], 255);
}

TEST(WebpTest, LosslessKeepsTheColorOfTransparentPixels) {
  const ImageInfo info = Info(16, 16, 4);
  Bytes pixels = MakePixels(info, 9);
  for (size_t i = 3; i < pixels.size(); i += 4) pixels[i] = 0;
  std::string file;
  ASSERT_TRUE(
      Encode(Format::kWebp, EncodeOptions(), info, pixels.data(), &file).ok());
  ImageInfo found;
  Bytes decoded;
  ASSERT_TRUE(DecodeFile(Format::kWebp, file, &found, &decoded).ok());
  EXPECT_EQ(decoded, pixels);
}

TEST(WebpTest, QualityTradesSizeForError) {
  const ImageInfo info = Info(64, 64, 3);
  const Bytes pixels = MakePixels(info, 1, 60);
  EXPECT_LT(Lossy(info, pixels, 20).size(), Lossy(info, pixels, 95).size());
}

TEST(WebpTest, AnimationsSaySo) {
  // An extended header of a 2 x 2 canvas with the animation flag, and the
  // chunk with the animation's parameters.
  std::string file("RIFF\x20\0\0\0WEBP", 12);
  file += std::string("VP8X\x0A\0\0\0\x02\0\0\0\x01\0\0\x01\0\0", 18);
  file += std::string("ANIM\x02\0\0\0\0\0", 10);
  ImageInfo found;
  const Status status =
      Peek(Format::kWebp, SpanIn(file), DecodeLimits(), &found);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status.message();
  EXPECT_NE(status.message().find("animation"), std::string::npos);
}

}  // namespace
}  // namespace liquid::webp_test
