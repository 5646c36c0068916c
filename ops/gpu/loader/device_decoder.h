// Files in the host's memory, decoded on a GPU by themselves.
#ifndef LIQUID_OPS_GPU_LOADER_DEVICE_DECODER_H_
#define LIQUID_OPS_GPU_LOADER_DEVICE_DECODER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/gpu/driver/l3_slots.h"
#include "ops/gpu/loader/device_images.h"
#include "ops/gpu/loader/host_parts.h"
#include "ops/gpu/plan/device_batch.h"

namespace liquid {

// Thread-safe.
class DeviceDecoder {
 public:
  // The process's, of GPU `number`. It stays, with the memory of two batches
  // beside those that somebody has. `warn` is told once, by any thread, of
  // memory that is not used again (DeviceSlot::WaitFor). Errors: those of
  // FindDevicePlace and HostParts::Create.
  static Status Of(int number,
                   const std::function<void(const std::string&)>& warn,
                   DeviceDecoder** decoder);

  // Decodes at least one file, and waits for it. `steps`: of one view. Errors:
  // those of PlanDeviceBatch and EndDeviceBatch; Unavailable where the GPU or
  // the driver has no memory for the batch.
  Status Decode(const DeviceSteps& steps, std::vector<L3DeviceFile> files,
                std::shared_ptr<const DeviceImages>* images);

 private:
  explicit DeviceDecoder(const std::function<void(const std::string&)>& warn)
      : bell_(std::make_shared<DeviceBell>(warn)) {}

  DevicePlace place_;
  const std::shared_ptr<DeviceBell> bell_;
  L3Slots slots_;
  std::unique_ptr<HostParts> parts_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_LOADER_DEVICE_DECODER_H_
