#include "ops/reader/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid::replicas_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSamples = 6;
constexpr uint64_t kInFile = 2;

class MemoryFile : public RandomFile {
 public:
  MemoryFile(std::string path, const std::string& bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override {
    *count = ReadCount();
    for (const iovec& segment : segments) {
      if (offset + count->bytes > bytes_.size()) break;
      count->bytes += bytes_.copy(static_cast<char*>(segment.iov_base),
                                  segment.iov_len, offset + count->bytes);
    }
    count->disk_bytes = count->bytes;
    return OkStatus();
  }
  const char* method() const override { return "memory"; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const std::string& bytes_;
};

// Six samples, from 100 downwards, in the formats 1, 2 and 5, two in a file.
class ReplicasTest : public ::testing::Test {
 protected:
  ReplicasTest() {
    for (const uint8_t format : {1, 2, 5}) {
      for (uint64_t i = 0; i < kSamples; ++i) {
        if (i % kInFile == 0) {
          paths_.push_back("shard" + std::to_string(paths_.size()));
        }
        Append(format, 100 - i);
      }
    }
  }

  void Append(uint8_t format, uint64_t sample) {
    const std::string image = "image " + std::to_string(sample);
    SampleRecord record;
    record.id = sample;
    record.labels = {1};
    record.image = ByteSpan(image.data(), image.size());
    std::string payload;
    ASSERT_TRUE(AppendSamplePayload(record, &payload).ok());
    std::string& file = files_[paths_.back()];
    IndexRow row;
    row.sample = sample;
    row.format = format;
    row.shard = static_cast<uint32_t>(paths_.size() - 1);
    row.offset = file.size();
    ASSERT_TRUE(
        AppendRecord(ByteSpan(payload.data(), payload.size()), &file).ok());
    row.length = file.size() - row.offset;
    row.crc32c = Crc32c(ByteSpan(&file[row.offset], row.length));
    row.height = row.width = row.channels = 1;
    row.bits = 8;
    row.pixels_hash = sample;
    rows_.push_back(row);
  }

  IndexRow& row(uint8_t format, uint64_t sample) {
    for (IndexRow& row : rows_) {
      if (row.format == format && row.sample == sample) return row;
    }
    ADD_FAILURE() << "no such row";
    return rows_.front();
  }

  void Flip(uint8_t format, uint64_t sample) {
    const IndexRow& at = row(format, sample);
    files_[paths_[at.shard]][at.offset + at.length / 2] ^= 1;
  }

  // A damaged record of format 1.
  std::shared_ptr<Record> Bad(uint64_t sample) {
    auto record = std::make_shared<Record>();
    record->position = 77;
    record->row = row(1, sample);
    record->disk_bytes = 5;
    return record;
  }

  std::shared_ptr<Replicas> Make() {
    return std::make_shared<Replicas>(
        Pack(rows_), paths_, std::vector<uint8_t>{5, 1, 2},
        [this](const std::string& path, std::unique_ptr<RandomFile>* file) {
          opened_.push_back(path);
          if (path == lacking_) return Unavailable("too many open files");
          *file = std::make_unique<MemoryFile>(path, files_[path]);
          return OkStatus();
        },
        nullptr);
  }

  std::map<std::string, std::string> files_;
  std::vector<std::string> paths_;
  std::vector<IndexRow> rows_;
  std::vector<std::string> opened_;
  std::string lacking_;
};

TEST_F(ReplicasTest, ReadsTheFirstFormat) {
  const std::shared_ptr<Replicas> replicas = Make();
  EXPECT_THAT(opened_, IsEmpty());
  for (uint64_t sample = 95; sample <= 100; ++sample) {
    const std::shared_ptr<Record> bad = Bad(sample);
    bad->replicas = replicas;
    const RecordPtr found = replicas->Read(*bad, DataLoss("it is bad"));
    ASSERT_NE(found, nullptr);
    EXPECT_TRUE(found->status.ok()) << found->status.message();
    EXPECT_EQ(found->position, 77u);
    EXPECT_EQ(found->row.format, 5);
    EXPECT_EQ(found->content.id, sample);
    EXPECT_EQ(found->disk_bytes, 5 + found->row.length);
    EXPECT_EQ(found->replicas, replicas);
    ASSERT_NE(found->replaced, nullptr);
    EXPECT_EQ(found->replaced->reason, "it is bad");
    EXPECT_EQ(found->replaced->pixels_hash, sample);
  }
  // A file stays open.
  EXPECT_THAT(opened_, ElementsAre("shard8", "shard7", "shard6"));
}

TEST_F(ReplicasTest, PassesOverADamagedOne) {
  Flip(5, 98);
  const RecordPtr found = Make()->Read(*Bad(98), DataLoss("it is bad"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->row.format, 2);
  EXPECT_EQ(found->replaced->reason, "it is bad");
}

TEST_F(ReplicasTest, GoesOnFromOneThatCannotBeUsedEither) {
  const std::shared_ptr<Replicas> replicas = Make();
  const RecordPtr first = replicas->Read(*Bad(98), DataLoss("it is bad"));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->row.format, 5);
  const RecordPtr second = replicas->Read(*first, DataLoss("and this one"));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->row.format, 2);
  EXPECT_EQ(second->content.id, 98u);
  EXPECT_EQ(second->position, 77u);
  EXPECT_EQ(second->replaced->reason, "it is bad");
  EXPECT_EQ(replicas->Read(*second, DataLoss("nor that")), nullptr);
}

TEST_F(ReplicasTest, NoneIsLeft) {
  Flip(5, 98);
  Flip(2, 98);
  EXPECT_EQ(Make()->Read(*Bad(98), DataLoss("it is bad")), nullptr);
}

TEST_F(ReplicasTest, AnotherSampleOrSizeIsNone) {
  row(5, 98).width = 2;
  row(2, 98).sample = 1;
  EXPECT_EQ(Make()->Read(*Bad(98), DataLoss("it is bad")), nullptr);
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(ReplicasTest, AFormatThatLacksSamplesIsPassedOver) {
  rows_.resize(2 * kSamples);  // none of format 5
  const RecordPtr found = Make()->Read(*Bad(98), DataLoss("it is bad"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->row.format, 2);
}

TEST_F(ReplicasTest, WhatTheMachineLacksIsTold) {
  // Nothing is wrong with that one: another run would have read it.
  lacking_ = paths_[row(5, 98).shard];
  const RecordPtr found = Make()->Read(*Bad(98), DataLoss("it is bad"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->status.code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace liquid::replicas_test
