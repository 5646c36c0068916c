#include "ops/core/buffer_pool.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "ops/core/block_store.h"

namespace liquid {
namespace {

// Lies in the first bytes of a block that nobody uses.
struct Idle {
  size_t capacity;
  Idle* below;  // of its size, given back before it; null for the first
  Idle* above;  // of its size, given back after it; null for the last
  Idle* older;  // of any size
  Idle* newer;
};

}  // namespace

struct BufferPool::State {
  BlockStore store;
  mutable std::mutex mu;
  // All below guarded by mu.
  Counters counters;
  // Of each size the block that was given back last, whose memory is warmest.
  std::vector<Idle*> top = std::vector<Idle*>(BlockSize::kClasses, nullptr);
  Idle* oldest = nullptr;
  Idle* newest = nullptr;

  void Insert(uint8_t* data, size_t capacity) {
    Idle*& head = top[BlockSize::ClassOf(capacity)];
    Idle* idle = new (data) Idle{capacity, head, nullptr, newest, nullptr};
    if (head != nullptr) head->above = idle;
    head = idle;
    (newest != nullptr ? newest->newer : oldest) = idle;
    newest = idle;
    counters.retained_bytes += capacity;
  }

  void Remove(Idle* idle) {
    if (idle->above != nullptr) {
      idle->above->below = idle->below;
    } else {
      top[BlockSize::ClassOf(idle->capacity)] = idle->below;
    }
    if (idle->below != nullptr) idle->below->above = idle->above;
    (idle->older != nullptr ? idle->older->newer : oldest) = idle->newer;
    (idle->newer != nullptr ? idle->newer->older : newest) = idle->older;
    counters.retained_bytes -= idle->capacity;
  }

  // Takes the blocks that lay longest out of the pool until the rest is within
  // its bound; they are linked by `below`.
  Idle* TakeExcess() {
    Idle* excess = nullptr;
    while (counters.retained_bytes > counters.allowed_bytes) {
      Idle* idle = oldest;
      Remove(idle);
      idle->below = excess;
      excess = idle;
    }
    return excess;
  }

  // To the system. Not under mu: it takes a while.
  void Free(Idle* blocks) {
    while (blocks != nullptr) {
      Idle* const next = blocks->below;
      store.Free(reinterpret_cast<uint8_t*>(blocks), blocks->capacity);
      blocks = next;
    }
  }
};

void Buffer::Swap(Buffer* other) {
  std::swap(pool_, other->pool_);
  std::swap(data_, other->data_);
  std::swap(capacity_, other->capacity_);
}

void Buffer::Reset() {
  if (data_ != nullptr) pool_->Release(data_, capacity_);
  pool_ = nullptr;
  data_ = nullptr;
  capacity_ = 0;
}

void BufferPool::Allowance::Reset() {
  if (pool_ != nullptr) pool_->Disallow(bytes_);
  pool_ = nullptr;
  bytes_ = 0;
}

void BufferPool::Allowance::Swap(Allowance* other) {
  std::swap(pool_, other->pool_);
  std::swap(bytes_, other->bytes_);
}

BufferPool::BufferPool() : state_(std::make_unique<State>()) {}

// Without an allowance it keeps nothing.
BufferPool::~BufferPool() = default;

BufferPool& BufferPool::Process() {
  // Records and tensors may go as late as at the process's exit.
  static auto* const kPool = new BufferPool();
  return *kPool;
}

Buffer BufferPool::Acquire(size_t size) {
  const size_t capacity = BlockSize::For(size);
  if (capacity == 0) return Buffer();
  {
    std::lock_guard<std::mutex> lock(state_->mu);
    state_->counters.used_bytes += capacity;
    if (Idle* idle = state_->top[BlockSize::ClassOf(capacity)]) {
      state_->Remove(idle);
      ++state_->counters.reused;
      return Buffer(this, reinterpret_cast<uint8_t*>(idle), capacity);
    }
    ++state_->counters.fresh;
  }
  uint8_t* data = state_->store.Allocate(capacity);
  if (data != nullptr) return Buffer(this, data, capacity);
  std::lock_guard<std::mutex> lock(state_->mu);
  state_->counters.used_bytes -= capacity;
  --state_->counters.fresh;
  return Buffer();
}

void BufferPool::Release(uint8_t* data, size_t capacity) {
  Idle* excess = nullptr;
  {
    std::lock_guard<std::mutex> lock(state_->mu);
    state_->counters.used_bytes -= capacity;
    // What is too large alone need not push out the others.
    if (capacity <= state_->counters.allowed_bytes &&
        !state_->store.IsStale(data, capacity)) {
      state_->Insert(data, capacity);
      data = nullptr;
      excess = state_->TakeExcess();
    }
  }
  if (data != nullptr) state_->store.Free(data, capacity);
  state_->Free(excess);
}

BufferPool::Allowance BufferPool::Allow(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(state_->mu);
  state_->counters.allowed_bytes += bytes;
  return Allowance(this, bytes);
}

void BufferPool::Disallow(uint64_t bytes) {
  Idle* excess;
  {
    std::lock_guard<std::mutex> lock(state_->mu);
    state_->counters.allowed_bytes -= bytes;
    excess = state_->TakeExcess();
  }
  state_->Free(excess);
}

void BufferPool::LockWith(std::shared_ptr<MemoryLock> lock) {
  Idle* stale = nullptr;
  {
    std::lock_guard<std::mutex> guard(state_->mu);
    state_->store.LockWith(std::move(lock));
    Idle* newer;
    for (Idle* idle = state_->oldest; idle != nullptr; idle = newer) {
      newer = idle->newer;
      if (!state_->store.IsStale(reinterpret_cast<uint8_t*>(idle),
                                 idle->capacity)) {
        continue;
      }
      state_->Remove(idle);
      idle->below = stale;
      stale = idle;
    }
  }
  state_->Free(stale);
}

bool BufferPool::IsLocked(const uint8_t* data) const {
  return state_->store.IsLocked(data);
}

BufferPool::Counters BufferPool::counters() const {
  std::lock_guard<std::mutex> lock(state_->mu);
  return state_->counters;
}

}  // namespace liquid
