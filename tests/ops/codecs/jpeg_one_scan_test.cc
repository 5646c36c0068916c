// The transform to files of one scan: coefficients, markers, and what stays.
#include "ops/codecs/jpeg/jpeg_one_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/jpeg/jpeg_progressive.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/image/transcode.h"
#include "tests/ops/codecs/jpeg_testing.h"
#include "tests/ops/image/changes_testing.h"

namespace liquid::jpeg_one_scan_test {
namespace {

const JpegKind kKindsOfScans[] = {
    {"GrayProgressive", 1, 1, 1, true},
    {"GrayOfFourProgressive", 1, 2, 2, true},
    {"S444Progressive", 3, 1, 1, true},
    {"S422Progressive", 3, 2, 1, true},
    {"S420Progressive", 3, 2, 2, true},
    {"S420ProgressiveRestarts", 3, 2, 2, true, false, 3},
    {"S420Apart", 3, 2, 2, false, false, 0, 85, false, true},
    {"S444ApartRestarts", 3, 1, 1, false, false, 5, 85, false, true},
};

std::string Joined(const std::string& file) {
  std::string one = "what was there";
  const Status status = ToOneScan(SpanIn(file), &one);
  EXPECT_TRUE(status.ok()) << status.message();
  return one;
}

// A file of the same coefficients and tables is this one.
std::string Progressive(const std::string& file) {
  std::string progressive;
  const Status status =
      ToProgressive(SpanIn(file), DecodeLimits(), &progressive);
  EXPECT_TRUE(status.ok()) << status.message();
  return progressive;
}

class JpegOneScanTest : public testing::TestWithParam<JpegKind> {};

TEST_P(JpegOneScanTest, KeepsCoefficientsAndPixels) {
  const JpegKind& kind = GetParam();
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 90}, {90, 7}, {64, 64}, {97, 131}}) {
    const ImageInfo info = Info(height, width, kind.channels);
    const std::string file = WriteJpeg(kind, info, MakePixels(info, 3, 90));
    ASSERT_TRUE(HasScans(SpanIn(file)));
    const std::string one = Joined(file);
    EXPECT_FALSE(HasScans(SpanIn(one)));
    EXPECT_EQ(CountScans(SpanIn(one)), 1);
    EXPECT_EQ(Progressive(one), Progressive(file));
    EXPECT_EQ(Joined(one), one);
    Bytes pixels, own;
    const Window whole = {0, 0, info.height, info.width};
    ASSERT_TRUE(DecodeByLibrary(file, info, 1, whole, &pixels).ok());
    bool decodes = false;
    EXPECT_EQ(DecodeOwn(one, 1, whole, &decodes, &own), "");
    // A plane of few columns is the library's.
    EXPECT_TRUE(decodes || width == 1 || width == 7);
    if (!decodes) {
      ASSERT_TRUE(DecodeByLibrary(one, info, 1, whole, &own).ok());
    }
    EXPECT_EQ(own, pixels) << height << " x " << width;
  }
}

TEST_P(JpegOneScanTest, IsMadeByTranscodeWhereItIsAsked) {
  const JpegKind& kind = GetParam();
  const ImageInfo info = Info(40, 50, kind.channels);
  const std::string file = WriteJpeg(kind, info, MakePixels(info, 3, 90));
  Scan scan, result;
  ASSERT_TRUE(ScanImage(SpanIn(file), DecodeLimits(), {}, &scan).ok());
  EncodeOptions options;
  std::string encoded;
  for (const bool asked : {false, true}) {
    options.jpeg_one_scan = asked;
    ASSERT_TRUE(Transcode(SpanIn(file), DecodeLimits(), {}, Format::kJpeg,
                          options, &encoded, &result)
                    .ok());
    EXPECT_EQ(encoded, asked ? Joined(file) : file);
    EXPECT_EQ(result.pixels_hash, scan.pixels_hash);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JpegOneScanTest,
                         testing::ValuesIn(kKindsOfScans),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(JpegOneScanTest, OtherFilesStay) {
  const ImageInfo info = Info(50, 60, 3);
  const Bytes pixels = MakePixels(info, 2, 90);
  const std::string progressive = WriteJpeg({"", 3, 2, 2, true}, info, pixels);
  std::vector<ByteSpan> chunks;
  ASSERT_TRUE(SplitScans(SpanIn(progressive), &chunks).ok());
  const auto* fifth = reinterpret_cast<const char*>(chunks[4].data);
  const std::string files[] = {
      WriteJpeg({"", 3, 2, 2}, info, pixels) + "behind the end",
      WriteJpeg({"", 3, 2, 2, false, true}, info, pixels),
      WriteJpeg({"", 3, 2, 2, true, true}, info, pixels),
      // Lacks scans, so a decoder smooths it.
      std::string(progressive.data(), fifth + chunks[4].size) + "\xff\xd9",
      // Eighteen blocks in an MCU.
      WriteJpeg({"", 3, 4, 4, false, false, 0, 85, false, true}, info, pixels),
      "no JPEG",
      "",
  };
  for (const std::string& file : files) EXPECT_EQ(Joined(file), file);
}

TEST(JpegOneScanTest, MarkersBeforeTheScanAreKept) {
  const ImageInfo info = Info(50, 60, 3);
  std::string file =
      WriteJpeg({"", 3, 2, 2, true}, info, MakePixels(info, 2, 90));
  const std::string jfif = file.substr(2, 18);
  ASSERT_EQ(jfif.substr(4, 4), "JFIF");
  const std::string more(
      "\xff\xe1\x00\x0a"
      "Exif\0\0ab"
      "\xff\xe2\x00\x06"
      "\xff\xd8"
      "cc"
      "\xff\xfe\x00\x02",
      24);
  file.insert(20, more);
  const std::string one = Joined(file + "behind the end");
  EXPECT_EQ(one.substr(2, 18 + more.size()), jfif + more);
  // Tables follow, and no second JFIF.
  EXPECT_EQ(one.substr(2 + 18 + more.size(), 2), "\xff\xdb");
  EXPECT_EQ(FindAppSegments(SpanIn(one)).size(), 4);
}

TEST(JpegOneScanTest, DamageIsSaid) {
  const ImageInfo info = Info(64, 64, 3);
  const std::string file =
      WriteJpeg({"", 3, 2, 2, true}, info, MakePixels(info, 2, 90));
  std::string out;
  EXPECT_EQ(ToOneScan(SpanIn(file.substr(0, file.size() - 40)), &out).code(),
            StatusCode::kDataLoss);
}

}  // namespace
}  // namespace liquid::jpeg_one_scan_test
