// Gray files as colour ones: the same pixels, three times.
#include "ops/codecs/jpeg/jpeg_color.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/jpeg/jpeg_progressive.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/codecs/pixels.h"
#include "ops/image/transcode.h"
#include "tests/ops/codecs/jpeg_testing.h"
#include "tests/ops/image/changes_testing.h"

namespace liquid::jpeg_color_test {
namespace {

const JpegKind kGrayKinds[] = {
    {"Baseline", 1, 1, 1},
    {"Sampled", 1, 2, 2},
    {"SampledOddly", 1, 3, 1},
    {"Progressive", 1, 1, 1, true},
    {"SampledProgressive", 1, 2, 2, true},
    {"Arithmetic", 1, 1, 1, false, true},
    {"Restarts", 1, 1, 1, false, false, 3},
};

std::string Colored(const std::string& gray) {
  std::string color = "what was there";
  const Status status = GrayToColor(SpanIn(gray), DecodeLimits(), &color);
  EXPECT_TRUE(status.ok()) << status.message();
  return color;
}

void ExpectGray(const std::string& color, const std::string& gray) {
  ImageInfo info, gray_info;
  Bytes pixels, gray_pixels;
  ASSERT_TRUE(DecodeFile(Format::kJpeg, gray, &gray_info, &gray_pixels).ok());
  const Status status = DecodeFile(Format::kJpeg, color, &info, &pixels);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(info.channels, 3);
  ASSERT_EQ(info.width, gray_info.width);
  ASSERT_EQ(pixels.size(), 3 * gray_pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_EQ(pixels[i], gray_pixels[i / 3]) << i;
  }
}

class JpegColorTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegColorTest, RepeatsTheGray) {
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 90}, {90, 7}, {64, 64}, {97, 131}}) {
    const ImageInfo info = Info(height, width, 1);
    const std::string gray =
        WriteJpeg(GetParam(), info, MakePixels(info, 3, 90));
    const std::string color = Colored(gray);
    ExpectGray(color, gray);
    std::string progressive;
    ASSERT_TRUE(
        ToProgressive(SpanIn(color), DecodeLimits(), &progressive).ok());
    ExpectGray(progressive, gray);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegColorTest, testing::ValuesIn(kGrayKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegColorTest, WhatScansLeaveImpreciseStaysSo) {
  const ImageInfo info = Info(97, 131, 1);
  const std::string whole =
      WriteJpeg({"", 1, 1, 1, true}, info, MakePixels(info, 3, 90));
  std::vector<ByteSpan> chunks;
  ASSERT_TRUE(SplitScans(SpanIn(whole), &chunks).ok());
  for (const ByteSpan& chunk : chunks) {
    const char* end = reinterpret_cast<const char*>(chunk.data) + chunk.size;
    const std::string gray = std::string(whole.data(), end) + "\xff\xd9";
    const std::string color = Colored(gray);
    ExpectGray(color, gray);
    std::string progressive;
    ASSERT_TRUE(
        ToProgressive(SpanIn(color), DecodeLimits(), &progressive).ok());
    ExpectGray(progressive, gray);
  }
}

// As a conversion with channels=3 stores it.
TEST(JpegColorTest, TranscodingKeepsThePixels) {
  const ImageInfo info = Info(97, 131, 1);
  for (const JpegKind& kind : kGrayKinds) {
    const std::string gray = WriteJpeg(kind, info, MakePixels(info, 3, 90));
    Scan source;
    ASSERT_TRUE(
        ScanImage(SpanIn(gray), DecodeLimits(), ChangesTo(3), &source).ok());
    for (const Format target : {Format::kJpeg, Format::kPcr}) {
      std::string encoded;
      Scan result;
      const Status status =
          Transcode(SpanIn(gray), DecodeLimits(), ChangesTo(3), target,
                    EncodeOptions(), &encoded, &result);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(result.pixels_hash, source.pixels_hash) << kind.name;
      ExpectGray(encoded, gray);
    }
  }
}

TEST(JpegColorTest, WhatIsNotGrayOrDamagedIsRefused) {
  const ImageInfo info = Info(16, 24, 3), gray_info = Info(16, 24, 1);
  const std::string color = WriteJpeg({"", 3, 1, 1}, info, MakePixels(info, 1));
  std::string out;
  EXPECT_EQ(GrayToColor(SpanIn(color), DecodeLimits(), &out).code(),
            StatusCode::kInvalidArgument);
  const std::string gray =
      WriteJpeg({"", 1, 1, 1}, gray_info, MakePixels(gray_info, 1));
  for (size_t size = 0; size < gray.size(); ++size) {
    EXPECT_EQ(
        GrayToColor(SpanIn(gray.substr(0, size)), DecodeLimits(), &out).code(),
        StatusCode::kDataLoss)
        << size;
  }
}

}  // namespace
}  // namespace liquid::jpeg_color_test
