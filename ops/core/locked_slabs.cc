#include "ops/core/locked_slabs.h"

#include <sys/mman.h>

#include <algorithm>

#include "ops/core/map_memory.h"

namespace liquid {
namespace {

size_t HugePages(size_t size) {
  return (size + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

LockedSlabs::~LockedSlabs() {
  for (auto& [data, slab] : slabs_) {
    uint8_t* const begin = const_cast<uint8_t*>(data);
    if (slab.lock->Unlock(begin)) munmap(begin, slab.size);
  }
}

void LockedSlabs::LockWith(std::shared_ptr<MemoryLock> lock) {
  std::lock_guard<std::mutex> guard(mu_);
  lock_ = std::move(lock);
  is_open_ = lock_ != nullptr;
  if (lock_ == nullptr) Shrink(0);
}

LockedSlabs::Slabs::iterator LockedSlabs::Find(const uint8_t* data) {
  auto slab = slabs_.upper_bound(data);
  if (slab == slabs_.begin()) return slabs_.end();
  --slab;
  return data < slab->first + slab->second.size ? slab : slabs_.end();
}

bool LockedSlabs::Has(const uint8_t* data) const {
  if (is_empty_) return false;
  std::lock_guard<std::mutex> guard(mu_);
  return const_cast<LockedSlabs*>(this)->Find(data) != slabs_.end();
}

void LockedSlabs::Insert(uint8_t* data, size_t size) {
  free_.emplace(data, size);
  by_size_.emplace(size, data);
}

void LockedSlabs::Remove(std::map<uint8_t*, size_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  free_.erase(range);
}

// From the smallest range that has room.
uint8_t* LockedSlabs::Take(size_t size) {
  const auto best = by_size_.lower_bound({size, nullptr});
  if (best == by_size_.end()) return nullptr;
  const auto [room, data] = *best;
  Remove(free_.find(data));
  if (room > size) Insert(data + size, room - size);
  Slab& slab = Find(data)->second;
  if (slab.used == 0) idle_ -= slab.size;
  slab.used += size;
  return data;
}

uint8_t* LockedSlabs::Allocate(size_t size) {
  if ((!is_open_ && is_empty_) || size > kLargestBlock) return nullptr;
  {
    std::lock_guard<std::mutex> guard(mu_);
    uint8_t* const data = Take(size);
    if (data != nullptr || lock_ == nullptr) return data;
  }
  // Who waits here for a slab that another one makes finds room in that.
  std::lock_guard<std::mutex> growing(growing_);
  std::shared_ptr<MemoryLock> lock;
  size_t room;
  {
    std::lock_guard<std::mutex> guard(mu_);
    uint8_t* const data = Take(size);
    if (data != nullptr || lock_ == nullptr) return data;
    lock = lock_;
    room = HugePages(
        std::max(size, std::min(std::max(total_ / 4, kSmallest), kLargest)));
  }
  uint8_t* const data = MapHuge(room);
  if (data == nullptr) return nullptr;
  const bool is_locked = lock->Lock(data, room);
  std::lock_guard<std::mutex> guard(mu_);
  if (!is_locked) {
    munmap(data, room);
    if (lock_ == lock) {
      lock_ = nullptr;
      is_open_ = false;
    }
    return nullptr;
  }
  slabs_.emplace(data, Slab{room, 0, std::move(lock)});
  is_empty_ = false;
  total_ += room;
  idle_ += room;
  Insert(data, room);
  return Take(size);
}

bool LockedSlabs::Free(uint8_t* data, size_t size) {
  if (is_empty_) return false;
  std::lock_guard<std::mutex> guard(mu_);
  const auto found = Find(data);
  if (found == slabs_.end()) return false;
  Slab& slab = found->second;
  slab.used -= size;
  if (slab.used == 0) idle_ += slab.size;
  // Slabs may lie side by side; a device wants no copy that reaches over both.
  auto next = free_.lower_bound(data);
  if (next != free_.end() && next->first == data + size &&
      next->first < found->first + slab.size) {
    size += next->second;
    Remove(next);
  }
  next = free_.lower_bound(data);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == data && data > found->first) {
      data = before->first;
      size += before->second;
      Remove(before);
    }
  }
  Insert(data, size);
  Shrink(lock_ == nullptr ? 0 : kMostIdle);
  return true;
}

void LockedSlabs::Shrink(size_t most) {
  for (auto slab = slabs_.begin(); idle_ > most && slab != slabs_.end();) {
    const auto here = slab++;
    uint8_t* const data = const_cast<uint8_t*>(here->first);
    const size_t size = here->second.size;
    // What its driver does not let go stays, and is used again.
    if (here->second.used > 0 || !here->second.lock->Unlock(data)) continue;
    munmap(data, size);
    Remove(free_.find(data));
    slabs_.erase(here);
    total_ -= size;
    idle_ -= size;
  }
  is_empty_ = slabs_.empty();
}

}  // namespace liquid
