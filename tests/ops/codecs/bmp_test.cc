// BMP files made by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::bmp_test {
namespace {

std::string Little(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string Text(const Bytes& bytes) {
  return std::string(bytes.begin(), bytes.end());
}

// A BITMAPINFOHEADER, or a longer one with `extra` behind its first 40 bytes.
std::string File(int32_t width, int32_t height, int depth, uint32_t compression,
                 uint32_t colors, const std::string& extra,
                 uint32_t header_bytes, const std::string& palette,
                 const Bytes& pixels) {
  const std::string info =
      Little(header_bytes, 4) + Little(static_cast<uint32_t>(width), 4) +
      Little(static_cast<uint32_t>(height), 4) + Little(1, 2) +
      Little(static_cast<uint32_t>(depth), 2) + Little(compression, 4) +
      std::string(12, '\0') + Little(colors, 4) + std::string(4, '\0');
  const std::string middle = info + extra + palette;
  const uint32_t offset = static_cast<uint32_t>(14 + middle.size());
  return "BM" + Little(offset + static_cast<uint32_t>(pixels.size()), 4) +
         Little(0, 4) + Little(offset, 4) + middle + Text(pixels);
}

void ExpectImage(const std::string& file, const ImageInfo& info,
                 const Bytes& pixels) {
  ImageInfo found;
  Bytes decoded;
  const Status status = DecodeFile(Format::kBmp, file, &found, &decoded);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(found.height, info.height);
  EXPECT_EQ(found.width, info.width);
  EXPECT_EQ(found.channels, info.channels);
  EXPECT_EQ(decoded, pixels);
}

StatusCode CodeOf(const std::string& file) {
  ImageInfo found;
  Bytes decoded;
  return DecodeFile(Format::kBmp, file, &found, &decoded).code();
}

TEST(BmpTest, RowsRunUpOrDown) {
  const Bytes stored = {1, 2, 3, 0, 4, 5, 6, 0};
  ExpectImage(File(1, 2, 24, 0, 0, "", 40, "", stored), Info(2, 1, 3),
              {6, 5, 4, 3, 2, 1});
  ExpectImage(File(1, -2, 24, 0, 0, "", 40, "", stored), Info(2, 1, 3),
              {3, 2, 1, 6, 5, 4});
}

TEST(BmpTest, PaletteOfGraysIsGrayAndAnyOtherRgb) {
  std::string ramp;
  for (uint32_t i = 0; i < 256; ++i) ramp += Little(i * 0x010101, 4);
  ExpectImage(File(3, 1, 8, 0, 0, "", 40, ramp, {7, 255, 0, 0}), Info(1, 3, 1),
              {7, 255, 0});
  const std::string two = Little(0x00010203, 4) + Little(0x00040506, 4);
  ExpectImage(File(3, 1, 8, 0, 2, "", 40, two, {1, 0, 9, 0}), Info(1, 3, 3),
              {4, 5, 6, 1, 2, 3, 0, 0, 0});
}

TEST(BmpTest, FourthByteIsAlphaOnlyWithAMask) {
  const Bytes pixel = {1, 2, 3, 4};
  ExpectImage(File(1, 1, 32, 0, 0, "", 40, "", pixel), Info(1, 1, 3),
              {3, 2, 1});
  const std::string masks =
      Little(0x000000FF, 4) + Little(0x0000FF00, 4) + Little(0x00FF0000, 4);
  ExpectImage(File(1, 1, 32, 3, 0, masks, 40, "", pixel), Info(1, 1, 3),
              {1, 2, 3});
  ExpectImage(
      File(1, 1, 32, 3, 0, masks + Little(0xFF000000, 4), 56, "", pixel),
      Info(1, 1, 4), {1, 2, 3, 4});
  ExpectImage(
      File(1, 1, 32, 6, 0, masks + Little(0xFF000000, 4), 40, "", pixel),
      Info(1, 1, 4), {1, 2, 3, 4});
}

TEST(BmpTest, OldHeaders) {
  const std::string file = "BM" + Little(30, 4) + Little(0, 4) + Little(26, 4) +
                           Little(12, 4) + Little(1, 2) + Little(1, 2) +
                           Little(1, 2) + Little(24, 2) + Text({1, 2, 3, 0});
  ExpectImage(file, Info(1, 1, 3), {3, 2, 1});
}

TEST(BmpTest, OtherKindsSaySo) {
  const std::string palette = Little(0, 4) + Little(0xFFFFFF, 4);
  EXPECT_EQ(CodeOf(File(1, 1, 1, 0, 2, "", 40, palette, {0, 0, 0, 0})),
            StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf(File(1, 1, 16, 0, 0, "", 40, "", {0, 0, 0, 0})),
            StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf(File(1, 1, 8, 1, 2, "", 40, palette, {0, 1, 0, 1})),
            StatusCode::kUnimplemented);
  const std::string nibbles =
      Little(0x0FF0, 4) + Little(0xFF000, 4) + Little(0xFF00000, 4);
  EXPECT_EQ(CodeOf(File(1, 1, 32, 3, 0, nibbles, 40, "", {0, 0, 0, 0})),
            StatusCode::kUnimplemented);
}

TEST(BmpTest, SizesThatLie) {
  const Bytes stored = {1, 2, 3, 0, 4, 5, 6, 0};
  for (const auto& [width, height] : std::vector<std::pair<int32_t, int32_t>>{
           {1, 3}, {2, 2}, {30000, 3000}, {0, 1}, {1, 0}, {-1, 2}}) {
    EXPECT_EQ(CodeOf(File(width, height, 24, 0, 0, "", 40, "", stored)),
              StatusCode::kDataLoss)
        << width << " x " << height;
  }
  EXPECT_EQ(CodeOf(File(1, INT32_MIN, 24, 0, 0, "", 40, "", stored)),
            StatusCode::kResourceExhausted);
  std::string offset = File(1, 2, 24, 0, 0, "", 40, "", stored);
  for (const uint32_t wrong : {0u, 53u, 55u, 1000u, UINT32_MAX}) {
    offset.replace(10, 4, Little(wrong, 4));
    EXPECT_EQ(CodeOf(offset), StatusCode::kDataLoss) << wrong;
  }
}

}  // namespace
}  // namespace liquid::bmp_test
