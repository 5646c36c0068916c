// A format whose shards lie in memory and misbehave as a test wants.
#ifndef LIQUID_TESTS_OPS_READER_FAKE_SHARDS_H_
#define LIQUID_TESTS_OPS_READER_FAKE_SHARDS_H_

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "ops/reader/shard_set.h"

namespace liquid {

struct ReadRequest {
  std::string path;
  uint64_t offset;
  uint64_t length;
};

// Thread-safe. Outlives the streams that read it where it is held by a
// shared_ptr.
class FakeShards {
 public:
  // Called before each read, on the reading thread; its error fails the read.
  using Hook = std::function<Status(const ReadRequest&)>;

  // Shards of `counts[i]` records each; sample s has an image of `bytes(s)`
  // bytes, all of them s.
  FakeShards(const std::vector<int>& counts,
             const std::function<size_t(uint64_t)>& bytes) {
    for (uint32_t shard = 0; shard < counts.size(); ++shard) {
      std::string file;
      for (int i = 0; i < counts[shard]; ++i) {
        const uint64_t sample = rows_.size();
        const std::string image(bytes(sample), static_cast<char>(sample));
        SampleRecord record;
        record.id = sample;
        record.labels = {static_cast<float>(sample)};
        record.image = ByteSpan(image.data(), image.size());
        std::string payload;
        EXPECT_TRUE(AppendSamplePayload(record, &payload).ok());
        IndexRow row;
        row.sample = sample;
        row.format = 1;
        row.shard = shard;
        row.offset = file.size();
        EXPECT_TRUE(
            AppendRecord(ByteSpan(payload.data(), payload.size()), &file).ok());
        row.length = file.size() - row.offset;
        row.crc32c = Crc32c(ByteSpan(&file[row.offset], row.length));
        row.height = row.width = row.channels = 1;
        row.bits = 8;
        rows_.push_back(row);
      }
      files_.push_back(std::move(file));
      paths_.push_back("shard" + std::to_string(shard));
    }
  }

  const std::vector<IndexRow>& rows() const { return rows_; }
  // Changes one byte of a sample's record.
  void Flip(uint64_t sample, uint64_t byte) {
    files_[rows_[sample].shard][rows_[sample].offset + byte] ^= 1;
  }
  void set_hook(Hook hook) { hook_ = std::move(hook); }

  std::vector<ReadRequest> requests() const {
    std::lock_guard<std::mutex> lock(mu_);
    return requests_;
  }
  uint64_t bytes_read() const {
    uint64_t bytes = 0;
    for (const ReadRequest& request : requests()) bytes += request.length;
    return bytes;
  }

  std::shared_ptr<ShardSet> Open() {
    std::unique_ptr<ShardSet> set;
    const Status status = ShardSet::Create(
        rows_, 0, 1, paths_,
        [this](const std::string& path, std::unique_ptr<RandomFile>* file) {
          *file = std::make_unique<File>(this, path);
          return OkStatus();
        },
        &set);
    EXPECT_TRUE(status.ok()) << status.message();
    return set;
  }

 private:
  class File : public RandomFile {
   public:
    File(FakeShards* shards, std::string path)
        : shards_(shards), path_(std::move(path)) {}
    Status Read(uint64_t offset, uint64_t length, AlignedBuffer* buffer,
                ByteSpan* bytes, uint64_t* disk_bytes) const override {
      const ReadRequest request{path_, offset, length};
      {
        std::lock_guard<std::mutex> lock(shards_->mu_);
        shards_->requests_.push_back(request);
      }
      if (shards_->hook_) LIQUID_RETURN_IF_ERROR(shards_->hook_(request));
      const std::string& file = shards_->files_[path_.back() - '0'];
      if (offset + length > file.size() || !buffer->Reserve(length)) {
        return DataLoss(path_ + ": the file ends early");
      }
      std::memcpy(buffer->data(), file.data() + offset, length);
      *bytes = ByteSpan(buffer->data(), length);
      *disk_bytes = length + kExcess;
      return OkStatus();
    }
    const char* method() const override { return "fake"; }
    const std::string& path() const override { return path_; }

   private:
    FakeShards* const shards_;
    const std::string path_;
  };

 public:
  // What a read costs beside the bytes that were asked for.
  static constexpr uint64_t kExcess = 1000;

 private:
  std::vector<IndexRow> rows_;
  std::vector<std::string> files_;
  std::vector<std::string> paths_;
  Hook hook_;
  mutable std::mutex mu_;
  std::vector<ReadRequest> requests_;  // guarded by mu_
};

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_READER_FAKE_SHARDS_H_
