#include "ops/core/arena.h"

#include <algorithm>
#include <iterator>

namespace liquid {

Arena::Arena(uint64_t address, uint64_t size, std::string where,
             std::shared_ptr<const void> owner)
    : where_(std::move(where)), owner_(std::move(owner)) {
  const uint64_t begin = (address + kAlignment - 1) / kAlignment * kAlignment;
  const uint64_t lost = std::min(size, begin - address);
  counters_.bytes = (size - lost) / kAlignment * kAlignment;
  if (counters_.bytes > 0) AddFree(begin, counters_.bytes);
}

std::shared_ptr<const Arena::Piece> Arena::Take(uint64_t size) {
  const uint64_t wanted =
      std::max<uint64_t>(1, (size + kAlignment - 1) / kAlignment) * kAlignment;
  uint64_t address = 0;
  {
    std::lock_guard<std::mutex> lock(mu_);
    const auto found = by_size_.lower_bound({wanted, 0});
    if (wanted < size || found == by_size_.end()) return nullptr;
    const uint64_t there = found->first;
    address = found->second;
    by_size_.erase(found);
    free_.erase(address);
    if (there > wanted) AddFree(address + wanted, there - wanted);
    counters_.used += wanted;
  }
  return std::make_shared<const Piece>(shared_from_this(), address, wanted);
}

void Arena::GiveBack(uint64_t address, uint64_t size) {
  std::lock_guard<std::mutex> lock(mu_);
  counters_.used -= size;
  const auto next = free_.lower_bound(address);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == address) {
      address = before->first;
      size += before->second;
      by_size_.erase({before->second, before->first});
      free_.erase(before);
    }
  }
  if (next != free_.end() && next->first == address + size) {
    size += next->second;
    by_size_.erase({next->second, next->first});
    free_.erase(next);
  }
  AddFree(address, size);
}

void Arena::AddFree(uint64_t address, uint64_t size) {
  free_.emplace(address, size);
  by_size_.emplace(size, address);
}

Arena::Counters Arena::counters() const {
  std::lock_guard<std::mutex> lock(mu_);
  return counters_;
}

}  // namespace liquid
