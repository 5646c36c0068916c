// The kernels of this library on a device.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_FUNCTIONS_H_
#define LIQUID_OPS_GPU_DRIVER_L3_FUNCTIONS_H_

#include <string>

#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"

namespace liquid {

// Finds the compute capability of a GPU, 75 for 7.5. Error: Unimplemented where
// that is too old for the kernels.
Status CheckCapability(const CudaDriver& driver, CuDevice device,
                       int* capability);

// Finds kernel `name` (l3_device.cu lists them) for the thread's current
// context, which is `context`. The kernels are loaded once a context, and where
// this library carries their source, compiled first; both stay as long as the
// process. Thread-safe. Errors: Unimplemented for a device before compute
// capability 7.5; those of CompileForDevice; Internal where the driver does not
// take the kernels.
Status FindL3Function(const CudaDriver& driver, CuContext context,
                      const std::string& name, CuFunction* function);

// The kernels that come before and after those of tasks, and their launches,
// none where there is nothing to do. Of planning, `count` is the images', of
// checking the tasks'. `findings` is where L3DeviceFindings lie.
constexpr char kL3PlanKernel[] = "liquid_l3_plan";
constexpr char kL3CheckKernel[] = "liquid_l3_check";
Status LaunchL3Plan(const CudaDriver& driver, CuFunction kernel,
                    CuStream stream, uint32_t count, CuAddress images,
                    CuAddress runs, CuAddress bytes, CuAddress tasks,
                    CuAddress results);
Status LaunchL3Check(const CudaDriver& driver, CuFunction kernel,
                     CuStream stream, uint32_t count, CuAddress tasks,
                     CuAddress results, CuAddress findings);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_FUNCTIONS_H_
