// Stretches of files as blocks, which a RecordStream reads ahead like records.
#ifndef LIQUID_OPS_READER_BLOCK_SOURCE_H_
#define LIQUID_OPS_READER_BLOCK_SOURCE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/reader/record_source.h"
#include "ops/reader/shard_set.h"

namespace liquid {

struct FileStretch {
  std::string path;
  uint64_t begin = 0;
  uint64_t end = 0;  // at or before `begin`: no blocks
};

// Thread-safe. Positions: the blocks of all stretches, one after another. They
// begin at multiples of `block_bytes` of their file, but for the first of a
// stretch. Keeps one file open, besides those that reads are under way of.
class BlockSource : public RecordSource {
 public:
  BlockSource(std::vector<FileStretch> stretches, uint64_t block_bytes,
              FileOpener opener);

  uint64_t blocks() const { return first_.back(); }
  // The blocks of one stretch.
  uint64_t blocks(size_t stretch) const {
    return first_[stretch + 1] - first_[stretch];
  }
  // The file of a stretch.
  Status OpenStretch(size_t stretch, std::shared_ptr<RandomFile>* file);

  // The row's shard is the number of the stretch. O(log(stretches)).
  IndexRow row(uint64_t position) const override;
  std::shared_ptr<Record> Describe(uint64_t position) const override;
  Status Open(uint64_t position, std::shared_ptr<RandomFile>* file) override {
    return OpenStretch(row(position).shard, file);
  }
  Status Check(Record* /*record*/) const override { return OkStatus(); }

 private:
  const std::vector<FileStretch> stretches_;
  const uint64_t block_bytes_;
  const FileOpener opener_;
  std::vector<uint64_t> first_;  // block of each stretch, and their number
  std::mutex mu_;
  // Guarded by mu_: the last file that was opened.
  std::string path_;
  std::shared_ptr<RandomFile> file_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_BLOCK_SOURCE_H_
