// Where a pool's blocks come from, and how they go back to the system.
#ifndef LIQUID_OPS_CORE_BLOCK_STORE_H_
#define LIQUID_OPS_CORE_BLOCK_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ops/core/locked_slabs.h"

namespace liquid {

// Sizes of blocks: multiples of a cache line up to a KiB; above, each doubling
// has sixteen of them.
struct BlockSize {
  static constexpr size_t kLargest = size_t{1} << 40;
  // From here on a block begins at a page, as O_DIRECT wants it.
  static constexpr size_t kPageAligned = size_t{64} << 10;
  static const size_t kClasses;

  // The block size that serves `size` bytes; 0 where none does.
  static size_t For(size_t size);
  // Number of the block size `capacity`, which For gave.
  static size_t ClassOf(size_t capacity);
};

// Thread-safe. A block from kPageAligned on that is freed leaves the process at
// once, whatever its neighbours do; what smaller ones leave is up to malloc.
//
// Blocks as large as a huge page begin at one's border: a page that is shared
// with a neighbour would stay when only one of them goes.
//
// Up to kMapped, blocks are cut from large mappings, and a freed one gives its
// pages back but keeps its addresses for the next of its size: the system has a
// limit on mappings, which one for each block would reach. So the address space
// in use is at most the sum, over the sizes, of the most that was ever used.
//
// Once it has a lock, blocks from kPageAligned to LockedSlabs::kLargestBlock
// are cut from slabs of locked memory instead, as long as the lock succeeds.
class BlockStore {
 public:
  BlockStore();
  ~BlockStore();
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  // Null where the system has no memory.
  uint8_t* Allocate(size_t capacity);
  void Free(uint8_t* data, size_t capacity);

  // See LockedSlabs.
  void LockWith(std::shared_ptr<MemoryLock> lock) {
    slabs_.LockWith(std::move(lock));
  }
  bool IsLocked(const uint8_t* data) const { return slabs_.Has(data); }
  // Whether it is not, and another block of its size would be.
  bool IsStale(const uint8_t* data, size_t capacity) const;

 private:
  uint8_t* Cut(size_t capacity);

  LockedSlabs slabs_;
  std::mutex mu_;
  // All below guarded by mu_.
  std::vector<uint8_t*> mappings_;
  size_t left_ = 0;  // bytes of the last mapping that were not cut
  std::vector<std::vector<uint8_t*>> cold_;  // addresses without pages, by size
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_BLOCK_STORE_H_
