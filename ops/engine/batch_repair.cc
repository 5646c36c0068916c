#include "ops/engine/batch_repair.h"

#include <algorithm>

#include "ops/engine/batch_assembler.h"

namespace liquid {
namespace {

// Where all records of a format are bad, or few batches have any, looking for a
// good one would decode the whole rest of the epoch: batches that have bad ones
// and nothing to give, at most, and batches at all. Constants, so that the
// order does not depend on the machine.
constexpr size_t kMostBadDonors = 4;
constexpr size_t kMostAhead = 32;

bool IsUsable(const Slot& slot) { return !slot.taken && !IsBad(slot); }

// What ends the epoch; of damage also how to go on without it.
Status Fatal(const Status& status) {
  if (status.code() != StatusCode::kDataLoss) return status;
  return DataLoss(status.message() +
                  "; on_error=\"skip\" leaves out what is damaged");
}

}  // namespace

Status BatchRepair::Repair(PendingBatch* batch) {
  std::unordered_set<int64_t> borrowed = borrowed_;
  const size_t skipped = skipped_.size();
  const Status status = RepairSlots(batch);
  if (!status.ok()) {
    borrowed_ = std::move(borrowed);
    skipped_.resize(skipped);
  }
  return status;
}

Status BatchRepair::RepairSlots(PendingBatch* batch) {
  MarkBorrowed(batch);
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    Slot& slot = batch->slots[i];
    if (IsUsable(slot)) continue;
    if (slot.taken) {
      borrowed_.erase(static_cast<int64_t>(slot.draw));
    } else {
      if (!options_.skip || LacksMachine(slot.status)) {
        return Fatal(slot.status);
      }
      NoteSkipped(*batch, slot);
    }
    LIQUID_RETURN_IF_ERROR(FillFromLater(batch, i));
  }
  if (options_.repeat_to_fill) LIQUID_RETURN_IF_ERROR(FillByRepeating(batch));
  return DropGaps(allocator_, batch);
}

bool BatchRepair::IsLast(const PendingBatch& batch) const {
  bool last = batch.last;
  const bool may_be_spent = options_.skip && !options_.repeat_to_fill;
  for (size_t i = 0; !last && may_be_spent; ++i) {
    PendingBatch* next = queue_->Peek(i);
    if (next == nullptr ||
        std::any_of(next->slots.begin(), next->slots.end(), IsUsable)) {
      break;
    }
    last = next->last;
  }
  return last;
}

Status BatchRepair::FillFromLater(PendingBatch* batch, size_t gap) {
  const uint32_t format = batch->slots[gap].item->format;
  size_t bad_donors = 0;
  for (size_t ahead = 0; ahead < kMostAhead && bad_donors < kMostBadDonors;
       ++ahead) {
    PendingBatch* donor;
    LIQUID_RETURN_IF_ERROR(queue_->Wait(ahead, &donor));
    if (donor == nullptr) {
      LIQUID_RETURN_IF_ERROR(queue_->input_status());
      break;
    }
    MarkBorrowed(donor);
    // One is left to fill the donor itself with.
    const auto usable =
        std::count_if(donor->slots.begin(), donor->slots.end(), IsUsable);
    if (options_.repeat_to_fill && usable < 2) {
      ++bad_donors;
      continue;
    }
    bool bad = false;
    for (size_t i = 0; i < donor->slots.size(); ++i) {
      const Slot& slot = donor->slots[i];
      if (slot.item->format != format) continue;
      if (!slot.taken && LacksMachine(slot.status)) return slot.status;
      bad |= IsBad(slot);
      if (!IsUsable(slot)) continue;
      borrowed_.insert(static_cast<int64_t>(slot.draw));
      FillGap(batch, gap, donor, i);
      return OkStatus();
    }
    bad_donors += bad;
  }
  batch->slots[gap].taken = true;  // nothing was found: the batch is shorter
  return OkStatus();
}

Status BatchRepair::FillByRepeating(PendingBatch* batch) {
  const auto good =
      std::find_if(batch->slots.begin(), batch->slots.end(), IsUsable);
  if (good == batch->slots.end()) {
    LIQUID_RETURN_IF_ERROR(SpareFromLater());
  } else {
    LIQUID_RETURN_IF_ERROR(
        CopySample(*batch, good - batch->slots.begin(), allocator_, &spare_));
  }
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    if (IsUsable(batch->slots[i])) continue;
    if (spare_ == nullptr) {
      return DataLoss(
          "no sample of this part can be used to fill a batch whose every "
          "record is bad: mend the dataset, or use shard_policy=\"uneven\"; "
          "the first was " +
          first_reason_);
    }
    FillGap(batch, i, spare_.get(), 0);
    spare_->slots[0].taken = false;
  }
  return OkStatus();
}

// Preferred to what was delivered, since a restored iterator has not seen that.
Status BatchRepair::SpareFromLater() {
  const size_t most = spare_ == nullptr ? kMostAhead : kMostBadDonors;
  for (size_t ahead = 0; ahead < most; ++ahead) {
    PendingBatch* later;
    LIQUID_RETURN_IF_ERROR(queue_->Wait(ahead, &later));
    if (later == nullptr) return queue_->input_status();
    MarkBorrowed(later);
    for (const Slot& slot : later->slots) {
      if (!slot.taken && LacksMachine(slot.status)) return slot.status;
    }
    const auto good =
        std::find_if(later->slots.begin(), later->slots.end(), IsUsable);
    if (good == later->slots.end()) continue;
    return CopySample(*later, good - later->slots.begin(), allocator_, &spare_);
  }
  return OkStatus();
}

std::vector<int64_t> BatchRepair::Borrowed() const {
  std::vector<int64_t> draws(borrowed_.begin(), borrowed_.end());
  std::sort(draws.begin(), draws.end());
  return draws;
}

void BatchRepair::SetBorrowed(const std::vector<int64_t>& draws) {
  borrowed_ = {draws.begin(), draws.end()};
}

// After a restore the draws that an earlier batch had are decoded once more.
void BatchRepair::MarkBorrowed(PendingBatch* batch) {
  if (borrowed_.empty()) return;
  for (Slot& slot : batch->slots) {
    slot.taken |= borrowed_.count(static_cast<int64_t>(slot.draw)) > 0;
  }
}

void BatchRepair::NoteSkipped(const PendingBatch& batch, const Slot& slot) {
  const uint64_t sample = slot.item->record->row.sample;
  skipped_.push_back(static_cast<int64_t>(sample));
  if (first_reason_.empty()) first_reason_ = slot.status.message();
  if (batch.run != nullptr) {
    batch.run->Skipped({slot.item->format, sample, slot.status.message()});
  }
}

}  // namespace liquid
