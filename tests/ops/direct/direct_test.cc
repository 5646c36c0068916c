// The functions that Python calls without an op.
#include "ops/direct/direct.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/containers/pcr/pcr_record.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::direct_test {
namespace {

using std::string_literals::operator""s;

LiquidBytes Of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Room for a sentence of `size - 1` bytes.
class Sentence {
 public:
  explicit Sentence(size_t size = 512) : text_(size, 'x') {}
  LiquidProblem problem() { return {text_.data(), text_.size()}; }
  std::string text() const { return text_.data(); }

 private:
  std::vector<char> text_;
};

LiquidImage ImageOf(Format format, const ImageInfo& info) {
  return {static_cast<int32_t>(format),
          info.height,
          info.width,
          info.channels,
          info.bits,
          uint64_t{1} << 28,
          100};
}

std::string EncodeAs(Format format, const ImageInfo& info,
                     const Bytes& pixels) {
  std::string file;
  EXPECT_TRUE(Encode(format, {}, info, pixels.data(), &file).ok());
  return file;
}

TEST(DirectTest, Crc32cIsTheStandardsAndGoesOn) {
  EXPECT_EQ(liquid_direct_crc32c(Of("123456789"), 0), 0xe3069283u);
  const uint32_t begun = liquid_direct_crc32c(Of("1234"), 0);
  EXPECT_EQ(liquid_direct_crc32c(Of("56789"), begun), 0xe3069283u);
  EXPECT_EQ(liquid_direct_crc32c({nullptr, 0}, 7), 7u);
}

TEST(DirectTest, DecodesEveryFormatAndDepth) {
  for (const Format format : {Format::kRaw, Format::kPng, Format::kL3,
                              Format::kL3Compact, Format::kWebp}) {
    for (const int bits : {8, 16}) {
      if (format == Format::kWebp && bits == 16) continue;
      const ImageInfo info = Info(37, 41, 3, bits);
      const Bytes pixels = MakePixels(info, 5);
      const std::string file = EncodeAs(format, info, pixels);
      for (const int32_t number : {static_cast<int32_t>(format), -1}) {
        LiquidImage image = ImageOf(format, info);
        image.format = number;
        Bytes found(pixels.size());
        Sentence said;
        EXPECT_TRUE(liquid_direct_decode(Of(file), Of(""), &image, found.data(),
                                         said.problem()))
            << said.text();
        EXPECT_EQ(found, pixels) << FormatName(format) << " " << bits;
      }
    }
  }
}

TEST(DirectTest, RefusesWhatTheBufferIsNotFor) {
  const ImageInfo info = Info(8, 9, 3);
  const std::string file = EncodeAs(Format::kL3, info, MakePixels(info, 1));
  Bytes pixels(4 * info.PixelBytes(), 77);
  const auto why = [&](const LiquidImage& image, const std::string& bytes) {
    Sentence said;
    EXPECT_FALSE(liquid_direct_decode(Of(bytes), Of(""), &image, pixels.data(),
                                      said.problem()));
    return said.text();
  };
  LiquidImage image = ImageOf(Format::kL3, info);
  image.height = 7;
  EXPECT_NE(why(image, file), "");
  image = ImageOf(Format::kL3, info);
  image.channels = 0;
  EXPECT_EQ(why(image, file),
            "channels (0) must be 1 to 4, and bits (8) 8 or 16");
  image.channels = 259;  // Of 8 bits these would be 3.
  EXPECT_NE(why(image, file), "");
  image = ImageOf(Format::kL3, info);
  image.bits = 12;
  EXPECT_NE(why(image, file), "");
  image = ImageOf(Format::kL3, info);
  image.format = static_cast<int32_t>(kLastFormat) + 1;
  EXPECT_NE(why(image, file), "");
  image.format = -1;
  EXPECT_NE(why(image, "no image"), "");
  image = ImageOf(Format::kL3, info);
  image.max_pixels = 71;
  EXPECT_NE(why(image, file), "");
  EXPECT_NE(why(ImageOf(Format::kPng, info), file), "");
  EXPECT_NE(why(ImageOf(Format::kL3, info), file.substr(0, file.size() - 3)),
            "");
  EXPECT_EQ(pixels.back(), 77);
}

TEST(DirectTest, SentencesAreCutOff) {
  const ImageInfo info = Info(8, 9, 3);
  LiquidImage image = ImageOf(Format::kL3, info);
  image.channels = 0;
  Bytes pixels(info.PixelBytes());
  Sentence said(10), none(1);
  EXPECT_FALSE(liquid_direct_decode(Of(""), Of(""), &image, pixels.data(),
                                    said.problem()));
  EXPECT_EQ(said.text(), "channels ");
  EXPECT_FALSE(liquid_direct_decode(Of(""), Of(""), &image, pixels.data(),
                                    none.problem()));
  EXPECT_EQ(none.text(), "");
}

// Two hand-made images, of three scans and of one.
class DirectPcrTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<PcrImage> images = {
        {ByteSpan(kLong.data(), kLong.size()), 3,
         ByteSpan(kExample.data(), kExample.size())},
        {ByteSpan(kShort.data(), kShort.size()), -1, ByteSpan()}};
    ASSERT_TRUE(WritePcr(images, {}, &record_, &entry_).ok());
  }

  bool Find(uint64_t images) {
    const LiquidPcr pcr = {Of(record_), entry_.lengths.data(),
                           entry_.crc32cs.data(), entry_.lengths.size(),
                           images};
    chunks_.assign(2 * images * (entry_.lengths.size() - 1), 0);
    examples_.assign(2 * images, 0);
    labels_.assign(images, 0);
    const LiquidPcrPlaces places = {chunks_.data(), examples_.data(),
                                    labels_.data()};
    return liquid_direct_pcr(&pcr, &places, said_.problem());
  }

  std::string Part(const uint64_t* place) const {
    return record_.substr(place[0], place[1]);
  }

  const std::string kSos = "\xff\xda\x00\x02"s;
  const std::string kScans[3] = {"\xff\xd8" + kSos + "one", kSos + "two",
                                 kSos + "three"};
  const std::string kEnd = "\xff\xd9";
  const std::string kLong = kScans[0] + kScans[1] + kScans[2] + kEnd;
  const std::string kShort = "\xff\xd8" + kSos + "1" + kEnd;
  const std::string kExample = "\x0a\x00"s;  // features, without any
  std::string record_;
  PcrEntry entry_;
  std::vector<uint64_t> chunks_, examples_;
  std::vector<int32_t> labels_;
  Sentence said_;
};

