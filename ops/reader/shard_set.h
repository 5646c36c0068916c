// The records of one format in one split of a dataset, in stored order, and
// the files that hold them.
#ifndef LIQUID_OPS_READER_SHARD_SET_H_
#define LIQUID_OPS_READER_SHARD_SET_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/core/status.h"
#include "ops/reader/record_source.h"
#include "ops/sampler/shards.h"

namespace liquid {

using FileOpener =
    std::function<Status(const std::string&, std::unique_ptr<RandomFile>*)>;

// Thread-safe after Create.
class ShardSet : public RecordSource {
 public:
  // `index`: of the whole dataset; it is shared, not copied. `paths[i]`: the
  // file of manifest shard i, empty for those of other formats. Error:
  // InvalidArgument or DataLoss.
  static Status Create(const IndexView& index, uint8_t split, uint8_t format,
                       std::vector<std::string> paths, FileOpener opener,
                       std::unique_ptr<ShardSet>* set);

  // Restricts the set to a part: position i of it is sample (start + i) mod
  // the format's size. Call once, before use.
  Status Restrict(const ShardRange& range);

  // Where else the samples are stored; records know it. Call once, before use.
  void set_replicas(std::shared_ptr<const Replicas> replicas) {
    replicas_ = std::move(replicas);
  }

  // Positions: the samples of the part, 0..size()-1.
  uint64_t size() const { return range_.length; }
  IndexRow row(uint64_t position) const override {
    return rows_[(range_.start + position) % rows_.size()];
  }
  // Which record of its file the sample at `position` is.
  // O(log(files)).
  uint64_t record_number(uint64_t position) const;
  const std::string& path(uint64_t position) const {
    return paths_[row(position).shard];
  }
  // Samples of each file, in stored order: the planner's FormatSpec::files.
  std::vector<uint64_t> FileCounts() const;
  std::shared_ptr<Record> Describe(uint64_t position) const override;
  Status Open(uint64_t position, std::shared_ptr<RandomFile>* file) override;
  void Forget(uint64_t position) override;
  Status Check(Record* record) const override;
  // The file at `position`, for the caller alone, which keeps it open.
  Status OpenAgain(uint64_t position, std::unique_ptr<RandomFile>* file) const {
    return opener_(path(position), file);
  }

 private:
  IndexView rows_;
  std::vector<uint64_t> first_rows_;  // of each file that has some
  std::vector<std::string> paths_;
  ShardRange range_;
  FileOpener opener_;
  std::shared_ptr<const Replicas> replicas_;
  std::mutex mu_;
  // The files that were used last, the latest first; guarded by mu_. Not all:
  // a dataset may have more than a process may have open.
  std::list<std::pair<uint32_t, std::shared_ptr<RandomFile>>> open_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_SHARD_SET_H_
