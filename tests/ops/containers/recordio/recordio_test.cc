#include "ops/containers/recordio/recordio.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/containers/recordio/little_endian.h"

namespace liquid::recordio_test {
namespace {

const std::string kMagic("\x0a\x23\xd7\xce", 4);

ByteSpan SpanIn(const std::string& text) {
  return ByteSpan(text.data(), text.size());
}

std::string String(ByteSpan span) {
  return std::string(reinterpret_cast<const char*>(span.data), span.size);
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(
        static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string Framed(const std::string& payload) {
  std::string out;
  const Status status = AppendRecord(SpanIn(payload), &out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(RecordIOTest, GoldenBytes) {
  EXPECT_EQ(Framed(""), FromHex("0a23d7ce00000000"));
  EXPECT_EQ(Framed(kMagic), FromHex("0a23d7ce000000200a23d7ce00000060"));
  EXPECT_EQ(Framed("a" + kMagic), FromHex("0a23d7ce05000000610a23d7ce000000"));
  EXPECT_EQ(Framed("abcd" + kMagic + kMagic + "e"),
            FromHex("0a23d7ce0400002061626364"
                    "0a23d7ce00000040"
                    "0a23d7ce0100006065000000"));
}

TEST(RecordIOTest, AppendsBehindWhatIsThere) {
  std::string out = "before";
  ASSERT_TRUE(AppendRecord(SpanIn("abcd"), &out).ok());
  EXPECT_EQ(out, "before" + FromHex("0a23d7ce0400000061626364"));
}

TEST(RecordIOTest, SplitsAtTheMagicOnlyWhereItIsAligned) {
  for (size_t before = 0; before < 12; ++before) {
    for (size_t after = 0; after < 6; ++after) {
      const std::string payload =
          std::string(before, 'x') + kMagic + std::string(after, 'y');
      const std::string framed = Framed(payload);
      const bool whole = (static_cast<uint8_t>(framed[7]) >> 5) == 0;
      EXPECT_EQ(whole, before % 4 != 0) << before;
      std::string scratch;
      ByteSpan parsed;
      ASSERT_TRUE(ParseRecord(SpanIn(framed), &scratch, &parsed).ok());
      EXPECT_EQ(String(parsed), payload) << before << " " << after;
    }
  }
}

// Payloads over an alphabet of magics and their halves.
TEST(RecordIOTest, RandomPayloadsComeBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string payload;
    const int pieces = static_cast<int>(random() % 12);
    for (int i = 0; i < pieces; ++i) {
      switch (random() % 4) {
        case 0:
          payload += kMagic;
          break;
        case 1:
          payload += kMagic.substr(0, random() % 4);
          break;
        case 2:
          payload += kMagic.substr(random() % 4);
          break;
        default:
          payload += std::string(random() % 9, static_cast<char>(random()));
      }
    }
    const std::string framed = Framed(payload);
    EXPECT_EQ(framed.size() % 4, 0u);
    // No reader that scans for heads can be misled.
    size_t heads = 0;
    for (size_t i = 0; i + 8 <= framed.size(); i += 4) {
      const bool magic = framed.compare(i, 4, kMagic) == 0;
      const int flag = static_cast<uint8_t>(framed[i + 7]) >> 5;
      if (magic && flag <= 1) ++heads;
    }
    EXPECT_EQ(heads, 1u);
    std::string scratch;
    ByteSpan parsed;
    const Status status = ParseRecord(SpanIn(framed), &scratch, &parsed);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(String(parsed), payload);
  }
}

TEST(RecordIOTest, EveryTruncationAndExtensionIsFound) {
  for (const std::string& payload :
       {std::string("hello"), kMagic + "abcd" + kMagic + "z"}) {
    const std::string framed = Framed(payload);
    std::string scratch;
    ByteSpan parsed;
    for (size_t size = 0; size < framed.size(); ++size) {
      const std::string cut = framed.substr(0, size);
      const Status status = ParseRecord(SpanIn(cut), &scratch, &parsed);
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << size;
      EXPECT_NE(status.message().find("offset"), std::string::npos);
    }
    const std::string longer = framed + std::string(4, '\0');
    const Status status = ParseRecord(SpanIn(longer), &scratch, &parsed);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_NE(status.message().find("offset " + std::to_string(framed.size())),
              std::string::npos)
        << status.message();
  }
}

TEST(RecordIOTest, EveryDamagedHeaderByteIsFoundOrKeepsThePayloadsSize) {
  const std::string framed = Framed("hello" + std::string(3, '!'));
  for (size_t i = 0; i < 8; ++i) {
    for (int value = 1; value < 256; ++value) {
      std::string damaged = framed;
      damaged[i] = static_cast<char>(damaged[i] ^ value);
      std::string scratch;
      ByteSpan parsed;
      if (ParseRecord(SpanIn(damaged), &scratch, &parsed).ok()) {
        // Only the three paddable lengths round to the same record.
        EXPECT_EQ(i, 4u);
        EXPECT_GE(parsed.size, 5u);
        EXPECT_LE(parsed.size, 8u);
      }
    }
  }
}

TEST(RecordIOTest, PartFlagsMustFollowEachOther) {
  std::string scratch;
  ByteSpan parsed;
  // middle and last at the start; whole and first inside; an unknown flag.
  for (const char* hex :
       {"0a23d7ce00000040", "0a23d7ce00000060",
        "0a23d7ce000000200a23d7ce00000000", "0a23d7ce000000200a23d7ce00000020",
        "0a23d7ce000000800a23d7ce00000060", "0a23d7ce000000e0"}) {
    EXPECT_EQ(ParseRecord(SpanIn(FromHex(hex)), &scratch, &parsed).code(),
              StatusCode::kDataLoss)
        << hex;
  }
}

TEST(RecordIOTest, PayloadsOf512MiBAreRefused) {
  std::string out;
  const uint8_t byte = 0;
  const Status status =
      AppendRecord(ByteSpan(&byte, size_t{kRecordIOMaxSize} + 1), &out);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(out.empty());
}

std::string Payload(const SampleRecord& sample) {
  std::string out;
  const Status status = AppendSamplePayload(sample, &out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// Begins as an index of a JPEG that has `size` bytes in all.
std::string Index(size_t size) {
  std::string index = "LJX1";
  AppendLittleEndian<uint32_t>(static_cast<uint32_t>(size), &index);
  index.resize(size, 'i');
  return index;
}

TEST(SamplePayloadTest, GoldenBytes) {
  SampleRecord sample;
  sample.id = 0x0102;
  sample.labels = {1.0f};
  const std::string image = "img";
  sample.image = SpanIn(image);
  EXPECT_EQ(Payload(sample), FromHex("00000000"
                                     "0000803f"
                                     "0201000000000000"
                                     "0000000000000000"
                                     "696d67"));
  const std::string example = "ex";
  sample.labels = {1.0f, 2.0f};
  sample.example = SpanIn(example);
  EXPECT_EQ(Payload(sample), FromHex("02000000"
                                     "00000000"
                                     "0201000000000000"
                                     "0300000000000000"
                                     "0000803f00000040"
                                     "696d676578"));
  const std::string index = Index(40);
  sample.index = SpanIn(index);
  const std::string image_and_index = FromHex(
                                          "02000000"
                                          "00000000"
                                          "0201000000000000"
                                          "0300000000000000"
                                          "0000803f00000040"
                                          "696d67"
                                          "4c4a583128000000") +
                                      std::string(32, 'i');
  EXPECT_EQ(Payload(sample), image_and_index + "ex");
  sample.example = {};
  EXPECT_EQ(Payload(sample), image_and_index);
  sample.labels = {};
  EXPECT_EQ(Payload(sample).substr(0, 8), FromHex("000000000000c07f"));
}

TEST(SamplePayloadTest, ComesBack) {
  const std::string image = "image bytes";
  for (size_t labels = 0; labels < 5; ++labels) {
    for (const std::string& index : {std::string(), Index(40), Index(64)}) {
      for (size_t example = 0; example < 3; ++example) {
        SampleRecord sample;
        sample.id = 1 + labels;
        for (size_t i = 0; i < labels; ++i) {
          sample.labels.push_back(static_cast<float>(i) - 0.5f);
        }
        const std::string features(example, 'e');
        sample.image = SpanIn(image);
        sample.index = SpanIn(index);
        sample.example = SpanIn(features);
        const std::string payload = Payload(sample);
        SampleRecord parsed;
        const Status status = ParseSamplePayload(SpanIn(payload), &parsed);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(parsed.id, sample.id);
        EXPECT_EQ(parsed.labels, sample.labels);
        EXPECT_EQ(String(parsed.image), image);
        EXPECT_EQ(String(parsed.index), index);
        EXPECT_EQ(String(parsed.example), features);
      }
    }
  }
}

TEST(SamplePayloadTest, PartsThatCannotBeToldApartAreRefused) {
  const std::string image = "image", index = Index(44), example = "example";
  const std::string longer = index + "1234", cut = index.substr(0, 40);
  const std::string none = "none";
  SampleRecord good;
  good.image = SpanIn(image);
  good.index = SpanIn(index);
  good.example = SpanIn(example);
  std::string out;
  EXPECT_TRUE(AppendSamplePayload(good, &out).ok());
  SampleRecord without_image = good;
  without_image.image = {};
  SampleRecord of_index = without_image, of_example = without_image;
  of_index.example = {};
  of_example.index = {};
  SampleRecord behind = good;
  behind.example = SpanIn(index);
  std::vector<SampleRecord> bad = {without_image, of_index, of_example, behind};
  for (const std::string* wrong : {&longer, &cut, &none}) {
    bad.push_back(good);
    bad.back().index = SpanIn(*wrong);
  }
  for (const SampleRecord& sample : bad) {
    EXPECT_EQ(AppendSamplePayload(sample, &out).code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(SamplePayloadTest, LiesAreFound) {
  SampleRecord parsed;
  const std::string header(24, '\0');
  for (size_t size = 0; size < 24; ++size) {
    EXPECT_EQ(
        ParseSamplePayload(SpanIn(header.substr(0, size)), &parsed).code(),
        StatusCode::kDataLoss);
  }
  std::string many_labels = header;
  many_labels[0] = many_labels[3] = '\xff';
  EXPECT_EQ(ParseSamplePayload(SpanIn(many_labels), &parsed).code(),
            StatusCode::kDataLoss);
  std::string long_image = header + "abc";
  long_image[16] = 4;
  const Status status = ParseSamplePayload(SpanIn(long_image), &parsed);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("offset 16"), std::string::npos);
  long_image[16] = 3;
  EXPECT_TRUE(ParseSamplePayload(SpanIn(long_image), &parsed).ok());
}

TEST(SamplePayloadTest, AnIndexThatDoesNotFitIsFound) {
  std::string header(24, '\0');
  header[16] = 3;
  SampleRecord parsed;
  // Every size that it may say, and every one that is there.
  for (size_t said = 0; said < 60; ++said) {
    for (size_t there = 4; there < 60; ++there) {
      std::string behind = "LJX1";
      AppendLittleEndian<uint32_t>(static_cast<uint32_t>(said), &behind);
      behind.resize(there, 'i');
      const std::string payload = header + "abc" + behind;
      const Status status = ParseSamplePayload(SpanIn(payload), &parsed);
      if (said >= 40 && said <= there && said % 4 == 0) {
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(parsed.index.size, said);
        EXPECT_EQ(parsed.example.size, there - said);
        continue;
      }
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << said << " " << there;
      EXPECT_NE(status.message().find("offset 27"), std::string::npos)
          << status.message();
    }
  }
  // Without its whole magic it is an example.
  const std::string with_example = header + "abcLJX";
  EXPECT_TRUE(ParseSamplePayload(SpanIn(with_example), &parsed).ok());
  EXPECT_EQ(String(parsed.example), "LJX");
  // Where id2 is 0, all is the image.
  header[16] = 0;
  const std::string all_image = header + "abcLJX1";
  EXPECT_TRUE(ParseSamplePayload(SpanIn(all_image), &parsed).ok());
  EXPECT_EQ(String(parsed.image), "abcLJX1");
}

}  // namespace
}  // namespace liquid::recordio_test
