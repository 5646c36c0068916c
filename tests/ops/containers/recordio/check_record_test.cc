#include "ops/containers/recordio/check_record.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/codecs/codec.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/core/crc32c.h"

namespace liquid::check_record_test {
namespace {

ByteSpan SpanIn(const std::string& text) {
  return ByteSpan(text.data(), text.size());
}

class CheckRecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // With a magic at an aligned offset, so that the record has two fragments.
    image_ = "some" + std::string("\x0a\x23\xd7\xce", 4) + "image";
    example_ = "example";
    SampleRecord sample;
    sample.id = 5;
    sample.labels = {3.0f};
    sample.image = SpanIn(image_);
    sample.example = SpanIn(example_);
    std::string payload;
    ASSERT_TRUE(AppendSamplePayload(sample, &payload).ok());
    ASSERT_TRUE(AppendRecord(SpanIn(payload), &framed_).ok());
    row_.sample = 5;
    row_.length = framed_.size();
    row_.crc32c = Crc32c(SpanIn(framed_));
  }

  Status Check() {
    return CheckRecord(SpanIn(framed_), row_, &scratch_, &sample_);
  }

  std::string image_, example_, framed_, scratch_;
  IndexRow row_;
  SampleRecord sample_;
};

TEST_F(CheckRecordTest, GivesTheSample) {
  const Status status = Check();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(sample_.id, 5u);
  EXPECT_EQ(sample_.labels, std::vector<float>{3.0f});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(sample_.image.data),
                        sample_.image.size),
            image_);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(sample_.example.data),
                        sample_.example.size),
            example_);
}

TEST_F(CheckRecordTest, FindsEveryFlippedBit) {
  for (size_t i = 0; i < framed_.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      framed_[i] = static_cast<char>(framed_[i] ^ 1 << bit);
      const Status status = Check();
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << i;
      EXPECT_NE(status.message().find("CRC-32C"), std::string::npos);
      framed_[i] = static_cast<char>(framed_[i] ^ 1 << bit);
    }
  }
}

TEST_F(CheckRecordTest, FindsAnotherLength) {
  framed_.resize(framed_.size() - 4);
  const Status status = Check();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find(std::to_string(row_.length)),
            std::string::npos);
}

TEST_F(CheckRecordTest, FindsAnotherSample) {
  row_.sample = 6;
  const Status status = Check();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("sample 6"), std::string::npos);
}

TEST_F(CheckRecordTest, FindsBadFramingUnderARightChecksum) {
  framed_[0] = 'x';
  row_.crc32c = Crc32c(SpanIn(framed_));
  const Status status = Check();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("magic"), std::string::npos);
}

TEST(CheckIndexTest, ComparesItWithTheFile) {
  const DecodeLimits limits;
  const ImageInfo info = {40, 50, 3, 8};
  std::vector<uint8_t> pixels(info.PixelBytes());
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  }
  std::string jpeg, index, rows;
  ASSERT_TRUE(
      Encode(Format::kJpeg, EncodeOptions(), info, pixels.data(), &jpeg).ok());
  ASSERT_TRUE(AppendJpegIndex(SpanIn(jpeg), limits, 2, &index).ok());
  ASSERT_TRUE(AppendJpegIndex(SpanIn(jpeg), limits, kJpegIndexRow, &rows).ok());
  SampleRecord sample;
  sample.image = SpanIn(jpeg);
  IndexRow row;
  row.format = static_cast<uint8_t>(Format::kJpeg);
  for (const std::string* good : {&index, &rows}) {
    sample.index = SpanIn(*good);
    EXPECT_TRUE(CheckIndex(sample, row, limits).ok());
  }
  row.format = static_cast<uint8_t>(Format::kPng);
  EXPECT_EQ(CheckIndex(sample, row, limits).message(),
            "an index of a JPEG stands behind its image, which is png");
  sample.index = {};
  EXPECT_TRUE(CheckIndex(sample, row, limits).ok());
  row.format = static_cast<uint8_t>(Format::kJpeg);
  EXPECT_TRUE(CheckIndex(sample, row, limits).ok());
  for (size_t i = 0; i < index.size(); ++i) {
    std::string bad = index;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    sample.index = SpanIn(bad);
    EXPECT_EQ(CheckIndex(sample, row, limits).code(), StatusCode::kDataLoss)
        << i;
  }
}

}  // namespace
}  // namespace liquid::check_record_test
