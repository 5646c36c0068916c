#include "ops/dataset/batch_repair.h"

#include <algorithm>

#include "ops/dataset/batch_assembler.h"
#include "ops/tf_status.h"
#include "tensorflow/core/platform/errors.h"

namespace liquid {
namespace {

bool IsUsable(const Slot& slot) { return !slot.taken && !IsBad(slot); }

}  // namespace

absl::Status BatchRepair::Repair(PendingBatch* batch) {
  MarkBorrowed(batch);
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    Slot& slot = batch->slots[i];
    if (IsUsable(slot)) continue;
    if (slot.taken) {
      const auto found = std::find(borrowed_.begin(), borrowed_.end(),
                                   static_cast<int64_t>(slot.draw));
      if (found != borrowed_.end()) borrowed_.erase(found);
    } else {
      if (!options_.skip) return ToTf(slot.status);
      NoteSkipped(*batch, slot);
    }
    TF_RETURN_IF_ERROR(FillFromLater(batch, i));
  }
  if (options_.repeat_to_fill) FillByRepeating(batch);
  DropGaps(batch);
  return absl::OkStatus();
}

bool BatchRepair::IsLast(const PendingBatch& batch) const {
  bool last = batch.last;
  for (size_t i = 0; !last && options_.skip; ++i) {
    PendingBatch* next = queue_->Peek(i);
    if (next == nullptr ||
        std::any_of(next->slots.begin(), next->slots.end(), IsUsable)) {
      break;
    }
    last = next->last;
  }
  return last;
}

absl::Status BatchRepair::FillFromLater(PendingBatch* batch, size_t gap) {
  const uint32_t format = batch->slots[gap].item.format;
  for (size_t ahead = 0;; ++ahead) {
    PendingBatch* donor;
    TF_RETURN_IF_ERROR(queue_->Wait(ahead, &donor));
    if (donor == nullptr) break;
    MarkBorrowed(donor);
    for (size_t i = 0; i < donor->slots.size(); ++i) {
      const Slot& slot = donor->slots[i];
      if (slot.item.format != format || !IsUsable(slot)) continue;
      borrowed_.push_back(static_cast<int64_t>(slot.draw));
      FillGap(batch, gap, donor, i);
      return absl::OkStatus();
    }
  }
  batch->slots[gap].taken = true;  // nothing is left: the batch is shorter
  return absl::OkStatus();
}

void BatchRepair::FillByRepeating(PendingBatch* batch) {
  const auto good =
      std::find_if(batch->slots.begin(), batch->slots.end(), IsUsable);
  if (good == batch->slots.end()) return;
  const auto from = static_cast<size_t>(good - batch->slots.begin());
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    if (!IsUsable(batch->slots[i])) RepeatInto(batch, i, from);
  }
}

// After a restore the draws that an earlier batch had are decoded once more.
void BatchRepair::MarkBorrowed(PendingBatch* batch) {
  if (borrowed_.empty()) return;
  for (Slot& slot : batch->slots) {
    slot.taken |= std::find(borrowed_.begin(), borrowed_.end(),
                            static_cast<int64_t>(slot.draw)) != borrowed_.end();
  }
}

void BatchRepair::NoteSkipped(const PendingBatch& batch, const Slot& slot) {
  const uint64_t sample = slot.item.record->row.sample;
  skipped_.push_back(static_cast<int64_t>(sample));
  if (batch.run != nullptr) {
    batch.run->Skipped({slot.item.format, sample, slot.status.message()});
  }
}

}  // namespace liquid
