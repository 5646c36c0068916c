// TensorFlow's GPU as a kernel of the processor sees it.
#ifndef LIQUID_OPS_GPU_TF_TF_GPU_H_
#define LIQUID_OPS_GPU_TF_TF_GPU_H_

#include <string>

#include "ops/gpu/driver/cuda_driver.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/common_runtime/device_mgr.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "xla/stream_executor/stream.h"

namespace liquid {

struct TfGpu {
  tensorflow::Device* device = nullptr;
  tensorflow::Allocator* allocator = nullptr;  // of its memory
  // All that TensorFlow computes on it goes here.
  CuStream compute = nullptr;
};

// Finds the device `name` ("GPU:0") of the kernel's process. NotFound where
// TensorFlow has no such GPU.
inline absl::Status FindTfGpu(tensorflow::OpKernelContext* context,
                              const std::string& name, TfGpu* gpu) {
  tensorflow::FunctionLibraryRuntime* const library =
      context->function_library();
  if (library == nullptr || library->device_mgr() == nullptr) {
    return absl::InternalError("TensorFlow does not tell its devices here");
  }
  tensorflow::Device* device = nullptr;
  const absl::Status found =
      library->device_mgr()->LookupDevice("/device:" + name, &device);
  const auto* const info =
      found.ok() ? device->tensorflow_accelerator_device_info() : nullptr;
  if (info == nullptr) {
    return absl::NotFoundError(
        "TensorFlow has no " + name +
        ": tf.config.list_logical_devices(\"GPU\") must list it, which takes "
        "tensorflow[and-cuda] and an NVIDIA driver");
  }
  gpu->device = device;
  gpu->allocator = device->GetAllocator(tensorflow::AllocatorAttributes());
  gpu->compute = info->stream == nullptr
                     ? nullptr
                     : static_cast<CuStream>(
                           info->stream->platform_specific_handle().stream);
  return absl::OkStatus();
}

// Finds the driver, and the context that TensorFlow made. Errors: those of
// LoadCudaDriver, and of the driver.
inline absl::Status FindContext(const TfGpu& gpu, const CudaDriver** driver,
                                CuContext* context) {
  TF_RETURN_IF_ERROR(ToTf(LoadCudaDriver(driver)));
  return ToTf(CudaStatus(**driver,
                         (*driver)->stream_context(gpu.compute, context),
                         "to find the context of TensorFlow's stream"));
}

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_TF_TF_GPU_H_
