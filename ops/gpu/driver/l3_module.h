// The kernels of ops/codecs/l3/device/l3_device.cu as bytes of this library.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_MODULE_H_
#define LIQUID_OPS_GPU_DRIVER_L3_MODULE_H_

#include "ops/core/span.h"

namespace liquid {

struct DeviceModule {
  ByteSpan bytes;
  // CUDA C++ in one piece that has to be compiled first, where this library was
  // built without a CUDA compiler; otherwise a fatbin.
  bool is_source;
};

DeviceModule L3DeviceModule();

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_MODULE_H_
