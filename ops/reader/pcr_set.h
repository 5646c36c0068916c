// The progressive compressed records of one split, or of a part of it.
//
// A file holds one record, which is what the planner loads, keeps and evicts;
// a part that begins or ends inside of one has a record of fewer samples. A
// read is of the record's first bytes, through a scan group.
#ifndef LIQUID_OPS_READER_PCR_SET_H_
#define LIQUID_OPS_READER_PCR_SET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/containers/pcr/pcr_messages.h"
#include "ops/core/status.h"
#include "ops/reader/record_source.h"
#include "ops/reader/shard_set.h"

namespace liquid {

// Thread-safe. A position is a record at a fidelity: see PositionOf.
class PcrSet : public RecordSource {
 public:
  // `samples`: the images. `entries[i]`: what the index says of manifest shard
  // i, and anything for shards of other formats. Error: DataLoss where a shard
  // has no entry.
  static Status Create(std::shared_ptr<ShardSet> samples,
                       std::vector<PcrEntry> entries,
                       std::unique_ptr<PcrSet>* set);

  const ShardSet& samples() const { return *samples_; }
  uint64_t records() const { return first_.size() - 1; }
  // Of record records(): their end.
  uint64_t FirstSample(uint64_t record) const { return first_[record]; }
  // The record that has a sample. O(log(records)).
  uint64_t RecordOf(uint64_t sample) const;
  // Samples and scan groups of each record, in stored order.
  std::vector<uint32_t> RecordSamples() const;
  std::vector<uint32_t> RecordGroups() const;
  // Of a record through `groups` >= 1 scan groups, or all that it has.
  uint64_t PositionOf(uint64_t record, uint32_t groups) const;

  IndexRow row(uint64_t position) const override;
  std::shared_ptr<Record> Describe(uint64_t position) const override;
  Status Open(uint64_t position, std::shared_ptr<RandomFile>* file) override;
  Status Check(Record* record) const override;

 private:
  uint64_t RecordAt(uint64_t position) const { return position % records(); }
  uint32_t GroupsAt(uint64_t position) const {
    return static_cast<uint32_t>(position / records()) + 1;
  }
  const PcrEntry& entry(uint64_t record) const {
    return entries_[samples_->row(first_[record]).shard];
  }

  std::shared_ptr<ShardSet> samples_;
  std::vector<PcrEntry> entries_;
  std::vector<uint64_t> first_;  // sample of each record, and their end
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_PCR_SET_H_
