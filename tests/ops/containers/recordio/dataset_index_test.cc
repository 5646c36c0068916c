#include "ops/containers/recordio/dataset_index.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/containers/recordio/little_endian.h"
#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid::dataset_index_test {
namespace {

ByteSpan SpanIn(const std::string& text) {
  return ByteSpan(text.data(), text.size());
}

// As a vector, so that the tests of both ways in look alike.
Status ParseIndex(ByteSpan npy, std::vector<IndexRow>* rows) {
  IndexView view;
  LIQUID_RETURN_IF_ERROR(IndexView::Create(npy, nullptr, &view));
  rows->clear();
  for (size_t i = 0; i < view.size(); ++i) rows->push_back(view[i]);
  return OkStatus();
}

IndexRow GoodRow() {
  IndexRow row;
  row.sample = 0x0102030405060708;
  row.split = 1;
  row.format = 2;
  row.shard = 0x0a0b0c0d;
  row.offset = 0x1000;
  row.length = 64;
  row.crc32c = 0xdeadbeef;
  row.height = 48;
  row.width = 32;
  row.channels = 3;
  row.bits = 16;
  row.orientation = 8;
  row.pixels_hash = 0xfedcba9876543210;
  return row;
}

std::string Bytes(const IndexRow& row) {
  std::string out;
  AppendRow(row, &out);
  return out;
}

TEST(DatasetIndexTest, ReadsEveryField) {
  const std::string bytes = Bytes(GoodRow());
  ASSERT_EQ(bytes.size(), kIndexRowBytes);
  std::vector<IndexRow> rows;
  const Status status = ParseIndex(SpanIn(Npy(bytes, "1")), &rows);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].sample, 0x0102030405060708u);
  EXPECT_EQ(rows[0].split, 1);
  EXPECT_EQ(rows[0].format, 2);
  EXPECT_EQ(rows[0].shard, 0x0a0b0c0du);
  EXPECT_EQ(rows[0].offset, 0x1000u);
  EXPECT_EQ(rows[0].length, 64u);
  EXPECT_EQ(rows[0].crc32c, 0xdeadbeefu);
  EXPECT_EQ(rows[0].height, 48u);
  EXPECT_EQ(rows[0].width, 32u);
  EXPECT_EQ(rows[0].channels, 3);
  EXPECT_EQ(rows[0].bits, 16);
  EXPECT_EQ(rows[0].orientation, 8);
  EXPECT_EQ(rows[0].pixels_hash, 0xfedcba9876543210u);
}

TEST(DatasetIndexTest, NoRowsAreAnIndexToo) {
  std::vector<IndexRow> rows(3);
  ASSERT_TRUE(ParseIndex(SpanIn(Npy("", "0")), &rows).ok());
  EXPECT_TRUE(rows.empty());
}

TEST(DatasetIndexTest, EveryTruncationIsFoundAndLeavesTheRows) {
  const std::string npy = Npy(Bytes(GoodRow()), "1");
  std::vector<IndexRow> rows(3);
  for (size_t size = 0; size < npy.size(); ++size) {
    const Status status = ParseIndex(SpanIn(npy.substr(0, size)), &rows);
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    EXPECT_NE(status.message().find("offset"), std::string::npos);
  }
  EXPECT_EQ(rows.size(), 3u);
}

TEST(DatasetIndexTest, EveryFlippedHeaderByteIsFound) {
  const std::string npy = Npy(Bytes(GoodRow()), "1");
  std::vector<IndexRow> rows;
  for (size_t i = 0; i < npy.size() - kIndexRowBytes; ++i) {
    std::string damaged = npy;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    EXPECT_EQ(ParseIndex(SpanIn(damaged), &rows).code(), StatusCode::kDataLoss)
        << i;
  }
}

TEST(DatasetIndexTest, CountsThatLieAreFound) {
  const std::string row = Bytes(GoodRow());
  std::vector<IndexRow> rows;
  for (const char* count : {"0", "2", "", "1, 1", "-1", "1e0",
                            "354745078340568301", "99999999999999999999"}) {
    EXPECT_EQ(ParseIndex(SpanIn(Npy(row, count)), &rows).code(),
              StatusCode::kDataLoss)
        << count;
  }
}

