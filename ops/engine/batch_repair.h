// What becomes of bad records: an error, or other samples in their place.
#ifndef LIQUID_OPS_ENGINE_BATCH_REPAIR_H_
#define LIQUID_OPS_ENGINE_BATCH_REPAIR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "ops/engine/batch_queue.h"

namespace liquid {

// With `skip`, a bad record's place in the batch goes to the next draw of its
// format, whose own place goes to the one behind it, and so on: the epoch has
// as many samples fewer as there are bad records, and every batch but the last
// keeps its size and composition, unless so many of a format are bad, or so few
// are there, that none of the next batches has a good one. With
// `repeat_to_fill`, every batch keeps its size. What a machine lacks, memory or
// file handles, is no fault of a record and stays an error.
//
// Thread-compatible.
class BatchRepair {
 public:
  struct Options {
    bool skip = false;
    bool repeat_to_fill = false;  // a gap that is left repeats a sample
  };

  BatchRepair(const Options& options, BatchAllocator* allocator,
              BatchQueue* queue)
      : options_(options), allocator_(allocator), queue_(queue) {}

  // Makes every slot of `batch` good; `batch` is no longer in the queue.
  // Error: that of the first bad record, without `skip`; what the machine
  // lacks; Cancelled. The state is then as it was, since the batch is not
  // delivered.
  Status Repair(PendingBatch* batch);
  // Whether nothing of the epoch is left behind `batch`, as far as is known
  // without waiting.
  bool IsLast(const PendingBatch& batch) const;

  // The state: draws that lie behind the last delivered batch and were
  // delivered with it, and the numbers of all skipped samples.
  std::vector<int64_t> Borrowed() const;  // ascending
  void SetBorrowed(const std::vector<int64_t>& draws);
  std::vector<int64_t>& skipped() { return skipped_; }
  const std::vector<int64_t>& skipped() const { return skipped_; }

  // Why the first sample was skipped; empty before.
  const std::string& first_reason() const { return first_reason_; }

 private:
  Status RepairSlots(PendingBatch* batch);
  Status FillFromLater(PendingBatch* batch, size_t gap);
  Status FillByRepeating(PendingBatch* batch);
  Status SpareFromLater();
  void MarkBorrowed(PendingBatch* batch);
  void NoteSkipped(const PendingBatch& batch, const Slot& slot);

  const Options options_;
  BatchAllocator* const allocator_;
  BatchQueue* const queue_;
  // With repeat_to_fill, the last good sample that was seen.
  std::unique_ptr<PendingBatch> spare_;
  std::unordered_set<int64_t> borrowed_;
  std::vector<int64_t> skipped_;
  std::string first_reason_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BATCH_REPAIR_H_
