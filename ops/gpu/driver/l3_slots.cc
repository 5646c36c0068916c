#include "ops/gpu/driver/l3_slots.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace liquid {
namespace {

// Calls that show how many free slots are needed.
constexpr uint64_t kShowing = 64;

}  // namespace

Status L3Slots::FindFree(Free* found) {
  *found = {};
  ++calls_;
  for (auto& slot : slots_) {
    if (slot->is_decoding_) continue;
    if (!slot->is_free_ && slot->IsOurs()) {
      const Status waits = slot->WaitForOthers();
      if (!waits.ok()) {
        found->lost = std::move(slot);
        slots_.erase(slots_.begin() + (&slot - slots_.data()));
        return waits;
      }
      slot->is_free_ = true;
      slot->freed_ = calls_;
    }
    if (!slot->is_free_) continue;
    if (slot->is_empty_) {
      found->emptied = slot;
    } else if (slot->freed_ == calls_) {
      found->just_freed = slot;
    } else if (found->longest == nullptr ||
               slot->freed_ < found->longest->freed_) {
      found->longest = slot;
    }
  }
  return OkStatus();
}

Status L3Slots::Take(const Make& make, const Fit& fit,
                     std::shared_ptr<L3Slot>* taken) {
  // Memory may be waited for in `fit`: without the lock, so that batches that
  // end meanwhile give theirs back.
  Free found;
  {
    Slots surplus;  // which goes without the lock: the driver may take its time
    std::lock_guard<std::mutex> lock(mutex_);
    LIQUID_RETURN_IF_ERROR(FindFree(&found));
    if (found.longest != nullptr) {
      found.longest->is_decoding_ = true;
    } else {
      for (const auto& slot : {found.emptied, found.just_freed}) {
        if (slot != nullptr) slot->is_decoding_ = true;
      }
    }
    surplus = TakeSurplus();
  }
  std::shared_ptr<L3Slot> slot = found.longest;
  if (slot == nullptr) {
    const bool is_new = found.emptied == nullptr;
    std::shared_ptr<L3Slot> made = is_new ? make() : found.emptied;
    const Status fits =
        fit(/*may_wait=*/found.just_freed == nullptr, made.get());
    // It may have got a part of it.
    if (!fits.ok()) made->LetGo();
    std::lock_guard<std::mutex> lock(mutex_);
    made->is_decoding_ = fits.ok();
    if (fits.ok()) {
      if (found.just_freed != nullptr) found.just_freed->is_decoding_ = false;
      made->is_free_ = made->is_empty_ = false;
      if (is_new) slots_.push_back(made);
      *taken = std::move(made);
      return OkStatus();
    }
    slot = found.just_freed;
    if (slot == nullptr) {
      // What was given back meanwhile.
      LIQUID_RETURN_IF_ERROR(FindFree(&found));
      slot = found.longest != nullptr ? found.longest : found.just_freed;
      if (slot == nullptr) return fits;
      slot->is_decoding_ = true;
    }
  }
  const Status fits = FitTaken(fit, slot.get());
  if (fits.ok()) {
    *taken = std::move(slot);
  } else {
    Return(slot.get());
  }
  return fits;
}

L3Slots::Slots L3Slots::TakeSurplus() {
  std::vector<size_t> idle;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (HasIdleMemory(*slots_[i])) idle.push_back(i);
  }
  least_idle_ = std::min(least_idle_, idle.size());
  if (calls_ % kShowing != 0) return {};
  const size_t count = std::max<size_t>(least_idle_, 1) - 1;
  least_idle_ = SIZE_MAX;
  Slots surplus;
  for (size_t i = count; i-- > 0;) {
    surplus.push_back(std::move(slots_[idle[i]]));
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(idle[i]));
  }
  return surplus;
}

bool L3Slots::HasIdleMemory(const L3Slot& slot) {
  return slot.is_free_ && !slot.is_decoding_ && !slot.is_empty_;
}

bool L3Slots::AnyToEmpty() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const auto& slot) { return HasIdleMemory(*slot); });
}

void L3Slots::Empty() {
  Slots idle;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& slot : slots_) {
      if (!HasIdleMemory(*slot)) continue;
      slot->is_decoding_ = true;
      idle.push_back(slot);
    }
  }
  // Without the lock, since the driver may take its time.
  for (const auto& slot : idle) slot->LetGo();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& slot : idle) {
    slot->is_empty_ = true;
    slot->is_decoding_ = false;
  }
}

Status L3Slots::FitTaken(const Fit& fit, L3Slot* slot) {
  bool any_to_empty = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    slot->is_free_ = slot->is_empty_ = false;
    any_to_empty = AnyToEmpty();
  }
  const Status fits = fit(/*may_wait=*/!any_to_empty, slot);
  if (!any_to_empty || fits.code() != StatusCode::kResourceExhausted) {
    return fits;
  }
  Empty();
  return fit(/*may_wait=*/true, slot);
}

void L3Slots::Return(L3Slot* slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  slot->is_decoding_ = false;
}

}  // namespace liquid
