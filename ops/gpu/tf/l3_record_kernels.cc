#include "ops/gpu/driver/record_memory.h"
#include "ops/gpu/tf/tf_gpu.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

class RegisterRecordsOp : public OpKernel {
 public:
  explicit RegisterRecordsOp(OpKernelConstruction* context)
      : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("device", &device_));
  }

  void Compute(OpKernelContext* context) override {
    TfGpu gpu;
    OP_REQUIRES_OK(context, FindTfGpu(context, device_, &gpu));
    const CudaDriver* driver = nullptr;
    CuContext current = nullptr;
    OP_REQUIRES_OK(context, FindContext(gpu, &driver, &current));
    RegisterRecords(*driver, current, [](const std::string& sentence) {
      LOG(WARNING) << sentence;
    });
  }

 private:
  std::string device_;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>RegisterRecords").Device(tensorflow::DEVICE_CPU),
    RegisterRecordsOp);

}  // namespace
}  // namespace liquid
