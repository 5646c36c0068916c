// The records of one format of a dataset that are read, in stored order, and
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

#include "ops/core/status.h"
#include "ops/reader/record_source.h"
#include "ops/reader/selected_rows.h"
#include "ops/sampler/worker_part.h"

namespace liquid {

using FileOpener =
    std::function<Status(const std::string&, std::unique_ptr<RandomFile>*)>;

// Thread-safe after Create.
class ShardSet : public RecordSource {
 public:
  // `rows`: of one format. `paths[i]`: the file of manifest shard i, empty for
  // those of other formats. Error: InvalidArgument or DataLoss.
  static Status Create(SelectedRows rows, std::vector<std::string> paths,
                       FileOpener opener, std::unique_ptr<ShardSet>* set);

  // Restricts the set to a part: position i of it is row (start + i) mod the
  // number of rows. Call once, before use.
  Status Restrict(const PartRange& range);

  // Where else the samples are stored; records know it. Call once, before use.
  void set_replicas(std::shared_ptr<const Replicas> replicas) {
    replicas_ = std::move(replicas);
  }

  // Positions: the samples of the part, 0..size()-1.
  uint64_t size() const { return range_.length; }
  IndexRow row(uint64_t position) const override {
    return rows_[RankOf(position)];
  }
  // Which record of its file the sample at `position` is, among those of the
  // index. O(log(rows)).
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
  // A file that has some of the rows.
  struct File {
    uint64_t rank;   // of the first of them
    uint64_t place;  // of the first row of the file
  };
  const File& FileOf(uint64_t rank) const;
  uint64_t RankOf(uint64_t position) const {
    return (range_.start + position) % rows_.size();
  }

  SelectedRows rows_;
  std::vector<File> files_;  // ascending
  std::vector<std::string> paths_;
  PartRange range_;
  FileOpener opener_;
  std::shared_ptr<const Replicas> replicas_;
  std::mutex mu_;
  // The files that were used last, the latest first; guarded by mu_. Not all:
  // a dataset may have more than a process may have open.
  std::list<std::pair<uint32_t, std::shared_ptr<RandomFile>>> open_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_SHARD_SET_H_
