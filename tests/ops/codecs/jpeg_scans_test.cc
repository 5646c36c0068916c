// Scans of hand-made files, byte by byte.
#include "ops/codecs/jpeg/jpeg_scans.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/ops/codecs/codec_testing.h"

namespace liquid::jpeg_scans_test {
namespace {

using std::string_literals::operator""s;

// Markers with a length field and two bytes; the bytes are never looked at.
const std::string kSoi = "\xff\xd8";
const std::string kEoi = "\xff\xd9";
const std::string kApp0 = "\xff\xe0\x00\x04JF"s;
const std::string kFrame = "\xff\xc2\x00\x04\x01\x02"s;
const std::string kTable = "\xff\xc4\x00\x04\x03\x04"s;
const std::string kSos = "\xff\xda\x00\x04\x05\x06"s;

std::vector<std::string> Split(const std::string& jpeg) {
  std::vector<ByteSpan> chunks;
  const Status status = SplitScans(SpanIn(jpeg), &chunks);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::string> texts;
  for (const ByteSpan& chunk : chunks) {
    texts.emplace_back(reinterpret_cast<const char*>(chunk.data), chunk.size);
  }
  return texts;
}

std::string Error(const std::string& jpeg) {
  std::vector<ByteSpan> chunks;
  const Status status = SplitScans(SpanIn(jpeg), &chunks);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  return status.message();
}

TEST(JpegScansTest, TablesBelongToTheScanBehindThem) {
  const std::string first = kSoi + kApp0 + kFrame + kTable + kSos + "one";
  const std::string second = kTable + kTable + kSos + "two";
  const std::string third = kSos + "three";
  EXPECT_EQ(Split(first + kEoi), std::vector<std::string>{first});
  EXPECT_EQ(Split(first + second + third + kEoi),
            (std::vector<std::string>{first, second, third}));
}

TEST(JpegScansTest, WhatFollowsTheEndIsDropped) {
  const std::string first = kSoi + kSos + "one";
  for (const std::string& rest : {"rest"s, kSoi + kSos + "2" + kEoi, kEoi}) {
    EXPECT_EQ(Split(first + kEoi + rest), std::vector<std::string>{first});
  }
}

TEST(JpegScansTest, WhatFollowsTheLastScanIsDropped) {
  const std::string first = kSoi + kSos + "one";
  const std::string last = kSos + "two";
  EXPECT_EQ(Split(first + last + kApp0 + kTable + kEoi),
            (std::vector<std::string>{first, last}));
}

TEST(JpegScansTest, DataHoldStuffedBytesRestartsAndFill) {
  const std::string data = "a\xff\x00"s + "b\xff\xd0\xff\xd7\xff\xff\x00"s;
  const std::string first = kSoi + kSos + data;
  const std::string second = "\xff\xff" + kSos + "two";
  EXPECT_EQ(Split(first + second + "\xff\xff" + kEoi),
            (std::vector<std::string>{first, second}));
}

TEST(JpegScansTest, PaddingBetweenSegmentsIsPassedOver) {
  const std::string first = kSoi + "x\xff\x00"s + kTable + "y" + kSos + "one";
  EXPECT_EQ(Split(first + kEoi), std::vector<std::string>{first});
}

TEST(JpegScansTest, NoScanIsFoundInAThumbnail) {
  const std::string inner = kSoi + kSos + "x" + kEoi;
  const std::string app =
      "\xff\xe1"s + '\0' + static_cast<char>(inner.size() + 2) + inner;
  const std::string first = kSoi + app + kSos + "one";
  EXPECT_EQ(Split(first + kEoi), std::vector<std::string>{first});
}

TEST(JpegScansTest, ErrorsNameTheOffset) {
  EXPECT_EQ(Error(""), "jpeg: no SOI at offset 0");
  EXPECT_EQ(Error("\xff\xd9"), "jpeg: no SOI at offset 0");
  EXPECT_EQ(Error(kSoi), "jpeg: the file ends without EOI at offset 2");
  EXPECT_EQ(Error(kSoi + "x"), "jpeg: the file ends without EOI at offset 3");
  EXPECT_EQ(Error(kSoi + kEoi), "jpeg: EOI before any scan at offset 2");
  EXPECT_EQ(Error(kSoi + kSoi), "jpeg: a second SOI at offset 2");
  EXPECT_EQ(Error(kSoi + "\xff\xe0\x00\x01x"s),
            "jpeg: a segment of 1 bytes at offset 4");
  EXPECT_EQ(Error(kSoi + "\xff\xe0\xff\xff"s),
            "jpeg: a segment of 65535 bytes at offset 4");
  EXPECT_EQ(Error(kSoi + kSos + "data"),
            "jpeg: the file ends without EOI at offset 12");
}

TEST(JpegScansTest, EveryTruncationIsAnError) {
  const std::string file = kSoi + kApp0 + kFrame + kTable + kSos +
                           "a\xff\x00"s + kTable + kSos + "b" + kEoi;
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(Error(file.substr(0, size)), "") << size;
  }
}

TEST(JpegScansTest, CountsScansUpToTheEndOrDamage) {
  const std::string scans = kSoi + kApp0 + kFrame + kSos + "a\xff\x00"s +
                            kTable + kSos + "b\xff\xd0"s + kSos;
  EXPECT_EQ(CountScans(SpanIn(scans + kEoi + kSos + kEoi)), 3);
  EXPECT_EQ(CountScans(SpanIn(scans)), 3);
  EXPECT_EQ(CountScans(SpanIn(scans + "\xff\xe0\xff\xff"s + kSos)), 3);
  EXPECT_EQ(CountScans(SpanIn(kSoi + kEoi)), 0);
  EXPECT_EQ(CountScans(ByteSpan()), 0);
}

}  // namespace
}  // namespace liquid::jpeg_scans_test
