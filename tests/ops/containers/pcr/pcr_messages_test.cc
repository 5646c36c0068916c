// Messages against bytes made by hand.
#include "ops/containers/pcr/pcr_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace liquid::pcr_messages_test {
namespace {

using std::string_literals::operator""s;

ByteSpan SpanIn(const std::string& text) {
  return ByteSpan(text.data(), text.size());
}

std::string Text(ByteSpan bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

std::vector<std::string> Texts(const std::vector<ByteSpan>& spans) {
  std::vector<std::string> texts;
  for (const ByteSpan& span : spans) texts.push_back(Text(span));
  return texts;
}

// The example of docs/formats/pcr.md.
const std::string kMetadata =
    "\x0a\x0b\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01\x18\x01"s;
const std::string kGroup =
    "\x0a\x02"
    "ab\x0a\x01"
    "c"s;

TEST(PcrMessagesTest, MetadataIsTheGolden) {
  PcrMetadata metadata;
  metadata.labels = {3, -1};
  metadata.levels = 1;
  metadata.version = 1;
  std::string bytes;
  AppendPcrMetadata(metadata, &bytes);
  EXPECT_EQ(bytes, kMetadata);
  PcrMetadata parsed;
  ASSERT_TRUE(ParsePcrMetadata(SpanIn(bytes), 0, &parsed).ok());
  EXPECT_EQ(parsed.labels, metadata.labels);
  EXPECT_EQ(parsed.levels, 1);
  EXPECT_EQ(parsed.version, 1);
  EXPECT_TRUE(parsed.examples.empty());
}

TEST(PcrMessagesTest, LabelsMayBeSingleAndFieldsUnknown) {
  const std::string bytes =
      "\x08\x03"               // a label
      "\x22\x01x"              // an example
      "\x78\x05"               // field 15, varint
      "\x79\1\2\3\4\5\6\7\x8"  // field 15, 64 bits
      "\x7a\x02yy"             // field 15, bytes
      "\x7d\1\2\3\4"           // field 15, 32 bits
      "\x12\x01z"              // levels, of another wire type
      "\x0a\x02\x04\x05"       // two labels, packed
      "\x08\x06"               // a label
      "\x22\x00"s;             // an empty example
  PcrMetadata metadata;
  const Status status = ParsePcrMetadata(SpanIn(bytes), 0, &metadata);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(metadata.labels, (std::vector<int32_t>{3, 4, 5, 6}));
  EXPECT_EQ(Texts(metadata.examples), (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(metadata.levels, 0);
}

TEST(PcrMessagesTest, GroupIsTheGolden) {
  std::string bytes;
  const std::string a = "ab", b = "c";
  AppendScanGroup({SpanIn(a), SpanIn(b)}, &bytes);
  EXPECT_EQ(bytes, kGroup);
  std::vector<ByteSpan> chunks;
  ASSERT_TRUE(ParseScanGroup(SpanIn(bytes), 0, &chunks).ok());
  EXPECT_EQ(Texts(chunks), (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(chunks[0].data, SpanIn(bytes).data + 2);
}

TEST(PcrMessagesTest, EmptyChunksStayInPlace) {
  std::string bytes;
  const std::string b = "b";
  AppendScanGroup({ByteSpan(), SpanIn(b), ByteSpan()}, &bytes);
  EXPECT_EQ(bytes,
            "\x0a\x00\x0a\x01"
            "b\x0a\x00"s);
  std::vector<ByteSpan> chunks;
  ASSERT_TRUE(ParseScanGroup(SpanIn(bytes), 0, &chunks).ok());
  EXPECT_EQ(Texts(chunks), (std::vector<std::string>{"", "b", ""}));
}

TEST(PcrMessagesTest, ErrorsNameTheOffsetInTheFile) {
  std::vector<ByteSpan> chunks;
  const std::string cut =
      "\x0a\x02"
      "ab\x0a\x09"
      "c"s;
  Status status = ParseScanGroup(SpanIn(cut), 100, &chunks);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("offset 104"), std::string::npos)
      << status.message();
  const std::string tag = "\x0a\x01x\x00"s;  // field 0 does not exist
  status = ParseScanGroup(SpanIn(tag), 0, &chunks);
  EXPECT_NE(status.message().find("offset 3"), std::string::npos)
      << status.message();
  const std::string huge = "\x0a\xff\xff\xff\xff\x0f"s;
  EXPECT_EQ(ParseScanGroup(SpanIn(huge), 0, &chunks).code(),
            StatusCode::kDataLoss);
  PcrMetadata metadata;
  const std::string varint = "\x0a\x02\x01\xff"s;  // the second label is cut
  EXPECT_EQ(ParsePcrMetadata(SpanIn(varint), 0, &metadata).code(),
            StatusCode::kDataLoss);
}

std::vector<PcrEntry> Entries() {
  PcrEntry a, b;
  a.name = "a.pcr";
  a.lengths = {2, 300, 0};
  a.crc32cs = {1, 0xffffffff, 3};
  b.name = "b.pcr";
  b.lengths = {1, 1};
  return {a, b};
}

const std::string kIndex =
    "\x0a\x1d"
    "\x0a\x05"
    "a.pcr\x12\x04\x02\xac\x02\x00"
    "\xaa\x06\x0c\x01\x00\x00\x00\xff\xff\xff\xff\x03\x00\x00\x00"
    "\x0a\x0b\x0a\x05"
    "b.pcr\x12\x02\x01\x01"s;

TEST(PcrMessagesTest, IndexIsTheGolden) {
  std::string bytes;
  AppendPcrIndex(Entries(), &bytes);
  std::string golden = kIndex;
  golden[1] = static_cast<char>(7 + 6 + 15);
  EXPECT_EQ(bytes, golden);
  std::vector<PcrEntry> parsed;
  const Status status = ParsePcrIndex(SpanIn(bytes), &parsed);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(parsed.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parsed[i].name, Entries()[i].name);
    EXPECT_EQ(parsed[i].lengths, Entries()[i].lengths);
    EXPECT_EQ(parsed[i].crc32cs, Entries()[i].crc32cs);
  }
}

TEST(PcrMessagesTest, PrefixSums) {
  const PcrEntry entry = Entries()[0];
  EXPECT_EQ(entry.groups(), 2);
  EXPECT_EQ(entry.PrefixBytes(0), 2);
  EXPECT_EQ(entry.PrefixBytes(1), 302);
  EXPECT_EQ(entry.PrefixBytes(2), 302);
  EXPECT_EQ(entry.GroupsAt(1), 1);
  EXPECT_EQ(entry.GroupsAt(2), 2);
  EXPECT_EQ(entry.GroupsAt(UINT64_MAX), 2);
}

TEST(PcrMessagesTest, TheFirstEntryOfANameCounts) {
  std::vector<PcrEntry> entries = Entries();
  entries.push_back(entries[1]);
  entries.back().name = "/a.pcr";
  std::string bytes;
  AppendPcrIndex(entries, &bytes);
  std::vector<PcrEntry> parsed;
  ASSERT_TRUE(ParsePcrIndex(SpanIn(bytes), &parsed).ok());
  ASSERT_EQ(parsed.size(), 2);
  EXPECT_EQ(parsed[0].lengths, entries[0].lengths);
}

TEST(PcrMessagesTest, LengthsMayBeSingle) {
  const std::string bytes = "\x0a\x07\x10\x05\x10\x06\x0a\x01x"s;
  std::vector<PcrEntry> parsed;
  ASSERT_TRUE(ParsePcrIndex(SpanIn(bytes), &parsed).ok());
  EXPECT_EQ(parsed[0].lengths, (std::vector<uint32_t>{5, 6}));
}

TEST(PcrMessagesTest, WrongEntriesSaySo) {
  const auto error = [](std::vector<uint32_t> lengths,
                        std::vector<uint32_t> crc32cs) {
    PcrEntry entry;
    entry.name = "x";
    entry.lengths = std::move(lengths);
    entry.crc32cs = std::move(crc32cs);
    std::string bytes;
    AppendPcrIndex({entry}, &bytes);
    std::vector<PcrEntry> parsed;
    const Status status = ParsePcrIndex(SpanIn(bytes), &parsed);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    return status.message();
  };
  EXPECT_EQ(error({1, 0x80000000}, {}),
            "pcr: the index entry \"x\" has a negative length at offset 0");
  EXPECT_EQ(error({1}, {}),
            "pcr: the index entry \"x\" has 1 lengths, but a record has "
            "metadata and a group at offset 0");
  EXPECT_EQ(error({1, 2}, {1}),
            "pcr: the index entry \"x\" has 1 checksums of 2 parts at offset "
            "0");
}

TEST(PcrMessagesTest, IndexTruncationsAreErrorsOrShorter) {
  std::string bytes;
  AppendPcrIndex(Entries(), &bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<PcrEntry> parsed;
    const Status status = ParsePcrIndex(SpanIn(bytes.substr(0, size)), &parsed);
    // A message may end behind any of its fields.
    const bool between = size == 0 || size == 30;
    EXPECT_EQ(status.ok(), between) << size;
  }
}

}  // namespace
}  // namespace liquid::pcr_messages_test
