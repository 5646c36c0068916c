#include "ops/reader/free_blocks.h"

#include <algorithm>
#include <iterator>

namespace liquid {

FreeBlocks::FreeBlocks(uint64_t blocks) {
  if (blocks > 0) Add({0, blocks});
}

void FreeBlocks::Add(Extent extent) {
  left_ += extent.count;
  const auto after = by_begin_.lower_bound(extent.begin);
  if (after != by_begin_.end() && after->first == extent.begin + extent.count) {
    extent.count += after->second;
    by_count_.erase({after->second, after->first});
    by_begin_.erase(after);
  }
  const auto next = by_begin_.lower_bound(extent.begin);
  if (next != by_begin_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == extent.begin) {
      extent = {before->first, before->second + extent.count};
      by_count_.erase({before->second, before->first});
      by_begin_.erase(before);
    }
  }
  by_begin_[extent.begin] = extent.count;
  by_count_.insert({extent.count, extent.begin});
}

// The first blocks of a free piece that has as many.
Extent FreeBlocks::Cut(uint64_t begin, uint64_t count) {
  const auto piece = by_begin_.find(begin);
  const uint64_t all = piece->second;
  by_count_.erase({all, begin});
  by_begin_.erase(piece);
  left_ -= all;
  if (count < all) Add({begin + count, all - count});
  return {begin, count};
}

std::vector<Extent> FreeBlocks::Take(uint64_t blocks) {
  std::vector<Extent> taken;
  if (blocks > left_) return taken;
  while (blocks > 0) {
    auto piece = by_count_.lower_bound({blocks, 0});
    if (piece == by_count_.end()) --piece;
    const auto [count, begin] = *piece;
    taken.push_back(Cut(begin, std::min(blocks, count)));
    blocks -= taken.back().count;
  }
  return taken;
}

void FreeBlocks::Give(const std::vector<Extent>& extents) {
  for (const Extent& extent : extents) Add(extent);
}

}  // namespace liquid
