#include "ops/gpu/driver/device_copy.h"

#include <cstring>

#include "ops/gpu/driver/pinned_memory.h"

namespace liquid {

Status CopyToGpu(const CudaDriver& driver, CuContext context, const void* from,
                 size_t size, CuAddress to) {
  const CudaScope scope(driver, context);
  LIQUID_RETURN_IF_ERROR(scope.status());
  PinnedMemory host(driver);
  LIQUID_RETURN_IF_ERROR(host.Reserve(size));
  std::memcpy(host.data(), from, size);
  // The default stream would wait for others, and must not be used while one of
  // them is captured.
  CuStream stream = nullptr;
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver, driver.stream_create(&stream, kCuStreamNonBlocking, 0),
                 "to make a stream"));
  Status status =
      CudaStatus(driver, driver.copy_to_device(to, host.data(), size, stream),
                 "to copy to the GPU");
  // Also after an error: the memory is another's then.
  const Status ended = CudaStatus(driver, driver.stream_synchronize(stream),
                                  "to copy to the GPU");
  if (status.ok()) status = ended;
  driver.stream_destroy(stream);
  return status;
}

}  // namespace liquid
