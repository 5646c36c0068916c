// PNG files made by hand, byte for byte, with the pixels that the specification
// gives them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "tests/ops/codecs/codec_testing.h"
#include "tests/ops/codecs/png_testing.h"

namespace liquid::png_test {
namespace {

struct Decoded {
  Status status;
  ImageInfo info;
  Bytes pixels;
};

Decoded Open(const std::string& file) {
  Decoded decoded;
  decoded.status =
      DecodeFile(Format::kPng, file, &decoded.info, &decoded.pixels);
  return decoded;
}

void ExpectImage(const std::string& file, const ImageInfo& info,
                 const Bytes& pixels) {
  const Decoded decoded = Open(file);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.message();
  EXPECT_EQ(decoded.info.height, info.height);
  EXPECT_EQ(decoded.info.width, info.width);
  EXPECT_EQ(decoded.info.channels, info.channels);
  EXPECT_EQ(decoded.info.bits, info.bits);
  EXPECT_EQ(decoded.pixels, pixels);
}

TEST(PngTest, EveryFilter) {
  // Five rows of gray, one for each filter, in the order None, Sub, Up,
  // Average, Paeth.
  ExpectImage(File(Header(3, 5, 8, 0), {0, 10, 20, 30,   //
                                        1, 5,  1,  255,  //
                                        2, 1,  2,  3,    //
                                        3, 10, 10, 10,   //
                                        4, 1,  1,  1}),
              Info(5, 3, 1),
              {10, 20, 30,  //
               5, 6, 5,     //
               6, 8, 8,     //
               13, 20, 24,  //
               14, 21, 25});
}

TEST(PngTest, SixteenBitsAreInTheHostsOrder) {
  const uint16_t expected[] = {0x0102, 0xFFFE};
  Bytes pixels(4);
  std::memcpy(pixels.data(), expected, 4);
  ExpectImage(File(Header(2, 1, 16, 0), {0, 0x01, 0x02, 0xFF, 0xFE}),
              Info(1, 2, 1, 16), pixels);
}

TEST(PngTest, GrayOfFewBitsIsScaled) {
  ExpectImage(File(Header(3, 1, 1, 0), {0, 0b10100000}), Info(1, 3, 1),
              {255, 0, 255});
  ExpectImage(File(Header(4, 1, 2, 0), {0, 0b00011011}), Info(1, 4, 1),
              {0, 85, 170, 255});
  ExpectImage(File(Header(2, 1, 4, 0), {0, 0x3F}), Info(1, 2, 1), {51, 255});
}

TEST(PngTest, PaletteBecomesRgb) {
  const std::string palette = Chunk("PLTE", Text({1, 2, 3, 4, 5, 6}));
  ExpectImage(File(Header(2, 1, 8, 3) + palette, {0, 1, 0}), Info(1, 2, 3),
              {4, 5, 6, 1, 2, 3});
  ExpectImage(File(Header(2, 1, 1, 3) + palette, {0, 0b10000000}),
              Info(1, 2, 3), {4, 5, 6, 1, 2, 3});
  // An index past the palette is black.
  ExpectImage(File(Header(2, 1, 8, 3) + palette, {0, 2, 0}), Info(1, 2, 3),
              {0, 0, 0, 1, 2, 3});
}

TEST(PngTest, PaletteWithTransparencyBecomesRgba) {
  const std::string chunks =
      Chunk("PLTE", Text({1, 2, 3, 4, 5, 6})) + Chunk("tRNS", Text({77}));
  ExpectImage(File(Header(2, 1, 8, 3) + chunks, {0, 1, 0}), Info(1, 2, 4),
              {4, 5, 6, 255, 1, 2, 3, 77});
  ExpectImage(File(Header(2, 1, 4, 3) + chunks, {0, 0x10}), Info(1, 2, 4),
              {4, 5, 6, 255, 1, 2, 3, 77});
}

TEST(PngTest, TransparentColorBecomesAlpha) {
  ExpectImage(File(Header(2, 1, 8, 0) + Chunk("tRNS", Text({0, 9})), {0, 9, 8}),
              Info(1, 2, 2), {9, 0, 8, 255});
  ExpectImage(File(Header(2, 1, 8, 2) + Chunk("tRNS", Text({0, 1, 0, 2, 0, 3})),
                   {0, 1, 2, 3, 1, 2, 4}),
              Info(1, 2, 4), {1, 2, 3, 0, 1, 2, 4, 255});
  ExpectImage(
      File(Header(2, 1, 2, 0) + Chunk("tRNS", Text({0, 2})), {0, 0b10010000}),
      Info(1, 2, 2), {170, 0, 85, 255});
}

TEST(PngTest, Interlaced) {
  // 3 x 3 gray: passes 1 (0,0), 4 (0,2), 5 (2,0)(2,2), 6 (0,1) and (2,1),
  // 7 (1,0)(1,1)(1,2).
  ExpectImage(File(Header(3, 3, 8, 0, 1),
                   {0, 1, 0, 3, 0, 7, 9, 0, 2, 0, 8, 0, 4, 5, 6}),
              Info(3, 3, 1), {1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST(PngTest, DataInManyChunks) {
  const std::string stream = Deflate({0, 1, 2, 0, 3, 4});
  std::string file = kPngSignature + Header(2, 2, 8, 0);
  for (const char c : stream) file += Chunk("IDAT", std::string(1, c));
  file += Chunk("IDAT", "") + Chunk("tEXt", "a\0b") + Chunk("IEND", "");
  ExpectImage(file + "trailing bytes", Info(2, 2, 1), {1, 2, 3, 4});
}

TEST(PngTest, SizeThatIsNotTheDatas) {
  const Bytes rows = {0, 1, 2, 0, 3, 4};  // 2 x 2 gray
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {2, 1}, {2, 3}, {1, 2}, {3, 2}, {1, 1}, {20000, 500}}) {
    const Decoded decoded = Open(File(Header(width, height, 8, 0), rows));
    EXPECT_EQ(decoded.status.code(), StatusCode::kDataLoss)
        << width << " x " << height;
    EXPECT_NE(decoded.status.message().find("IHDR states"), std::string::npos)
        << decoded.status.message();
  }
  EXPECT_EQ(Open(File(Header(2, 2, 16, 0), rows)).status.code(),
            StatusCode::kDataLoss);
  // The rare kinds obey the same rule.
  EXPECT_EQ(Open(File(Header(3, 2, 8, 0, 1), rows)).status.code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(Open(File(Header(9, 2, 1, 0), rows)).status.code(),
            StatusCode::kOk);
  EXPECT_EQ(Open(File(Header(9, 1, 1, 0), rows)).status.code(),
            StatusCode::kDataLoss);
}

TEST(PngTest, Damage) {
  const Bytes rows = {0, 1, 2, 0, 3, 4};
  const std::string good = File(Header(2, 2, 8, 0), rows);
  ASSERT_TRUE(Open(good).status.ok());
  const std::string palette = Chunk("PLTE", Text({1, 2, 3}));
  const std::string data = Chunk("IDAT", Deflate(rows));
  const std::string end = Chunk("IEND", "");
  std::string wrong_sum = Deflate(rows);
  wrong_sum.back() ^= 1;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no PNG signature"},
      {kPngSignature, "the file ends where a chunk should begin"},
      {kPngSignature + palette + data + end, "no IHDR"},
      {File(Header(0, 2, 8, 0), rows), "an empty image"},
      {File(Header(2, 2, 3, 0), rows), "3 bits, which PNG does not have"},
      {File(Header(2, 2, 8, 1), rows), "colour type 1"},
      {File(Header(2, 2, 8, 0, 2), rows), "unknown compression, filter"},
      {File(Header(2, 2, 8, 3), rows), "no PLTE"},
      {File(Header(2, 2, 8, 3) + Chunk("PLTE", "ab"), rows), "PLTE has 2"},
      {File(Header(2, 2, 8, 3) + palette + palette, rows), "second PLTE"},
      {File(Header(2, 2, 8, 3) + palette + Chunk("tRNS", "ab"), rows), "tRNS"},
      {File(Header(2, 2, 8, 0) + Chunk("tRNS", "a"), rows), "tRNS"},
      {File(Header(2, 2, 8, 0) + Header(2, 2, 8, 0), rows), "second IHDR"},
      {kPngSignature + Header(2, 2, 8, 0) + end, "before any pixels"},
      {kPngSignature + Header(2, 2, 8, 0) + data, "the file ends where"},
      {kPngSignature + Header(2, 2, 8, 0) + data + Chunk("tEXt", "") + data +
           end,
       "not adjacent"},
      {kPngSignature + Header(2, 2, 8, 0) + Chunk("IDAT", wrong_sum) + end,
       "zlib stream"},
      {kPngSignature + Header(2, 2, 8, 0) + Chunk("IDAT", "") + end,
       "zlib stream"},
      {File(Header(2, 2, 8, 0), {0, 1, 2, 5, 3, 4}), "filter (5)"},
  };
  for (const auto& [file, reason] : cases) {
    const Decoded decoded = Open(file);
    EXPECT_EQ(decoded.status.code(), StatusCode::kDataLoss) << reason;
    EXPECT_NE(decoded.status.message().find(reason), std::string::npos)
        << decoded.status.message();
  }
  EXPECT_EQ(Open(File(Header(2, 2, 8, 0) + Chunk("CgBI", "abcd"), rows))
                .status.code(),
            StatusCode::kUnimplemented);
}

TEST(PngTest, EveryFlippedBitIsNoticedOrHarmless) {
  const ImageInfo info = Info(5, 6, 3);
  const Bytes pixels = MakePixels(info, 2);
  std::string file;
  ASSERT_TRUE(
      Encode(Format::kPng, EncodeOptions(), info, pixels.data(), &file).ok());
  for (size_t i = 0; i < file.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_FALSE(Open(damaged).status.ok()) << "byte " << i;
    }
  }
}

TEST(PngTest, LevelsTradeTimeForSize) {
  const ImageInfo info = Info(64, 64, 3);
  const Bytes pixels = MakePixels(info, 2);
  size_t sizes[3];
  const int levels[3] = {0, 6, 12};
  for (int i = 0; i < 3; ++i) {
    EncodeOptions options;
    options.png_level = levels[i];
    std::string file;
    ASSERT_TRUE(Encode(Format::kPng, options, info, pixels.data(), &file).ok());
    EXPECT_EQ(Open(file).pixels, pixels);
    sizes[i] = file.size();
  }
  EXPECT_GT(sizes[0], info.PixelBytes());
  EXPECT_LT(sizes[1], sizes[0]);
  EXPECT_LE(sizes[2], sizes[1]);
}

}  // namespace
}  // namespace liquid::png_test
