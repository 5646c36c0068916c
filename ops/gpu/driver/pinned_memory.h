// Memory of the host that a GPU reads by itself.
#ifndef LIQUID_OPS_GPU_DRIVER_PINNED_MEMORY_H_
#define LIQUID_OPS_GPU_DRIVER_PINNED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"

namespace liquid {

// Owns a piece of it, or none. What one gives back another one takes: the
// driver needs a tenth of a second for some hundred MB, which every epoch's
// iterator would wait for. The process keeps as many pieces as have been in use
// at once, but at most kMostPinnedPieces. Not thread-safe; what it is kept in,
// is. A context must be current where it takes or gives back.
class PinnedMemory {
 public:
  explicit PinnedMemory(const CudaDriver& driver) : driver_(driver) {}
  ~PinnedMemory() { GiveBack(); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Has room for `size` bytes, which are then not what they were. Internal
  // where the driver has none; it then has no room at all.
  Status Reserve(size_t size);
  void GiveBack();

  // At a multiple of 256; nullptr while it has none.
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  const CudaDriver& driver_;
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

// Pieces that nobody has.
constexpr size_t kMostPinnedPieces = 8;

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_PINNED_MEMORY_H_
