// Batches of images in a GPU's memory, on loan to whoever trains with them.
#ifndef LIQUID_OPS_GPU_LOADER_DEVICE_IMAGES_H_
#define LIQUID_OPS_GPU_LOADER_DEVICE_IMAGES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/condition.h"
#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/driver/l3_slots.h"
#include "ops/gpu/plan/device_batch.h"
#include "ops/image/finish.h"

namespace liquid {

// A GPU, and its primary context.
struct DevicePlace {
  const CudaDriver* driver = nullptr;
  int number = 0;
  CuContext context = nullptr;
};

// Finds GPU `number`, and that it takes the kernels. Errors: those of
// LoadCudaDriver, FindPrimaryContext and FindL3Function.
Status FindDevicePlace(int number, DevicePlace* place);

// As the engine says that memory is short; what a limit refuses is another
// error.
Status OfMemory(const Status& status);

// Tells that images were given back, or not. It outlives who made it, as they
// may.
struct DeviceBell {
  explicit DeviceBell(std::function<void(const std::string&)> to)
      : warn(std::move(to)) {}

  const std::function<void(const std::string&)> warn;
  std::atomic<bool> warned_of_capture{false};
  std::mutex mu;
  Condition changed;
  uint64_t given_back = 0;  // guarded by mu
};

// A lane, and memory that the driver gave, of which each array of a batch has a
// part. It goes when neither who decodes nor a batch has it, once all that was
// to be waited for is over. Functions that are not const are for who decodes,
// but for WaitFor and GiveBack.
class DeviceSlot : public L3Slot {
 public:
  DeviceSlot(const DevicePlace& place, std::shared_ptr<DeviceBell> bell)
      : place_(place), bell_(std::move(bell)) {}
  ~DeviceSlot() override;

  bool IsOurs() const override { return lent_ == 0 && !is_captured_; }
  // Whether all of them could be waited for.
  Status WaitForOthers() override;
  void LetGo() override;

  // Makes it have that many bytes, or more, for arrays of those sizes, and a
  // lane. ResourceExhausted where the GPU has no more.
  Status Fit(size_t staging, const std::vector<size_t>& arrays);
  // Lends all arrays; each is given back by itself.
  void Lend() { lent_ = arrays_.size(); }
  void GiveBack();
  // The next batch waits for all that has been given to `stream` so far. While
  // a graph is captured of that, it cannot; and the graph may read the memory
  // whenever it is launched. So no batch gets it then, which is said once.
  void WaitFor(CuStream stream);

  L3Lane* lane() const { return lane_.get(); }
  L3LaneMemory memory() const { return {staging_.address, arrays_}; }
  const DevicePlace& place() const { return place_; }

 private:
  struct Memory {
    CuAddress address = 0;
    size_t size = 0;
  };
  void Keep();
  Status FitAll(size_t staging, size_t pixels);
  Status Reserve(size_t size, Memory* memory) const;
  void Free(Memory* memory) const;

  const DevicePlace place_;
  const std::shared_ptr<DeviceBell> bell_;
  std::unique_ptr<L3Lane> lane_;
  Memory staging_, pixels_;
  std::vector<CuAddress> arrays_;  // in the memory of pixels
  std::atomic<size_t> lent_{0};
  std::atomic<bool> is_captured_{false};  // a graph may read the pixels
  std::mutex mu_;                         // of what others do with the lane
  Status waiting_;  // guarded by mu_: the first that failed
};

// The images of a batch, or of one of their views. They are complete. When all
// of the batch's go, their memory is used again. Thread-safe.
class DeviceImages {
 public:
  // The slot is lent, of which this is array `number`.
  DeviceImages(std::shared_ptr<DeviceSlot> slot, size_t number,
               DeviceArray array)
      : slot_(std::move(slot)), number_(number), array_(std::move(array)) {}
  ~DeviceImages() { slot_->GiveBack(); }
  DeviceImages(const DeviceImages&) = delete;
  DeviceImages& operator=(const DeviceImages&) = delete;

  PixelType type() const { return array_.type; }
  // [n, height, width, channels], or with the channels before the rows.
  const std::vector<int64_t>& shape() const { return array_.shape; }
  CuAddress address() const { return slot_->memory().pixels[number_]; }
  int device() const { return slot_->place().number; }

  // What is given to `stream`, or 1, the legacy default one, from now on finds
  // them complete. InvalidArgument for a stream of another context, whose place
  // could not be marked when they go, and for one that is being captured.
  Status Give(CuStream stream) const;
  // Who has the memory next waits for all that `stream` was given so far.
  void Leave(CuStream stream) const { slot_->WaitFor(stream); }

 private:
  const std::shared_ptr<DeviceSlot> slot_;
  const size_t number_;
  const DeviceArray array_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_LOADER_DEVICE_IMAGES_H_
