#include "ops/containers/recordio/file_parts.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/containers/recordio/scan.h"

namespace liquid::file_parts_test {
namespace {

// The payloads of each part of files.
std::vector<std::vector<std::string>> Parts(
    const std::vector<std::string>& files, int64_t parts) {
  std::vector<uint64_t> sizes;
  for (const std::string& file : files) sizes.push_back(file.size());
  std::vector<std::vector<std::string>> found(static_cast<size_t>(parts));
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<PartOfFile> ranges;
    EXPECT_TRUE(PartByBytes(sizes, part, parts, &ranges).ok());
    for (const PartOfFile& piece : ranges) {
      const Scan scan = ScanText(files[piece.file], piece.range, false, 32);
      EXPECT_TRUE(scan.status.ok()) << scan.status.message();
      found[part].insert(found[part].end(), scan.payloads.begin(),
                         scan.payloads.end());
    }
  }
  return found;
}

TEST(InputSplitTest, GoldenCounts) {
  std::vector<std::string> payloads(10, "1234");
  payloads[0] = std::string(100, 'x');
  const std::string file = Frame(payloads);
  const std::vector<std::vector<size_t>> expected = {
      {10}, {1, 9}, {1, 3, 6}, {1, 1, 4, 4}, {1, 0, 0, 1, 2, 2, 3, 1}};
  for (const std::vector<size_t>& counts : expected) {
    const auto parts = Parts({file}, static_cast<int64_t>(counts.size()));
    for (size_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(parts[i].size(), counts[i]) << counts.size() << " " << i;
    }
  }
}

TEST(InputSplitTest, GoldenOverFiles) {
  using Strings = std::vector<std::string>;
  const auto parts = Parts({Frame({"1", "2", "3"}), Frame({"4"}), ""}, 3);
  EXPECT_EQ(parts, (std::vector<Strings>{Strings{"1", "2"}, Strings{"3"},
                                         Strings{"4"}}));
}

TEST(InputSplitTest, ByCount) {
  const std::vector<uint64_t> sizes = {100, 0, 40};
  const std::vector<std::vector<uint64_t>> offsets = {{60, 0, 20}, {}, {0, 12}};
  std::vector<PartOfFile> ranges;
  ASSERT_TRUE(PartByCount(sizes, offsets, 1, 2, &ranges).ok());
  ASSERT_EQ(ranges.size(), 1u);  // ceil(5 / 2) = 3: the second file's
  EXPECT_EQ(ranges[0].file, 2u);
  EXPECT_EQ(ranges[0].range.begin, 0u);
  EXPECT_EQ(ranges[0].range.end, 40u);
  EXPECT_EQ(ranges[0].records, 2);
  ASSERT_TRUE(PartByCount(sizes, offsets, 1, 3, &ranges).ok());
  ASSERT_EQ(ranges.size(), 2u);  // one of the first file, one of the last
  EXPECT_EQ(ranges[0].range.begin, 60u);
  EXPECT_EQ(ranges[0].range.end, 100u);
  EXPECT_EQ(ranges[1].range.end, 12u);
  ASSERT_TRUE(PartByCount(sizes, offsets, 3, 4, &ranges).ok());
  EXPECT_TRUE(ranges.empty());  // 2, 2, 1, 0
}

TEST(InputSplitTest, ByCountEachOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> sizes;
    std::vector<std::vector<uint64_t>> offsets;
    int64_t total = 0;
    for (size_t f = random() % 4; f-- > 0;) {
      offsets.emplace_back();
      for (uint64_t k = random() % 6; k-- > 0; ++total) {
        offsets.back().push_back(8 * offsets.back().size());
      }
      sizes.push_back(8 * offsets.back().size());
    }
    const int64_t parts = 1 + static_cast<int64_t>(random() % 12);
    int64_t sum = 0;
    uint64_t last = 0;
    for (int64_t part = 0; part < parts; ++part) {
      std::vector<PartOfFile> ranges;
      ASSERT_TRUE(PartByCount(sizes, offsets, part, parts, &ranges).ok());
      int64_t count = 0;
      for (const PartOfFile& piece : ranges) {
        const uint64_t place = piece.file << 32 | piece.range.begin;
        EXPECT_GE(place, last);
        last = piece.file << 32 | piece.range.end;
        EXPECT_EQ(static_cast<int64_t>(piece.range.end - piece.range.begin),
                  8 * piece.records);
        count += piece.records;
      }
      EXPECT_LE(count, (total + parts - 1) / parts);
      sum += count;
    }
    EXPECT_EQ(sum, total);
  }
}

TEST(InputSplitTest, LargeNumbers) {
  const uint64_t size = (uint64_t{1} << 50) + 3;
  for (const int64_t parts :
       {int64_t{1}, int64_t{7}, int64_t{1} << 40, int64_t{INT64_MAX}}) {
    uint64_t end = 0;
    for (const int64_t part : {int64_t{0}, parts / 2, parts - 1}) {
      std::vector<PartOfFile> ranges;
      ASSERT_TRUE(PartByBytes({size}, part, parts, &ranges).ok());
      if (ranges.empty()) continue;
      EXPECT_EQ(ranges[0].range.begin % 4, 0u);
      EXPECT_LT(ranges[0].range.begin, ranges[0].range.end);
      EXPECT_LE(ranges[0].range.end, size);
      end = ranges[0].range.end;
    }
    if (parts < 8) {
      EXPECT_EQ(end, size);
    }
  }
}

TEST(InputSplitTest, Errors) {
  std::vector<PartOfFile> ranges;
  for (const auto& [part, parts] :
       {std::pair<int64_t, int64_t>{1, 1}, {-1, 2}, {0, 0}, {0, -1}}) {
    const Status status = PartByBytes({8}, part, parts, &ranges);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("part ("), std::string::npos);
  }
  EXPECT_FALSE(PartByCount({8}, {}, 0, 1, &ranges).ok());
  EXPECT_EQ(PartByCount({8}, {{0, 8}}, 0, 1, &ranges).message(),
            "file 0: the index has a record at offset 8, and the file ends at "
            "8: use the index that was written with it");
}

}  // namespace
}  // namespace liquid::file_parts_test
