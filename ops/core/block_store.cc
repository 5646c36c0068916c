#include "ops/core/block_store.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "ops/core/map_memory.h"

namespace liquid {
namespace {

constexpr size_t kLine = 64;
// From here on a block is a mapping of its own.
constexpr size_t kMapped = size_t{1} << 20;
constexpr size_t kMapping = size_t{64} << 20;
constexpr int kFirstOctave = 10;
constexpr size_t kSteps = 16;

int Log2(size_t value) {
  return 63 - __builtin_clzll(static_cast<unsigned long long>(value));
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

bool BlockStore::IsStale(const uint8_t* data, size_t capacity) const {
  return slabs_.is_open() && capacity >= BlockSize::kPageAligned &&
         capacity <= LockedSlabs::kLargestBlock && !slabs_.Has(data);
}

uint8_t* BlockStore::Allocate(size_t capacity) {
  if (capacity >= BlockSize::kPageAligned) {
    uint8_t* const data = slabs_.Allocate(capacity);
    if (data != nullptr) return data;
  }
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
  if (capacity >= BlockSize::kPageAligned && slabs_.Free(data, capacity)) {
    return;
  }
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
