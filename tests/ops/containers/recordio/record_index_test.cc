#include "ops/containers/recordio/record_index.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace liquid::record_index_test {
namespace {

Status Parse(const std::string& text, std::vector<RecordIndexEntry>* entries) {
  return ParseRecordIndex(ByteSpan(text.data(), text.size()), entries);
}

TEST(RecordIndexTest, RoundTrip) {
  const std::vector<RecordIndexEntry> entries = {
      {0, 0}, {-5, uint64_t{INT64_MAX}}, {INT64_MIN, 4}, {INT64_MAX, 8}};
  std::string text;
  AppendRecordIndex(entries, &text);
  EXPECT_EQ(text.substr(0, 7), "0\t0\n-5\t");
  std::vector<RecordIndexEntry> found;
  ASSERT_TRUE(Parse(text, &found).ok());
  ASSERT_EQ(found.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(found[i].key, entries[i].key);
    EXPECT_EQ(found[i].offset, entries[i].offset);
  }
}

TEST(RecordIndexTest, WhatOthersWrite) {
  std::vector<RecordIndexEntry> found;
  ASSERT_TRUE(Parse("", &found).ok());
  EXPECT_TRUE(found.empty());
  ASSERT_TRUE(Parse("\r\n 1 2 \r\n\n3\t \t4", &found).ok());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].key, 3);
  EXPECT_EQ(found[1].offset, 4u);
}

TEST(RecordIndexTest, Errors) {
  for (const char* text :
       {"1", "1\t", "\t1", "a\t1", "1\tb", "1\t-1", "1\t2\t3", "1.5\t2",
        "1\t9223372036854775808", "+1\t2", "1\t2x", "12", "1,2"}) {
    std::vector<RecordIndexEntry> found = {{7, 7}};
    const Status status = Parse("0\t0\n" + std::string(text) + "\n", &found);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << text;
    EXPECT_EQ(status.message().rfind("line 2 (\"", 0), 0u) << status.message();
    EXPECT_EQ(found.size(), 1u);
  }
}

TEST(RecordIndexTest, AnErrorShowsLittleOfTheLine) {
  std::vector<RecordIndexEntry> found;
  const Status status = Parse(std::string(1000, '\1'), &found);
  EXPECT_EQ(status.message(), "line 1 (\"" + std::string(40, '?') +
                                  "\") must be a key and an offset, two "
                                  "integers");
}

}  // namespace
}  // namespace liquid::record_index_test
