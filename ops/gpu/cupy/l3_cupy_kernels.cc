#include <cstring>
#include <string>
#include <vector>

#include "ops/gpu/driver/l3_module.h"
#include "ops/gpu/plan/l3_plan.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/tstring.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

// The files of a batch, and the window of each that is wanted.
absl::Status ReadFiles(OpKernelContext* context,
                       std::vector<L3DeviceFile>* files) {
  const Tensor& contents = context->input(0);
  const Tensor& windows = context->input(1);
  if (contents.dims() != 1 ||
      windows.shape() != TensorShape({contents.dim_size(0), 4})) {
    return absl::InvalidArgumentError(
        "contents and windows must have the shapes [n] and [n, 4], their "
        "shapes are " +
        contents.shape().DebugString() + " and " +
        windows.shape().DebugString());
  }
  files->resize(contents.NumElements());
  for (size_t i = 0; i < files->size(); ++i) {
    (*files)[i].bytes = Bytes(contents.flat<tstring>()(i));
    TF_RETURN_IF_ERROR(ToTf(ReadWindow(windows.flat<int32_t>().data() + 4 * i,
                                       &(*files)[i].window)));
  }
  return absl::OkStatus();
}

class PlanL3DeviceOp : public OpKernel {
 public:
  explicit PlanL3DeviceOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    std::vector<L3DeviceFile> files;
    OP_REQUIRES_OK(context, ReadFiles(context, &files));
    L3DeviceBatch batch;
    OP_REQUIRES_OK(context, ToTf(PlanL3Device(files, limits_, &batch)));
    OP_REQUIRES_OK(context, Output(context, files, batch));
  }

 private:
  // Gives output `index` as bytes, a row for each of `values`.
  template <typename T>
  static absl::Status Rows(OpKernelContext* context, int index,
                           const std::vector<T>& values) {
    Tensor* tensor = nullptr;
    const auto rows = static_cast<int64_t>(values.size());
    TF_RETURN_IF_ERROR(context->allocate_output(
        index, TensorShape({rows, sizeof(T)}), &tensor));
    if (rows > 0) {
      std::memcpy(tensor->data(), values.data(), rows * sizeof(T));
    }
    return absl::OkStatus();
  }

  static absl::Status Output(OpKernelContext* context,
                             const std::vector<L3DeviceFile>& files,
                             const L3DeviceBatch& batch) {
    Tensor* tensor = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(
        0, TensorShape({static_cast<int64_t>(batch.bytes)}), &tensor));
    FillL3Device(files, batch, tensor->flat<uint8_t>().data());
    TF_RETURN_IF_ERROR(Rows(context, 1, batch.images));
    TF_RETURN_IF_ERROR(Rows(context, 2, batch.runs));
    TF_RETURN_IF_ERROR(context->allocate_output(3, TensorShape({4}), &tensor));
    auto shape = tensor->vec<int64_t>();
    shape(0) = static_cast<int64_t>(files.size());
    shape(1) = batch.image.height;
    shape(2) = batch.image.width;
    shape(3) = batch.image.channels;
    TF_RETURN_IF_ERROR(SetScalar<int32_t>(context, 4, batch.image.bits));
    const int64_t launches = static_cast<int64_t>(batch.launches.size());
    TF_RETURN_IF_ERROR(
        context->allocate_output(5, TensorShape({launches}), &tensor));
    auto kernels = tensor->vec<tstring>();
    TF_RETURN_IF_ERROR(
        context->allocate_output(6, TensorShape({launches, 5}), &tensor));
    auto numbers = tensor->matrix<int32_t>();
    for (int64_t i = 0; i < launches; ++i) {
      const L3DeviceLaunch& launch = batch.launches[i];
      kernels(i) = L3KernelName(launch.kind, "");
      const uint32_t values[] = {launch.first, launch.count, launch.blocks,
                                 launch.threads, launch.shared_bytes};
      for (int j = 0; j < 5; ++j) {
        numbers(i, j) = static_cast<int32_t>(values[j]);
      }
    }
    return absl::OkStatus();
  }

  DecodeLimits limits_;
};

class CheckL3DeviceOp : public OpKernel {
 public:
  explicit CheckL3DeviceOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    std::vector<L3DeviceFile> files;
    OP_REQUIRES_OK(context, ReadFiles(context, &files));
    const Tensor& findings = context->input(2);
    OP_REQUIRES(context, findings.shape() == TensorShape({2}),
                absl::InvalidArgumentError(
                    "findings must have the shape [2], their shape is " +
                    findings.shape().DebugString()));
    L3DeviceBatch batch;
    OP_REQUIRES_OK(context, ToTf(PlanL3Device(files, limits_, &batch)));
    const auto values = findings.vec<uint64_t>();
    OP_REQUIRES_OK(context,
                   ToTf(CheckL3Device(files, batch, {values(0), values(1)})));
  }

 private:
  DecodeLimits limits_;
};

class L3DeviceModuleOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const DeviceModule module = L3DeviceModule();
    OP_REQUIRES_OK(context,
                   SetScalar<tstring>(
                       context, 0,
                       tstring(reinterpret_cast<const char*>(module.bytes.data),
                               module.bytes.size)));
    OP_REQUIRES_OK(context, SetScalar<bool>(context, 1, module.is_source));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>PlanL3Device").Device(tensorflow::DEVICE_CPU), PlanL3DeviceOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>CheckL3Device").Device(tensorflow::DEVICE_CPU),
    CheckL3DeviceOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>L3DeviceModule").Device(tensorflow::DEVICE_CPU),
    L3DeviceModuleOp);

}  // namespace
}  // namespace liquid
