// What becomes of bad records: an error, or other samples in their place.
#ifndef LIQUID_OPS_DATASET_BATCH_REPAIR_H_
#define LIQUID_OPS_DATASET_BATCH_REPAIR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ops/dataset/batch_queue.h"

namespace liquid {

// With `skip`, a bad record's place in the batch goes to the next draw of its
// format, whose own place goes to the one behind it, and so on: the epoch has
// as many samples fewer as there are bad records, and every batch but the last
// keeps its size and composition, unless so many of a format are bad, or so few
// are there, that none of the next batches has a good one. With
// `repeat_to_fill`, every batch keeps its size.
//
// Thread-compatible.
class BatchRepair {
 public:
  struct Options {
    bool skip = false;
    bool repeat_to_fill = false;  // a gap that is left repeats a sample
  };

  BatchRepair(const Options& options, BatchQueue* queue)
      : options_(options), queue_(queue) {}

  // Makes every slot of `batch` good; `batch` is no longer in the queue.
  // Error: that of the first bad record, without `skip`; Cancelled.
  absl::Status Repair(PendingBatch* batch);
  // Whether nothing of the epoch is left behind `batch`, as far as is known
  // without waiting.
  bool IsLast(const PendingBatch& batch) const;

  // The state: draws that lie behind the last delivered batch and were
  // delivered with it, and the numbers of all skipped samples.
  std::vector<int64_t>& borrowed() { return borrowed_; }
  std::vector<int64_t>& skipped() { return skipped_; }

 private:
  absl::Status FillFromLater(PendingBatch* batch, size_t gap);
  absl::Status FillByRepeating(PendingBatch* batch);
  void MarkBorrowed(PendingBatch* batch);
  void NoteSkipped(const PendingBatch& batch, const Slot& slot);

  const Options options_;
  BatchQueue* const queue_;
  // With repeat_to_fill, a sample of the last batch that had a good one.
  std::unique_ptr<PendingBatch> spare_;
  std::vector<int64_t> borrowed_;
  std::vector<int64_t> skipped_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_BATCH_REPAIR_H_
