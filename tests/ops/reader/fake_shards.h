// A format whose shards lie in memory and misbehave as a test wants, or on
// disk.
#ifndef LIQUID_TESTS_OPS_READER_FAKE_SHARDS_H_
#define LIQUID_TESTS_OPS_READER_FAKE_SHARDS_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "ops/reader/shard_set.h"
#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid {

struct ShardRead {
  std::string path;
  uint64_t offset;
  uint64_t length;
};

// Thread-safe. The destructor waits until nobody reads.
class FakeShards {
 public:
  // Called before each read, on the reading thread; its error fails the read.
  using Hook = std::function<Status(const ShardRead&)>;

  // Shards of `counts[i]` records each; sample s has an image of `bytes(s)`
  // bytes, all of them s.
  FakeShards(const std::vector<int>& counts,
             const std::function<size_t(uint64_t)>& bytes) {
    for (uint32_t shard = 0; shard < counts.size(); ++shard) {
      std::string file;
      for (int i = 0; i < counts[shard]; ++i) {
        const uint64_t sample = rows_.size();
        std::string image(bytes(sample), static_cast<char>(sample));
        // No two blocks of a large one are alike.
        for (size_t b = 0; b < image.size(); b += 509) {
          image[b] = static_cast<char>(sample + b / 509);
        }
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

  ~FakeShards() {
    std::unique_lock<std::mutex> lock(mu_);
    closed_.wait(lock, [this] { return open_files_ == 0; });
  }

  const std::vector<IndexRow>& rows() const { return rows_; }
  // Changes one byte of a sample's record.
  void Flip(uint64_t sample, uint64_t byte) {
    files_[rows_[sample].shard][rows_[sample].offset + byte] ^= 1;
  }
  void set_hook(Hook hook) { hook_ = std::move(hook); }
  // What io_uring reads; where that gives less than was asked for, the read is
  // made as all others are.
  void set_fd(int fd) { fd_ = fd; }
  // As if they came over a network.
  void set_remote() { remote_ = true; }
  // Writes the files; the paths are theirs from now on.
  void Store(const std::string& prefix) {
    for (size_t i = 0; i < files_.size(); ++i) {
      paths_[i] = prefix + "shard" + std::to_string(i);
      std::ofstream(paths_[i], std::ios::binary) << files_[i];
    }
  }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<std::string>& files() const { return files_; }

  std::vector<ShardRead> requests() const {
    std::lock_guard<std::mutex> lock(mu_);
    return requests_;
  }
  uint64_t bytes_read() const {
    uint64_t bytes = 0;
    for (const ShardRead& request : requests()) bytes += request.length;
    return bytes;
  }

  std::shared_ptr<ShardSet> Open() {
    return Open(
        [this](const std::string& path, std::unique_ptr<RandomFile>* file) {
          *file = std::make_unique<File>(this, path);
          return OkStatus();
        });
  }
  std::shared_ptr<ShardSet> Open(FileOpener opener) {
    std::unique_ptr<ShardSet> set;
    const Status status = ShardSet::Create(
        SelectedRows(Pack(rows_), {0}, 1, {}), paths_, std::move(opener), &set);
    EXPECT_TRUE(status.ok()) << status.message();
    return set;
  }

 private:
  class File : public RandomFile {
   public:
    File(FakeShards* shards, std::string path)
        : shards_(shards), path_(std::move(path)) {
      std::lock_guard<std::mutex> lock(shards_->mu_);
      ++shards_->open_files_;
    }
    ~File() override {
      std::lock_guard<std::mutex> lock(shards_->mu_);
      --shards_->open_files_;
      shards_->closed_.notify_all();
    }
    Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                    ReadCount* count) const override {
      uint64_t length = 0;
      for (const iovec& segment : segments) length += segment.iov_len;
      const ShardRead request{path_, offset, length};
      {
        std::lock_guard<std::mutex> lock(shards_->mu_);
        shards_->requests_.push_back(request);
      }
      if (shards_->hook_) LIQUID_RETURN_IF_ERROR(shards_->hook_(request));
      const std::string& file = shards_->files_[path_.back() - '0'];
      *count = ReadCount();
      for (const iovec& segment : segments) {
        if (offset + count->bytes > file.size()) break;
        count->bytes += file.copy(static_cast<char*>(segment.iov_base),
                                  segment.iov_len, offset + count->bytes);
      }
      // What a read costs beside the bytes that were asked for.
      count->disk_bytes = count->bytes + kExcess;
      return OkStatus();
    }
    int fd() const override { return shards_->fd_; }
    bool remote() const override { return shards_->remote_; }
    const char* method() const override { return "fake"; }
    const std::string& path() const override { return path_; }

   private:
    FakeShards* const shards_;
    const std::string path_;
  };

 public:
  static constexpr uint64_t kExcess = 1000;

 private:
  std::vector<IndexRow> rows_;
  std::vector<std::string> files_;
  std::vector<std::string> paths_;
  Hook hook_;
  int fd_ = -1;
  bool remote_ = false;
  mutable std::mutex mu_;
  std::condition_variable closed_;
  int open_files_ = 0;               // guarded by mu_
  std::vector<ShardRead> requests_;  // guarded by mu_
};

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_READER_FAKE_SHARDS_H_
