#include "ops/reader/shard_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid::shard_set_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NamedFile : public RandomFile {
 public:
  explicit NamedFile(std::string path) : path_(std::move(path)) {}
  Status ReadInto(uint64_t, const std::vector<iovec>&,
                  ReadCount*) const override {
    return OkStatus();
  }
  const char* method() const override { return "named"; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
};

IndexRow Row(uint64_t sample, uint8_t split, uint8_t format, uint32_t shard,
             uint64_t offset) {
  IndexRow row;
  row.sample = sample;
  row.split = split;
  row.format = format;
  row.shard = shard;
  row.offset = offset;
  row.length = 8;
  return row;
}

class ShardSetTest : public ::testing::Test {
 protected:
  // Format 1 of split 0: three samples in shard 1, two in shard 2. Beside it
  // another format, and another split.
  Status Make(std::vector<std::string> paths = {"", "b", "c", ""}) {
    return ShardSet::Create(
        SelectedRows(Pack(rows_), splits_, 1,
                     ByteSpan(chosen_.data(), chosen_.size())),
        std::move(paths),
        [this](const std::string& path, std::unique_ptr<RandomFile>* file) {
          opened_.push_back(path);
          if (fail_) return NotFound(path + ": cannot open");
          *file = std::make_unique<NamedFile>(path);
          return OkStatus();
        },
        &set_);
  }
  std::vector<uint64_t> Samples() const {
    std::vector<uint64_t> samples;
    for (uint64_t i = 0; i < set_->size(); ++i) {
      samples.push_back(set_->row(i).sample);
    }
    return samples;
  }

  std::vector<IndexRow> rows_ = {Row(90, 0, 0, 0, 0), Row(10, 0, 1, 1, 0),
                                 Row(11, 0, 1, 1, 8), Row(12, 0, 1, 1, 24),
                                 Row(13, 0, 1, 2, 0), Row(14, 0, 1, 2, 8),
                                 Row(91, 1, 1, 3, 0)};
  std::vector<uint8_t> splits_ = {0};
  std::vector<uint8_t> chosen_;
  bool fail_ = false;
  std::vector<std::string> opened_;
  std::unique_ptr<ShardSet> set_;
};

TEST_F(ShardSetTest, HoldsOneFormatOfOneSplitInStoredOrder) {
  ASSERT_TRUE(Make().ok());
  EXPECT_THAT(Samples(), ElementsAre(10, 11, 12, 13, 14));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(3, 2));
  EXPECT_EQ(set_->path(2), "b");
  EXPECT_EQ(set_->path(3), "c");
  EXPECT_EQ(set_->record_number(2), 2u);
  EXPECT_EQ(set_->record_number(3), 0u);
}

TEST_F(ShardSetTest, APartBeginsAnywhereAndWraps) {
  ASSERT_TRUE(Make().ok());
  ASSERT_TRUE(set_->Restrict({2, 2}).ok());
  EXPECT_THAT(Samples(), ElementsAre(12, 13));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(1, 1));
  EXPECT_EQ(set_->record_number(0), 2u);
  EXPECT_EQ(set_->path(1), "c");

  ASSERT_TRUE(Make().ok());
  ASSERT_TRUE(set_->Restrict({4, 3}).ok());
  EXPECT_THAT(Samples(), ElementsAre(14, 10, 11));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(1, 2));

  ASSERT_TRUE(Make().ok());
  ASSERT_TRUE(set_->Restrict({0, 0}).ok());
  EXPECT_EQ(set_->size(), 0u);
  EXPECT_THAT(set_->FileCounts(), ElementsAre());
}

TEST_F(ShardSetTest, HoldsSeveralSplitsOneAfterTheOther) {
  splits_ = {0, 1};
  ASSERT_TRUE(Make({"", "b", "c", "d"}).ok());
  EXPECT_THAT(Samples(), ElementsAre(10, 11, 12, 13, 14, 91));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(3, 2, 1));
  ASSERT_TRUE(set_->Restrict({5, 2}).ok());
  EXPECT_THAT(Samples(), ElementsAre(91, 10));
}

