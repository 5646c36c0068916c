// Bytes that are copied to a GPU once, and stay there.
#ifndef LIQUID_OPS_GPU_DRIVER_DEVICE_COPY_H_
#define LIQUID_OPS_GPU_DRIVER_DEVICE_COPY_H_

#include <cstddef>

#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"

namespace liquid {

// Copies bytes to memory of the context's GPU which nobody uses, and waits for
// them. Errors: those of the driver.
Status CopyToGpu(const CudaDriver& driver, CuContext context, const void* from,
                 size_t size, CuAddress to);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_DEVICE_COPY_H_
