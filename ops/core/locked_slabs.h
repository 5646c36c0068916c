// Memory whose pages stay where they are, so that a device reads it by itself.
#ifndef LIQUID_OPS_CORE_LOCKED_SLABS_H_
#define LIQUID_OPS_CORE_LOCKED_SLABS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace liquid {

// What keeps pages in place: a device's driver, which core does not know.
// Thread-safe.
class MemoryLock {
 public:
  virtual ~MemoryLock() = default;
  // Whether the pages are now in place. Where they are not, it has told the
  // user.
  virtual bool Lock(uint8_t* data, size_t size) = 0;
  // Of what was locked. Whether they may go.
  virtual bool Unlock(uint8_t* data) = 0;
};

// Blocks of whole pages, cut from slabs that are locked as one: a driver takes
// a while for each piece. Thread-safe.
//
// A device has the physical pages, and would read old ones if the system put
// others in their place. So no page goes before its slab is unlocked, which
// happens when none of its blocks is in use. Free neighbours become one, so
// that blocks of other sizes find room there.
class LockedSlabs {
 public:
  // A slab has a quarter of what there is, within these: a small dataset takes
  // little, a large one few calls of the driver.
  static constexpr size_t kSmallest = size_t{8} << 20;
  static constexpr size_t kLargest = size_t{256} << 20;
  static constexpr size_t kLargestBlock = size_t{64} << 20;
  // Bytes of slabs without a block in use that are kept, while a lock is there.
  static constexpr size_t kMostIdle = size_t{256} << 20;

  LockedSlabs() = default;
  ~LockedSlabs();
  LockedSlabs(const LockedSlabs&) = delete;
  LockedSlabs& operator=(const LockedSlabs&) = delete;

  // Locks the slabs from now on with `lock`, until that fails; null: there come
  // to be no more, and those without a block in use go.
  void LockWith(std::shared_ptr<MemoryLock> lock);
  // Whether new blocks come from here.
  bool is_open() const { return is_open_; }

  // `size` is a multiple of a page. Null where there is no lock, where that
  // fails, and where the system has no memory.
  uint8_t* Allocate(size_t size);
  // False for what is no block of a slab.
  bool Free(uint8_t* data, size_t size);
  // Whether it lies in a slab.
  bool Has(const uint8_t* data) const;

 private:
  struct Slab {
    size_t size;
    size_t used;  // bytes of blocks
    std::shared_ptr<MemoryLock> lock;
  };
  using Slabs = std::map<const uint8_t*, Slab>;

  Slabs::iterator Find(const uint8_t* data);
  uint8_t* Take(size_t size);
  void Insert(uint8_t* data, size_t size);
  void Remove(std::map<uint8_t*, size_t>::iterator range);
  // Lets idle slabs go until at most `most` bytes of them are left.
  void Shrink(size_t most);

  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_empty_{true};
  std::mutex growing_;  // before mu_; held while a slab is made
  mutable std::mutex mu_;
  // All below guarded by mu_.
  std::shared_ptr<MemoryLock> lock_;
  Slabs slabs_;
  size_t total_ = 0, idle_ = 0;  // bytes of slabs
  std::map<uint8_t*, size_t> free_;
  std::set<std::pair<size_t, uint8_t*>> by_size_;  // the same
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_LOCKED_SLABS_H_
