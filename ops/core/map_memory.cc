#include "ops/core/map_memory.h"

#include <sys/mman.h>

namespace liquid {
namespace {

bool IsAligned(const uint8_t* data) {
  return reinterpret_cast<uintptr_t>(data) % kHugePage == 0;
}

}  // namespace

uint8_t* Map(size_t size, int flags) {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

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

}  // namespace liquid