TEST_F(ShardSetTest, HoldsChosenSamplesAlone) {
  splits_ = {0, 1};
  chosen_.assign(12, 0);
  for (const int sample : {11, 12, 14, 91}) {
    chosen_[sample / 8] |= 1 << sample % 8;
  }
  ASSERT_TRUE(Make({"", "b", "c", "d"}).ok());
  EXPECT_THAT(Samples(), ElementsAre(11, 12, 14, 91));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(2, 1, 1));
  EXPECT_EQ(set_->record_number(0), 1u);
  EXPECT_EQ(set_->record_number(2), 1u);
  EXPECT_EQ(set_->record_number(3), 0u);
  ASSERT_TRUE(set_->Restrict({1, 4}).ok());
  EXPECT_THAT(Samples(), ElementsAre(12, 14, 91, 11));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(1, 1, 1, 1));
}

TEST_F(ShardSetTest, AFileWithoutAChosenSampleIsNone) {
  chosen_ = {0, 1 << 5};  // sample 13
  ASSERT_TRUE(Make().ok());
  EXPECT_THAT(Samples(), ElementsAre(13));
  EXPECT_THAT(set_->FileCounts(), ElementsAre(1));
  EXPECT_EQ(set_->path(0), "c");
}

TEST_F(ShardSetTest, APartThatDoesNotFitIsRefused) {
  ASSERT_TRUE(Make().ok());
  const PartRange wrong[] = {{5, 1}, {0, 7}, {~uint64_t{0}, 1}};
  for (const PartRange& range : wrong) {
    const Status status = set_->Restrict(range);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("5 samples"));
  }
  // One sample more than there are: a shard padded with its first one.
  EXPECT_TRUE(set_->Restrict({0, 6}).ok());
  EXPECT_THAT(set_->FileCounts(), ElementsAre(3, 2, 1));
}

TEST_F(ShardSetTest, AFormatWithoutSamplesIsEmpty) {
  rows_.resize(1);
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(set_->size(), 0u);
  EXPECT_THAT(set_->FileCounts(), ElementsAre());
}

TEST_F(ShardSetTest, OpensAFileOnceAndAFailedOneAgain) {
  ASSERT_TRUE(Make().ok());
  std::shared_ptr<RandomFile> file;
  fail_ = true;
  EXPECT_EQ(set_->Open(0, &file).code(), StatusCode::kNotFound);
  fail_ = false;
  ASSERT_TRUE(set_->Open(0, &file).ok());
  EXPECT_EQ(file->path(), "b");
  ASSERT_TRUE(set_->Open(2, &file).ok());
  ASSERT_TRUE(set_->Open(3, &file).ok());
  EXPECT_EQ(file->path(), "c");
  EXPECT_THAT(opened_, ElementsAre("b", "b", "c"));
}

TEST_F(ShardSetTest, KeepsOpenWhatWasUsedLast) {
  // A sample in every file.
  rows_.clear();
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < 40; ++i) {
    rows_.push_back(Row(i, 0, 1, i, 0));
    paths.push_back(std::to_string(i));
  }
  ASSERT_TRUE(Make(paths).ok());
  std::vector<std::weak_ptr<RandomFile>> files;
  for (uint64_t i = 0; i < 40; ++i) {
    std::shared_ptr<RandomFile> file;
    ASSERT_TRUE(set_->Open(i, &file).ok());
    files.push_back(file);
    ASSERT_TRUE(set_->Open(0, &file).ok());
    EXPECT_EQ(file->path(), "0");
  }
  EXPECT_EQ(opened_.size(), 40u);
  int open = 0;
  for (const auto& file : files) open += !file.expired();
  EXPECT_EQ(open, 32);
  EXPECT_FALSE(files[0].expired());
  EXPECT_FALSE(files[39].expired());
  set_->Forget(39);
  EXPECT_TRUE(files[39].expired());
  std::shared_ptr<RandomFile> file;
  ASSERT_TRUE(set_->Open(1, &file).ok());
  EXPECT_EQ(file->path(), "1");
  EXPECT_EQ(opened_.size(), 41u);
}

TEST_F(ShardSetTest, NamesARowWhoseShardIsNotListed) {
  for (const auto& paths : {std::vector<std::string>{"", "b", "", ""},
                            std::vector<std::string>{"", "b"}}) {
    const Status status = Make(paths);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("sample 13"));
    EXPECT_THAT(status.message(), HasSubstr("shard 2"));
  }
}

TEST_F(ShardSetTest, NamesARowThatOverlapsTheOneBefore) {
  rows_[2].offset = 7;
  const Status status = Make();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("sample 11 at offset 7 overlaps"));
}

}  // namespace
}  // namespace liquid::shard_set_test
