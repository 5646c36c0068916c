// A decoded batch on its way from a kernel of the processor to one of the GPU.
#ifndef LIQUID_OPS_GPU_TF_L3_PIXELS_H_
#define LIQUID_OPS_GPU_TF_L3_PIXELS_H_

#include <string>

#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace liquid {

// A variant that lies on the host, and whose pixels lie in a GPU's memory. They
// are complete. Copied from device to device it stays what it is.
struct L3Pixels {
  tensorflow::Tensor pixels;
  // In whose memory they are; its own, not a wrapper's.
  const tensorflow::DeviceBase* device = nullptr;

  std::string TypeName() const { return "liquid::L3Pixels"; }
  std::string DebugString() const {
    return "pixels on " + (device == nullptr ? "no device" : device->name());
  }
  // It lasts no longer than the process.
  void Encode(tensorflow::VariantTensorData* /*data*/) const {}
  bool Decode(const tensorflow::VariantTensorData& /*data*/) { return false; }
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_TF_L3_PIXELS_H_
