// The JPEG codec on every kind of file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid::jpeg_test {
namespace {

class JpegWindowTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegWindowTest, WindowIsTheCropOfTheWhole) {
  const JpegKind& kind = GetParam();
  Noise noise(7);
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 90}, {90, 7}, {64, 64}, {97, 131}}) {
    const ImageInfo info = Info(height, width, kind.channels);
    const std::string file = WriteJpeg(kind, info, MakePixels(info, 3, 90));
    ImageInfo found;
    Bytes whole;
    Status status = DecodeFile(Format::kJpeg, file, &found, &whole);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(found.channels, kind.channels);
    for (int i = 0; i < 80; ++i) {
      const Window window = RandomWindow(info, &noise);
      Bytes crop;
      status = DecodeWindow(Format::kJpeg, file, info, window, &crop);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(crop, Crop(info, whole, window))
          << height << " x " << width << ": y " << window.y << ", x "
          << window.x << ", " << window.height << " x " << window.width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegWindowTest, testing::ValuesIn(kJpegKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegTest, EncodingStaysNearThePixels) {
  for (const int channels : {1, 3}) {
    const ImageInfo info = Info(33, 41, channels);
    Bytes pixels(info.PixelBytes());
    for (size_t i = 0; i < pixels.size(); ++i) {
      const size_t pixel = i / channels;
      pixels[i] = static_cast<uint8_t>(40 + pixel % 41 * 3 + i % channels * 20);
    }
    int errors[2];
    const int qualities[2] = {100, 30};
    for (int k = 0; k < 2; ++k) {
      EncodeOptions options;
      options.jpeg_quality = qualities[k];
      std::string file;
      ASSERT_TRUE(
          Encode(Format::kJpeg, options, info, pixels.data(), &file).ok());
      ImageInfo found;
      Bytes decoded;
      ASSERT_TRUE(DecodeFile(Format::kJpeg, file, &found, &decoded).ok());
      ASSERT_EQ(decoded.size(), pixels.size());
      errors[k] = 0;
      for (size_t i = 0; i < pixels.size(); ++i) {
        errors[k] = std::max(errors[k], std::abs(decoded[i] - pixels[i]));
      }
    }
    EXPECT_LE(errors[0], 3);
    EXPECT_GT(errors[1], errors[0]);
  }
}

TEST(JpegTest, EncodesWithoutSubsampling) {
  const ImageInfo info = Info(8, 8, 3);
  const Bytes pixels = MakePixels(info, 1);
  std::string file;
  ASSERT_TRUE(
      Encode(Format::kJpeg, EncodeOptions(), info, pixels.data(), &file).ok());
  const size_t frame = file.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  for (int component = 0; component < 3; ++component) {
    EXPECT_EQ(file[frame + 11 + 3 * component], 0x11);
  }
}

TEST(JpegTest, UnsupportedColorsSaySo) {
  const ImageInfo info = Info(8, 8, 4);
  const Bytes pixels = MakePixels(info, 1);
  const std::string file =
      WriteJpeg(JpegKind{"", 4, 1, 1}, info, pixels, JCS_CMYK);
  ImageInfo found;
  const Status status =
      Peek(Format::kJpeg, SpanIn(file), DecodeLimits(), &found);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("CMYK"), std::string::npos);
}

TEST(JpegTest, TwelveBitsAndLosslessSaySo) {
  const ImageInfo info = Info(8, 8, 1);
  std::string file;
  ASSERT_TRUE(Encode(Format::kJpeg, EncodeOptions(), info,
                     MakePixels(info, 1).data(), &file)
                  .ok());
  const size_t frame = file.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  ImageInfo found;
  std::string twelve_bits = file;
  twelve_bits[frame + 4] = 12;
  Bytes pixels;
  EXPECT_EQ(
      DecodeWindow(Format::kJpeg, twelve_bits, info, {0, 0, 8, 8}, &pixels)
          .code(),
      StatusCode::kUnimplemented);
  std::string lossless = file;
  lossless[frame + 1] = '\xC3';
  const Status status =
      Peek(Format::kJpeg, SpanIn(lossless), DecodeLimits(), &found);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("lossless"), std::string::npos)
      << status.message();
  EXPECT_EQ(Peek(Format::kJpeg, SpanIn(twelve_bits), DecodeLimits(), &found)
                .message()
                .substr(0, 22),
            "jpeg: 12 bits a sample");
}

TEST(JpegTest, CountsWhatTheLibraryDecodes) {
  const ImageInfo info = Info(20, 30, 3);
  const Bytes noise = MakePixels(info, 1);
  Bytes pixels;
  for (const bool progressive : {false, true, true, false, true}) {
    const std::string file =
        WriteJpeg(JpegKind{"", 3, 2, 2, progressive}, info, noise);
    const uint64_t before = LibraryDecodes();
    ASSERT_TRUE(
        DecodeWindow(Format::kJpeg, file, info, {0, 0, 20, 30}, &pixels).ok());
    const bool by_library = progressive || !HasBaselineVectors();
    EXPECT_EQ(LibraryDecodes() - before, by_library ? 1 : 0);
    ASSERT_TRUE(
        DecodeWindow(Format::kJpeg, file, info, {2, 3, 5, 7}, &pixels).ok());
    EXPECT_EQ(LibraryDecodes() - before, by_library ? 2 : 0);
    const uint64_t decoded = LibraryDecodes();
    EXPECT_FALSE(DecodeWindow(Format::kJpeg, file.substr(0, file.size() - 9),
                              info, {0, 0, 20, 30}, &pixels)
                     .ok());
    EXPECT_EQ(LibraryDecodes(), decoded);
  }
}

TEST(JpegTest, PaddingBetweenSegmentsIsHarmless) {
  const ImageInfo info = Info(8, 8, 1);
  std::string file;
  ASSERT_TRUE(Encode(Format::kJpeg, EncodeOptions(), info,
                     MakePixels(info, 1).data(), &file)
                  .ok());
  Bytes before, after;
  ImageInfo found;
  ASSERT_TRUE(DecodeFile(Format::kJpeg, file, &found, &before).ok());
  file.insert(2, 3, '\0');
  const Status status = DecodeFile(Format::kJpeg, file, &found, &after);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace liquid::jpeg_test
