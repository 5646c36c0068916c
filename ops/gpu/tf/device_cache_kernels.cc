#include <memory>
#include <string>
#include <utility>

#include "ops/core/arena.h"
#include "ops/dataset/snapshot_resource.h"
#include "ops/gpu/tf/tf_gpu.h"
#include "ops/kernel/tf_status.h"
#include "ops/kernel/values.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class CacheOnDeviceOp : public OpKernel {
 public:
  explicit CacheOnDeviceOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("device", &device_));
  }

  void Compute(OpKernelContext* context) override {
    std::string name;
    int64_t bytes = 0;
    OP_REQUIRES_OK(context, Scalar(context, "snapshot", &name));
    OP_REQUIRES_OK(context, Scalar(context, "bytes", &bytes));
    OP_REQUIRES(context, bytes > 0,
                absl::InvalidArgumentError("bytes must be above 0"));
    TfGpu gpu;
    OP_REQUIRES_OK(context, FindTfGpu(context, device_, &gpu));
    std::shared_ptr<Snapshot> snapshot;
    OP_REQUIRES_OK(context,
                   SnapshotResource::Find(context, name, true, &snapshot));
    // Draws may be decoded more than once, but not what lies on one GPU by
    // another one.
    const std::shared_ptr<Arena> before = snapshot->arena();
    if (before != nullptr) {
      OP_REQUIRES(context, before->where() == device_,
                  absl::InvalidArgumentError(
                      "the cache lies on " + before->where() + ", so " +
                      device_ + " cannot decode these draws"));
      return;
    }
    const tensorflow::AllocationAttributes attributes(
        /*retry_on_failure=*/true, /*allocation_will_be_logged=*/false,
        /*freed_by_func=*/nullptr);
    const auto memory = std::make_shared<const Tensor>(
        gpu.allocator, tensorflow::DT_UINT8, tensorflow::TensorShape({bytes}),
        attributes);
    OP_REQUIRES(context, memory->IsInitialized(),
                absl::ResourceExhaustedError("there is no room for " +
                                             std::to_string(bytes) +
                                             " bytes on " + device_));
    // TensorFlow orders those who have it one after the other on this stream,
    // where batches are not decoded.
    const CudaDriver* driver = nullptr;
    CuContext current = nullptr;
    OP_REQUIRES_OK(context, FindContext(gpu, &driver, &current));
    const CudaScope scope(*driver, current);
    OP_REQUIRES_OK(context, ToTf(scope.status()));
    OP_REQUIRES_OK(
        context,
        ToTf(CudaStatus(*driver, driver->stream_synchronize(gpu.compute),
                        "to wait for TensorFlow's stream")));
    const auto address = reinterpret_cast<uint64_t>(memory->data());
    snapshot->SetArena(std::make_shared<Arena>(
        address, static_cast<uint64_t>(bytes), device_, memory));
  }

 private:
  std::string device_;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>CacheOnDevice").Device(tensorflow::DEVICE_CPU),
    CacheOnDeviceOp);

}  // namespace
}  // namespace liquid
