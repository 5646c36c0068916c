// Batches of images in a GPU's memory, on loan to whoever trains with them.
#ifndef LIQUID_OPS_GPU_LOADER_DEVICE_IMAGES_H_
#define LIQUID_OPS_GPU_LOADER_DEVICE_IMAGES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/core/condition.h"
#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/driver/l3_slots.h"
#include "ops/image/finish.h"

namespace liquid {

// A GPU, and its primary context.
struct DevicePlace {
  const CudaDriver* driver = nullptr;
  int number = 0;
  CuContext context = nullptr;
};

// Tells that images were given back. It outlives who made it, as they may.
struct DeviceBell {
  std::mutex mu;
  Condition changed;
  uint64_t given_back = 0;  // guarded by mu
};

// A lane, and memory that the driver gave. It goes when neither the loader nor
// a batch has it, once all that was to be waited for is over. Functions that
// are not const are for who decodes, but for WaitFor and GiveBack.
class DeviceSlot : public L3Slot {
 public:
  DeviceSlot(const DevicePlace& place, std::shared_ptr<DeviceBell> bell)
      : place_(place), bell_(std::move(bell)) {}
  ~DeviceSlot() override;

  bool IsOurs() const override { return !is_lent_; }
  // Whether all of them could be waited for.
  Status WaitForOthers() override;
  void LetGo() override;

  // Makes it have that many bytes, or more, and a lane. ResourceExhausted where
  // the GPU has no more.
  Status Fit(size_t staging, size_t pixels);
  void Lend() { is_lent_ = true; }
  void GiveBack();
  // The next batch waits for all that has been given to `stream` so far.
  void WaitFor(CuStream stream);

  L3Lane* lane() const { return lane_.get(); }
  L3LaneMemory memory() const { return {staging_.address, pixels_.address}; }
  const DevicePlace& place() const { return place_; }

 private:
  struct Memory {
    CuAddress address = 0;
    size_t size = 0;
  };
  Status Reserve(size_t size, Memory* memory) const;
  void Free(Memory* memory) const;

  const DevicePlace place_;
  const std::shared_ptr<DeviceBell> bell_;
  std::unique_ptr<L3Lane> lane_;
  Memory staging_, pixels_;
  std::atomic<bool> is_lent_{false};
  std::mutex mu_;   // of what others do with the lane
  Status waiting_;  // guarded by mu_: the first that failed
};

// The images of a batch. They are complete. When they go, their memory is used
// again. Thread-safe.
class DeviceImages {
 public:
  // The slot is lent.
  DeviceImages(std::shared_ptr<DeviceSlot> slot, PixelType type,
               std::vector<int64_t> shape)
      : slot_(std::move(slot)), type_(type), shape_(std::move(shape)) {}
  ~DeviceImages() { slot_->GiveBack(); }
  DeviceImages(const DeviceImages&) = delete;
  DeviceImages& operator=(const DeviceImages&) = delete;

  PixelType type() const { return type_; }
  // [n, height, width, channels], or with the channels before the rows.
  const std::vector<int64_t>& shape() const { return shape_; }
  CuAddress address() const { return slot_->memory().pixels; }
  int device() const { return slot_->place().number; }

  // What is given to `stream`, or 1, the legacy default one, from now on finds
  // them complete. InvalidArgument for a stream of another context, whose place
  // could not be marked when they go.
  Status Give(CuStream stream) const;
  // Who has the memory next waits for all that `stream` was given so far.
  void Leave(CuStream stream) const { slot_->WaitFor(stream); }

 private:
  const std::shared_ptr<DeviceSlot> slot_;
  const PixelType type_;
  const std::vector<int64_t> shape_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_LOADER_DEVICE_IMAGES_H_
