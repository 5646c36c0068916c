// The transform to progressive files: pixels, scans, and what is refused.
#include "ops/codecs/jpeg/jpeg_progressive.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/image/transcode.h"
#include "tests/ops/codecs/jpeg_testing.h"
#include "tests/ops/image/changes_testing.h"

namespace liquid::jpeg_progressive_test {
namespace {

std::vector<ByteSpan> Split(const std::string& file) {
  std::vector<ByteSpan> chunks;
  const Status status = SplitScans(SpanIn(file), &chunks);
  EXPECT_TRUE(status.ok()) << status.message();
  return chunks;
}

// The file that the first scans make.
std::string Prefix(const std::string& file, size_t scans) {
  const ByteSpan last = Split(file)[scans - 1];
  const char* end = reinterpret_cast<const char*>(last.data) + last.size;
  return std::string(file.data(), end) + "\xff\xd9";
}

std::string Transformed(const std::string& file) {
  std::string progressive = "what was there";
  const Status status =
      ToProgressive(SpanIn(file), DecodeLimits(), &progressive);
  EXPECT_TRUE(status.ok()) << status.message();
  return progressive;
}

class JpegProgressiveTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegProgressiveTest, KeepsThePixels) {
  const JpegKind& kind = GetParam();
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 90}, {90, 7}, {64, 64}, {97, 131}}) {
    const ImageInfo info = Info(height, width, kind.channels);
    const std::string file = WriteJpeg(kind, info, MakePixels(info, 3, 90));
    const std::string progressive = Transformed(file);
    ImageInfo before, after;
    Bytes pixels, kept;
    ASSERT_TRUE(DecodeFile(Format::kJpeg, file, &before, &pixels).ok());
    ASSERT_TRUE(DecodeFile(Format::kJpeg, progressive, &after, &kept).ok());
    EXPECT_EQ(kept, pixels) << height << " x " << width;
    EXPECT_EQ(Split(progressive).size(), kind.channels == 1 ? 6 : 10);
    EXPECT_EQ(Transformed(progressive), progressive);
  }
}