TEST(DatasetIndexTest, EveryImpossibleValueIsFoundAtItsOffset) {
  struct Case {
    void (*spoil)(IndexRow*);
    size_t offset;
  };
  const Case cases[] = {
      {[](IndexRow* row) { row->format = 8; }, 9},
      {[](IndexRow* row) { row->offset = 6; }, 16},
      {[](IndexRow* row) { row->offset = ~uint64_t{3}; }, 16},
      {[](IndexRow* row) { row->length = 66; }, 24},
      {[](IndexRow* row) { row->length = 28; }, 24},
      {[](IndexRow* row) { row->length = uint64_t{1} << 32; }, 24},
      {[](IndexRow* row) { row->height = 0; }, 36},
      {[](IndexRow* row) { row->width = 0; }, 36},
      {[](IndexRow* row) { row->channels = 0; }, 10},
      {[](IndexRow* row) { row->channels = 5; }, 10},
      {[](IndexRow* row) { row->bits = 12; }, 11},
      {[](IndexRow* row) { row->orientation = 0; }, 44},
      {[](IndexRow* row) { row->orientation = 9; }, 44},
      {[](IndexRow* row) { row->orientation = 0x101; }, 44},
  };
  for (const Case& spoiled : cases) {
    IndexRow row = GoodRow();
    spoiled.spoil(&row);
    const std::string bytes = Bytes(GoodRow()) + Bytes(row);
    std::vector<IndexRow> rows;
    const Status status = ParseIndexRows(SpanIn(bytes), &rows);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    const std::string end =
        "at offset " + std::to_string(kIndexRowBytes + spoiled.offset);
    EXPECT_EQ(status.message().substr(status.message().size() - end.size()),
              end)
        << status.message();
  }
}

TEST(DatasetIndexTest, RowsMustAscend) {
  const IndexRow first = GoodRow();
  std::vector<IndexRow> rows;
  const auto parse = [&](const IndexRow& second) {
    return ParseIndex(SpanIn(Npy(Bytes(first) + Bytes(second), "2")), &rows);
  };
  EXPECT_EQ(parse(first).code(), StatusCode::kDataLoss);
  IndexRow second = first;
  second.offset += 64;
  EXPECT_TRUE(parse(second).ok());
  second.shard -= 1;
  EXPECT_EQ(parse(second).code(), StatusCode::kDataLoss);
  second.format += 1;
  EXPECT_TRUE(parse(second).ok());
  second.split -= 1;
  EXPECT_EQ(parse(second).code(), StatusCode::kDataLoss);
}

TEST(DatasetIndexTest, RowsOfAFormatOfASplitLieTogether) {
  std::vector<IndexRow> rows;
  for (const auto& [split, format] : std::vector<std::pair<int, int>>{
           {0, 1}, {0, 1}, {0, 3}, {1, 0}, {1, 1}, {255, 255}}) {
    IndexRow row = GoodRow();
    row.sample = rows.size();
    row.split = static_cast<uint8_t>(split);
    row.format = static_cast<uint8_t>(format);
    rows.push_back(row);
  }
  const IndexView view = Pack(rows);
  const auto samples = [&view](uint8_t split, uint8_t format) {
    std::vector<uint64_t> found;
    const IndexView part = view.Of(split, format);
    for (size_t i = 0; i < part.size(); ++i) found.push_back(part[i].sample);
    return found;
  };
  EXPECT_EQ(samples(0, 1), std::vector<uint64_t>({0, 1}));
  EXPECT_EQ(samples(0, 3), std::vector<uint64_t>({2}));
  EXPECT_EQ(samples(1, 0), std::vector<uint64_t>({3}));
  EXPECT_EQ(samples(1, 1), std::vector<uint64_t>({4}));
  EXPECT_EQ(samples(255, 255), std::vector<uint64_t>({5}));
  EXPECT_EQ(samples(0, 0), std::vector<uint64_t>());
  EXPECT_EQ(samples(0, 2), std::vector<uint64_t>());
  EXPECT_EQ(samples(7, 7), std::vector<uint64_t>());
}

}  // namespace
}  // namespace liquid::dataset_index_test
