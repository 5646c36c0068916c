// NVRTC: CUDA C++ compiled on the machine that runs it.
#ifndef LIQUID_OPS_GPU_DRIVER_NVRTC_H_
#define LIQUID_OPS_GPU_DRIVER_NVRTC_H_

#include <string>

#include "ops/core/status.h"

namespace liquid {

// Compiles `source`, in one piece and of C++17, to machine code for devices of
// that compute capability (75, 90), by the latest NVRTC whose code a driver for
// that CUDA takes (12090 is 12.9). Takes seconds. Thread-safe. Errors: NotFound
// without such a libnvrtc, Unimplemented for one that lacks a function,
// Internal with NVRTC's log for a source that does not compile.
Status CompileForDevice(const std::string& source, int cuda, int capability,
                        std::string* image);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_NVRTC_H_
