#include "ops/gpu/loader/device_decoder.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "ops/core/condition.h"
#include "ops/gpu/driver/l3_batch.h"

namespace liquid {
namespace {

// The end of a batch. The driver's thread may have it last.
struct Ending {
  std::mutex mu;
  Condition changed;
  bool is_done = false;          // guarded by mu
  CuResult result = kCuSuccess;  // likewise

  void Tell(CuResult told) {
    std::lock_guard<std::mutex> lock(mu);
    result = told;
    is_done = true;
    changed.NotifyAll();
  }
  CuResult Wait() {
    std::unique_lock<std::mutex> lock(mu);
    changed.Wait(lock, [this] { return is_done; });
    return result;
  }
};

}  // namespace

Status DeviceDecoder::Of(int number,
                         const std::function<void(const std::string&)>& warn,
                         DeviceDecoder** decoder) {
  static std::mutex mutex;
  static auto* const decoders =
      new std::map<int, std::unique_ptr<DeviceDecoder>>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = decoders->find(number);
  if (found != decoders->end()) {
    *decoder = found->second.get();
    return OkStatus();
  }
  std::unique_ptr<DeviceDecoder> made(new DeviceDecoder(warn));
  LIQUID_RETURN_IF_ERROR(FindDevicePlace(number, &made->place_));
  LIQUID_RETURN_IF_ERROR(
      HostParts::Create(std::thread::hardware_concurrency(), &made->parts_));
  *decoder = made.get();
  decoders->emplace(number, std::move(made));
  return OkStatus();
}

Status DeviceDecoder::Decode(const DeviceSteps& steps,
                             std::vector<L3DeviceFile> files,
                             std::shared_ptr<const DeviceImages>* images) {
  DeviceBatch batch;
  batch.files = std::move(files);
  const L3Parallel parallel =
      [this](int64_t count, int64_t cycles,
             const std::function<void(int64_t, int64_t)>& part) {
        parts_->Run(count, cycles, part);
      };
  LIQUID_RETURN_IF_ERROR(PlanDeviceBatch(steps, parallel, &batch));
  const L3LaneLayout layout(batch.tasks, batch.files, batch.images);
  std::shared_ptr<L3Slot> taken;
  LIQUID_RETURN_IF_ERROR(OfMemory(slots_.Take(
      [this] { return std::make_unique<DeviceSlot>(place_, bell_); },
      [&](bool /*may_wait*/, L3Slot* slot) {
        return static_cast<DeviceSlot*>(slot)->Fit(layout.device_size,
                                                   {batch.arrays[0].bytes()});
      },
      &taken)));
  const auto slot = std::static_pointer_cast<DeviceSlot>(taken);
  const auto ending = std::make_shared<Ending>();
  Status status =
      StartDeviceBatch(batch, layout, parallel, slot->memory(), slot->lane(),
                       [ending](CuResult result) { ending->Tell(result); });
  if (status.ok()) {
    status =
        EndDeviceBatch(layout.crossing, ending->Wait(), *slot->lane(), &batch);
  }
  if (status.ok()) {
    slot->Lend();
    *images =
        std::make_shared<DeviceImages>(slot, 0, std::move(batch.arrays[0]));
  }
  slots_.Return(taken.get());
  return OfMemory(status);
}

}  // namespace liquid