TEST_P(JpegProgressiveTest, EveryPrefixDecodesWholeAndInWindows) {
  const JpegKind& kind = GetParam();
  Noise noise(11);
  const ImageInfo info = Info(70, 131, kind.channels);
  const std::string progressive =
      Transformed(WriteJpeg(kind, info, MakePixels(info, 4, 90)));
  for (size_t scans = 1; scans <= Split(progressive).size(); ++scans) {
    const std::string file = Prefix(progressive, scans);
    ImageInfo found;
    Bytes whole;
    Status status = DecodeFile(Format::kJpeg, file, &found, &whole);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int i = 0; i < 40; ++i) {
      const Window window = RandomWindow(info, &noise);
      Bytes crop;
      status = DecodeWindow(Format::kJpeg, file, info, window, &crop);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(crop, Crop(info, whole, window))
          << scans << " scans: y " << window.y << ", x " << window.x << ", "
          << window.height << " x " << window.width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegProgressiveTest,
                         testing::ValuesIn(kJpegKinds), [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegProgressiveTest, RgbHasAScriptOfItsOwn) {
  const ImageInfo info = Info(40, 40, 3);
  JpegCompressor library(info, JCS_RGB);
  jpeg_set_colorspace(library.get(), JCS_RGB);
  library.WritePixels(MakePixels(info, 1));
  const std::string file = library.Finish();

  const std::string progressive = Transformed(file);
  EXPECT_EQ(Split(progressive).size(), 14);
  ImageInfo found;
  Bytes before, after;
  ASSERT_TRUE(DecodeFile(Format::kJpeg, file, &found, &before).ok());
  ASSERT_TRUE(DecodeFile(Format::kJpeg, progressive, &found, &after).ok());
  EXPECT_EQ(before, after);
}

TEST(JpegProgressiveTest, ImpreciseFilesAreKept) {
  const ImageInfo info = Info(50, 60, 3);
  const std::string whole = Transformed(
      WriteJpeg({"", 3, 2, 2, true}, info, MakePixels(info, 2, 90)));
  const std::string partial = Prefix(whole, 5);
  EXPECT_EQ(Transformed(partial), partial);
  EXPECT_EQ(Transformed(partial + "behind the end"), partial);
}

TEST(JpegProgressiveTest, MarkersAndTrailingBytesAreDropped) {
  const ImageInfo info = Info(50, 60, 3);
  const std::string file =
      WriteJpeg({"", 3, 2, 2}, info, MakePixels(info, 2, 90));
  std::string marked = file;
  marked.insert(2, std::string("\xff\xe1\x00\x0a"
                               "Exif\0\0ab\xff\xfe\x00\x04"
                               "cd",
                               18));
  EXPECT_EQ(Transformed(marked + "behind the end"), Transformed(file));
}

TEST(JpegProgressiveTest, WhatCannotBeDecodedIsRefused) {
  const ImageInfo info = Info(16, 24, 4);
  const std::string cmyk =
      WriteJpeg({"", 4, 1, 1}, info, MakePixels(info, 1), JCS_CMYK);
  std::string out;
  EXPECT_EQ(ToProgressive(SpanIn(cmyk), DecodeLimits(), &out).code(),
            StatusCode::kUnimplemented);
  const ImageInfo gray = Info(16, 24, 1);
  const std::string file = WriteJpeg({"", 1, 1, 1}, gray, MakePixels(gray, 1));
  DecodeLimits limits;
  limits.max_pixels = 16 * 24 - 1;
  EXPECT_EQ(ToProgressive(SpanIn(file), limits, &out).code(),
            StatusCode::kResourceExhausted);
  std::string twelve_bits = file;
  twelve_bits[file.find("\xff\xc0") + 4] = 12;
  EXPECT_EQ(ToProgressive(SpanIn(twelve_bits), DecodeLimits(), &out).code(),
            StatusCode::kUnimplemented);
}

// Each scan costs a pass over the image, however few bytes it has.
TEST(JpegProgressiveTest, ScansOverTheLimitAreRefused) {
  const ImageInfo info = Info(64, 64, 1);
  const std::string file =
      Transformed(WriteJpeg({"", 1, 1, 1}, info, MakePixels(info, 1)));
  const std::vector<ByteSpan> chunks = Split(file);
  const auto text = [](ByteSpan bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
  };
  std::string many = text(chunks[0]);
  for (int i = 0; i < 99; ++i) many += text(chunks[1]);
  DecodeLimits limits;
  ImageInfo found;
  Scan scan;
  std::string out;
  EXPECT_TRUE(ScanImage(SpanIn(many + "\xff\xd9"), limits, {}, &scan).ok());
  many += text(chunks[1]) + "\xff\xd9";
  Bytes pixels(info.PixelBytes());
  const Window whole = {0, 0, 64, 64}, part = {3, 4, 5, 6};
  const auto decode = [&](const Window& window) {
    return Decode(Format::kPcr, SpanIn(many), limits, info, window,
                  pixels.data(), info.RowBytes());
  };
  for (const Status& status :
       {Peek(Format::kJpeg, SpanIn(many), limits, &found), decode(whole),
        decode(part), ScanImage(SpanIn(many), limits, {}, &scan),
        Transcode(SpanIn(many), limits, ChangesTo(3), Format::kPcr,
                  EncodeOptions(), &out, &scan),
        ToProgressive(SpanIn(many), limits, &out)}) {
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.message(),
              "jpeg: 101 scans are over the limit of 100: raise it with "
              "limits=Limits(scans=N)");
  }
  limits.max_scans = 101;
  EXPECT_TRUE(decode(whole).ok());
}

TEST(JpegProgressiveTest, EveryTruncationIsAnError) {
  const ImageInfo info = Info(16, 24, 3);
  for (const bool progressive : {false, true}) {
    const std::string file =
        WriteJpeg({"", 3, 2, 2, progressive}, info, MakePixels(info, 1));
    for (size_t size = 0; size < file.size(); ++size) {
      std::string out;
      const Status status =
          ToProgressive(SpanIn(file.substr(0, size)), DecodeLimits(), &out);
      ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    }
  }
}

}  // namespace
}  // namespace liquid::jpeg_progressive_test
