#include "ops/gpu/driver/l3_slots.h"

#include <algorithm>
#include <utility>

namespace liquid {

Status L3Slots::FindFree(Free* found) {
  *found = {};
  ++calls_;
  for (const auto& slot : slots_) {
    if (slot->is_decoding_) continue;
    if (!slot->is_free_ && slot->IsOurs()) {
      LIQUID_RETURN_IF_ERROR(slot->WaitForOthers());
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
    std::lock_guard<std::mutex> lock(mutex_);
    LIQUID_RETURN_IF_ERROR(FindFree(&found));
    if (found.longest != nullptr) {
      found.longest->is_decoding_ = true;
    } else {
      for (const auto& slot : {found.emptied, found.just_freed}) {
        if (slot != nullptr) slot->is_decoding_ = true;
      }
    }
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

bool L3Slots::AnyToEmpty() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) {
    return slot->is_free_ && !slot->is_decoding_ && !slot->is_empty_;
  });
}

void L3Slots::Empty() {
  Slots idle;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& slot : slots_) {
      if (!slot->is_free_ || slot->is_decoding_ || slot->is_empty_) continue;
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
