#include "ops/core/block_store.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace liquid {
namespace {

constexpr size_t kLine = 64;
// From here on a block is a mapping of its own.
constexpr size_t kMapped = size_t{1} << 20;
constexpr size_t kMapping = size_t{64} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int kFirstOctave = 10;
constexpr size_t kSteps = 16;

int Log2(size_t value) {
  return 63 - __builtin_clzll(static_cast<unsigned long long>(value));
}

uint8_t* Map(size_t size, int flags) {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

bool IsAligned(const uint8_t* data) {
  return reinterpret_cast<uintptr_t>(data) % kHugePage == 0;
}

// Of huge pages, as far as the system has some and up to the last whole one.
// Small ones lie anywhere in memory, so that a disk gets a read into them in
// many pieces: eight requests of 512 KiB for 4 MiB, measured, at half of the
// speed of one. And each of them costs a page fault: 4 us where a hypervisor
// has its part in it, so that a batch's took as long as a third of its
// decoding.
uint8_t* MapHuge(size_t size) {
  // Where the system aligns it, neighbours become one mapping.
  uint8_t* data = Map(size, 0);
  if (data != nullptr && !IsAligned(data)) {
    munmap(data, size);
    data = Map(size + kHugePage, 0);
    if (data == nullptr) return nullptr;
    const size_t before = -reinterpret_cast<uintptr_t>(data) % kHugePage;
    if (before > 0) munmap(data, before);
    data += before;
    munmap(data + size, kHugePage - before);
  }
  if (data != nullptr) madvise(data, size, MADV_HUGEPAGE);
  return data;
}

}  // namespace

const size_t BlockSize::kClasses = kSteps + 1 + (41 - kFirstOctave) * kSteps;

size_t BlockSize::For(size_t size) {
  if (size == 0 || size > kLargest) return 0;
  if (size <= size_t{1} << kFirstOctave) {
    return (size + kLine - 1) / kLine * kLine;
  }
  // Of a size in (2^k, 2^(k+1)]; a page from kPageAligned on.
  const size_t step = size_t{1} << (Log2(size - 1) - 4);
  return (size + step - 1) / step * step;
}

size_t BlockSize::ClassOf(size_t capacity) {
  if (capacity <= size_t{1} << kFirstOctave) return capacity / kLine;
  const int octave = Log2(capacity);
  return kSteps + 1 + (octave - kFirstOctave) * kSteps +
         ((capacity >> (octave - 4)) & (kSteps - 1));
}

BlockStore::BlockStore() : cold_(BlockSize::ClassOf(kMapped)) {}

BlockStore::~BlockStore() {
  for (uint8_t* mapping : mappings_) munmap(mapping, kMapping);
}

uint8_t* BlockStore::Allocate(size_t capacity) {
  if (capacity >= kHugePage) return MapHuge(capacity);
  if (capacity >= kMapped) return Map(capacity, 0);
  if (capacity < BlockSize::kPageAligned) {
    return static_cast<uint8_t*>(std::aligned_alloc(kLine, capacity));
  }
  std::lock_guard<std::mutex> lock(mu_);
  std::vector<uint8_t*>& cold = cold_[BlockSize::ClassOf(capacity)];
  if (cold.empty()) return Cut(capacity);
  uint8_t* const data = cold.back();
  cold.pop_back();
  return data;
}

uint8_t* BlockStore::Cut(size_t capacity) {
  if (left_ < capacity) {
    // Nothing is promised to it before it is used.
    uint8_t* const mapping = Map(kMapping, MAP_NORESERVE);
    if (mapping == nullptr) return nullptr;
    // A huge page would bring its neighbours' freed pages back.
    madvise(mapping, kMapping, MADV_NOHUGEPAGE);
    mappings_.push_back(mapping);
    left_ = kMapping;
  }
  uint8_t* const data = mappings_.back() + (kMapping - left_);
  left_ -= capacity;
  return data;
}

void BlockStore::Free(uint8_t* data, size_t capacity) {
  if (capacity >= kMapped) {
    munmap(data, capacity);
  } else if (capacity < BlockSize::kPageAligned) {
    std::free(data);
  } else {
    madvise(data, capacity, MADV_DONTNEED);
    std::lock_guard<std::mutex> lock(mu_);
    cold_[BlockSize::ClassOf(capacity)].push_back(data);
  }
}

}  // namespace liquid
