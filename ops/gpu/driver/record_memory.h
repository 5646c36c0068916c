// Records are read to memory that a GPU reads by itself.
#ifndef LIQUID_OPS_GPU_DRIVER_RECORD_MEMORY_H_
#define LIQUID_OPS_GPU_DRIVER_RECORD_MEMORY_H_

#include <functional>
#include <string>

#include "ops/gpu/driver/cuda_driver.h"

namespace liquid {

// From now on the process's pool has its memory registered with the driver, for
// all devices. Where that fails, `warn` is told once, in a sentence with what
// to do, on the thread that wanted memory; from then on that is of the usual
// kind, until this is called again. The context must live as long as the
// process, as a device's primary one does.
void RegisterRecords(const CudaDriver& driver, CuContext context,
                     std::function<void(const std::string&)> warn);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_RECORD_MEMORY_H_