TEST_F(DirectPcrTest, FindsEveryPart) {
  ASSERT_TRUE(Find(2)) << said_.text();
  EXPECT_EQ(labels_, (std::vector<int32_t>{3, -1}));
  ASSERT_EQ(chunks_.size(), 12u);
  for (size_t group = 0; group < 3; ++group) {
    EXPECT_EQ(Part(&chunks_[4 * group]), kScans[group]);
    EXPECT_EQ(Part(&chunks_[4 * group + 2]),
              group == 0 ? "\xff\xd8" + kSos + "1" : "");
  }
  EXPECT_EQ(Part(&examples_[0]), kExample);
  EXPECT_EQ(Part(&examples_[2]), "");
}

TEST_F(DirectPcrTest, SaysWhatIsWrong) {
  EXPECT_FALSE(Find(3));
  EXPECT_EQ(said_.text(), "pcr: the record has 2 images, its manifest says 3");
  record_[record_.size() - 1] ^= 1;
  EXPECT_FALSE(Find(2));
  EXPECT_NE(said_.text().find("CRC-32C of scan group 3"), std::string::npos);
  record_.resize(record_.size() - 1);
  EXPECT_FALSE(Find(2));
  EXPECT_NE(said_.text().find("the record ends"), std::string::npos);
  entry_.lengths.resize(1);
  EXPECT_FALSE(Find(2));
  EXPECT_EQ(said_.text(), "parts (1) must be at least 2");
}

}  // namespace
}  // namespace liquid::direct_test
