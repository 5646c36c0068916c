// Memory of the system in mappings.
#ifndef LIQUID_OPS_CORE_MAP_MEMORY_H_
#define LIQUID_OPS_CORE_MAP_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

constexpr size_t kHugePage = size_t{2} << 20;

// Null where the system has no memory; munmap() gives it back.
uint8_t* Map(size_t size, int flags);

// Begins at a huge page, and is of such, as far as the system has some and up
// to the last whole one. Small ones lie anywhere in memory, so that a disk gets
// a read into them in many pieces: eight requests of 512 KiB for 4 MiB,
// measured, at half of the speed of one. And each of them costs a page fault:
// 4 us where a hypervisor has its part in it, so that a batch's took as long as
// a third of its decoding.
uint8_t* MapHuge(size_t size);

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_MAP_MEMORY_H_
