// The batches of a loader, decoded on a GPU ahead of their delivery.
#ifndef LIQUID_OPS_GPU_LOADER_DEVICE_BATCHES_H_
#define LIQUID_OPS_GPU_LOADER_DEVICE_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/decode_config.h"
#include "ops/engine/loader.h"
#include "ops/gpu/driver/l3_batch.h"
#include "ops/gpu/driver/l3_slots.h"
#include "ops/gpu/loader/device_images.h"
#include "ops/gpu/loader/host_parts.h"
#include "ops/gpu/plan/device_batch.h"
#include "ops/message/messages.h"

namespace liquid {

// A thread takes batches of the loader, whose "image[stored]" are records, and
// has their images made on the GPU, in order and as many at once as kAhead. So
// that many are delivered by the loader that were not given out.
//
// Thread-compatible, but for Cancel.
class DeviceBatches {
 public:
  // Batches that are copied, decoded or ready: one's copy beside the other's
  // kernel.
  static constexpr size_t kAhead = 2;

  struct Batch {
    Loader::Batch batch;  // its records are gone
    std::vector<std::shared_ptr<const DeviceImages>> images;  // of each array
  };

  // `message`: of the loader, which must outlast this. `mean`: what is
  // subtracted from images, which is copied to the GPU. `types`: of the pixels
  // of each view. So many bytes of the GPU's memory are for what the loader's
  // cache keeps. `warn` is told once where records cannot be read to memory
  // that the GPU reads by itself; so they are read, from now on, in this
  // process. It is also told once, by any thread, of memory that is not used
  // again (DeviceSlot::WaitFor). Errors: InvalidArgument where the message has
  // no "image[stored]" and "id", or other views, or the GPU has no memory for
  // the cache or the mean image; those of FindDevicePlace.
  static Status Create(Loader* loader, const DecodeMessage& message,
                       const MeanImage& mean, int device,
                       const std::vector<PixelType>& types,
                       uint64_t cache_bytes,
                       std::function<void(const std::string&)> warn,
                       std::unique_ptr<DeviceBatches>* made);
  ~DeviceBatches() { Stop(); }

  // Of which output of a batch the images come.
  size_t stored() const { return stored_; }

  // Takes the epoch that the loader has begun.
  Status Start();
  // The next batch, or the epoch's end. Errors: those of Loader::Next; those of
  // PlanDeviceBatch and EndDeviceBatch, after which there is no other batch;
  // Unavailable where the GPU or the driver has no memory for a batch, and no
  // batch that was not yet given out would give any back.
  Status Next(Batch* batch);
  // Ends all that Start began, and has the loader cancel the epoch. Batches
  // that were given out stay.
  void Stop();
  // Makes Next give nothing but Cancelled, until the next Start; the loader is
  // to be cancelled too.
  void Cancel();

 private:
  // A batch on its way, or the end, or an error in its place.
  struct Work {
    Status status;
    Batch batch;
    std::vector<RecordPtr> records;
    std::vector<SamplePlan> plans;
    DeviceBatch planned;
    size_t crossing = 0;  // bytes
    std::shared_ptr<L3Slot> slot;
    CuResult result = kCuSuccess;
    bool is_done = false;  // guarded by bell_->mu

    DeviceSlot& on() const { return static_cast<DeviceSlot&>(*slot); }
    bool is_last() const { return slot == nullptr; }
  };

  explicit DeviceBatches(std::function<void(const std::string&)> warn)
      : bell_(std::make_shared<DeviceBell>(std::move(warn))) {}
  void Produce();
  Status Begin(const std::shared_ptr<Work>& work);
  Status TakeSlot(size_t staging, Work* work);
  Status End(Work* work);

  Loader* loader_ = nullptr;
  size_t stored_ = 0, id_ = 0;  // outputs
  DeviceSteps steps_;
  DevicePlace place_;
  std::shared_ptr<const void> mean_;  // memory of the GPU, or null
  const std::shared_ptr<DeviceBell> bell_;
  L3Slots slots_;
  std::unique_ptr<HostParts> parts_;

  // Guarded by bell_->mu.
  std::deque<std::shared_ptr<Work>> ahead_;
  bool waits_ = false;  // somebody, for a batch
  bool cancelled_ = true;

  std::thread producer_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_LOADER_DEVICE_BATCHES_H_
