// Memory for records, reads and batches that is used again.
//
// A block of some megabytes that goes back to the system costs a page fault for
// every 4 KiB when the next one is asked for: more than reading or copying it.
// So a pool keeps what is given back, up to what its users allow out of their
// budgets, and gives it out again to whoever asks for a block of about that
// size.
#ifndef LIQUID_OPS_CORE_BUFFER_POOL_H_
#define LIQUID_OPS_CORE_BUFFER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace liquid {

class MemoryLock;
class BufferPool;

// Owns a block of a pool, alone, and gives it back when it goes. Move-only;
// thread-compatible. May outlive everything but its pool.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { Reset(); }
  Buffer(Buffer&& other) noexcept { Swap(&other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Reset();
    Swap(&other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Null for a buffer of no block. The content is whatever was there.
  uint8_t* data() const { return data_; }
  // At least what was asked for.
  size_t capacity() const { return capacity_; }
  explicit operator bool() const { return data_ != nullptr; }
  void Reset();

 private:
  friend class BufferPool;
  Buffer(BufferPool* pool, uint8_t* data, size_t capacity)
      : pool_(pool), data_(data), capacity_(capacity) {}
  void Swap(Buffer* other);

  BufferPool* pool_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0;
};

// Thread-safe. A block is given out in O(1), or for what one costs the system;
// given back in O(1) and what the system takes for each that goes to it. Blocks
// come in sizes that are at most 1/16 apart, or 64 bytes. Nothing is kept for
// later but what somebody allows.
class BufferPool {
 public:
  struct Counters {
    uint64_t used_bytes = 0;      // in buffers that are alive
    uint64_t retained_bytes = 0;  // kept for later
    uint64_t allowed_bytes = 0;   // at most that
    uint64_t fresh = 0;           // blocks that came from the system
    uint64_t reused = 0;          // and those that did not
  };

  // Lets a pool keep so many bytes more for later, as long as it lives.
  // Move-only; thread-compatible.
  class Allowance {
   public:
    Allowance() = default;
    ~Allowance() { Reset(); }
    Allowance(Allowance&& other) noexcept { Swap(&other); }
    Allowance& operator=(Allowance&& other) noexcept {
      Reset();
      Swap(&other);
      return *this;
    }
    void Reset();

   private:
    friend class BufferPool;
    Allowance(BufferPool* pool, uint64_t bytes) : pool_(pool), bytes_(bytes) {}
    void Swap(Allowance* other);

    BufferPool* pool_ = nullptr;
    uint64_t bytes_ = 0;
  };

  BufferPool();
  // Every buffer and allowance must be gone.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // The pool of the process; it is never destroyed.
  static BufferPool& Process();

  // Aligned to a cache line of 64 bytes, and from BlockSize::kPageAligned on to
  // 4096, as O_DIRECT wants it. An empty buffer where the system has no memory,
  // or for a size of 0.
  Buffer Acquire(size_t size);
  Allowance Allow(uint64_t bytes);
  Counters counters() const;

  // New blocks from BlockSize::kPageAligned on are of memory that a device
  // reads by itself, as far as `lock` gives that (LockedSlabs). What is kept
  // for later and is not goes to the system.
  void LockWith(std::shared_ptr<MemoryLock> lock);
  // Whether a block's bytes, in use, are such memory.
  bool IsLocked(const uint8_t* data) const;

 private:
  friend class Buffer;
  struct State;
  void Release(uint8_t* data, size_t capacity);
  void Disallow(uint64_t bytes);

  const std::unique_ptr<State> state_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_BUFFER_POOL_H_
