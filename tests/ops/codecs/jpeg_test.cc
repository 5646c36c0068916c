// JPEG files of every sampling and coding that libjpeg-turbo writes.
#include <gtest/gtest.h>

// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cstdlib>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid {
namespace {

struct Kind {
  const char* name;
  int channels;
  int h_samp, v_samp;  // of luma; chroma has 1 x 1
  bool progressive = false;
  bool arithmetic = false;
  int restart_interval = 0;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::string Write(const Kind& kind, const ImageInfo& info, const Bytes& pixels,
                  J_COLOR_SPACE space = JCS_UNKNOWN) {
  jpeg_compress_struct library;
  jpeg_error_mgr errors;
  library.err = jpeg_std_error(&errors);
  jpeg_create_compress(&library);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;  // NOLINT: the library's type
  jpeg_mem_dest(&library, &buffer, &size);
  library.image_width = info.width;
  library.image_height = info.height;
  library.input_components = info.channels;
  library.in_color_space = space != JCS_UNKNOWN ? space
                           : info.channels == 1 ? JCS_GRAYSCALE
                                                : JCS_RGB;
  jpeg_set_defaults(&library);
  jpeg_set_quality(&library, 85, TRUE);
  library.comp_info[0].h_samp_factor = kind.h_samp;
  library.comp_info[0].v_samp_factor = kind.v_samp;
  library.restart_interval = static_cast<unsigned>(kind.restart_interval);
  library.arith_code = kind.arithmetic ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&library);
  jpeg_start_compress(&library, TRUE);
  while (library.next_scanline < library.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + library.next_scanline *
                                                            info.RowBytes());
    jpeg_write_scanlines(&library, &row, 1);
  }
  jpeg_finish_compress(&library);
  std::string file(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&library);
  std::free(buffer);
  return file;
}

class JpegWindowTest : public testing::TestWithParam<Kind> {};

TEST_P(JpegWindowTest, WindowIsTheCropOfTheWhole) {
  const Kind& kind = GetParam();
  Noise noise(7);
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 90}, {90, 7}, {64, 64}, {97, 131}}) {
    const ImageInfo info = Info(height, width, kind.channels);
    const std::string file = Write(kind, info, MakePixels(info, 3, 90));
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

INSTANTIATE_TEST_SUITE_P(
    Kinds, JpegWindowTest,
    testing::Values(Kind{"Gray", 1, 1, 1}, Kind{"S444", 3, 1, 1},
                    Kind{"S422", 3, 2, 1}, Kind{"S420", 3, 2, 2},
                    Kind{"S440", 3, 1, 2}, Kind{"S411", 3, 4, 1},
                    Kind{"S441", 3, 1, 4}, Kind{"S410", 3, 4, 2},
                    Kind{"GrayProgressive", 1, 1, 1, true},
                    Kind{"S420Progressive", 3, 2, 2, true},
                    Kind{"S422Progressive", 3, 2, 1, true},
                    Kind{"S420Arithmetic", 3, 2, 2, false, true},
                    Kind{"S420ProgressiveArithmetic", 3, 2, 2, true, true},
                    Kind{"S420Restarts", 3, 2, 2, false, false, 3},
                    Kind{"S444Restarts", 3, 1, 1, false, false, 5}),
    [](const auto& info) { return std::string(info.param.name); });

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
  const std::string file = Write(Kind{"", 4, 1, 1}, info, pixels, JCS_CMYK);
  ImageInfo found;
  const Status status = Peek(Format::kJpeg, Span(file), DecodeLimits(), &found);
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
  EXPECT_EQ(Peek(Format::kJpeg, Span(lossless), DecodeLimits(), &found).code(),
            StatusCode::kUnimplemented);
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
}  // namespace liquid
