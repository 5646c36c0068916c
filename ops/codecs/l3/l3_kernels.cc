#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/codecs/l3/host/l3_targets.h"
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
using ::tensorflow::tstring;

class EncodeL3Op : public OpKernel {
 public:
  explicit EncodeL3Op(OpKernelConstruction* context) : OpKernel(context) {
    int version = 0;
    OP_REQUIRES_OK(context, context->GetAttr("version", &version));
    OP_REQUIRES(
        context, version == 1 || version == 2,
        absl::InvalidArgumentError("version (" + std::to_string(version) +
                                   ") must be 1 or 2"));
    options_.version = static_cast<L3Version>(version);
    OP_REQUIRES_OK(context, context->GetAttr("patch", &options_.patch));
    std::string profile;
    OP_REQUIRES_OK(context, context->GetAttr("profile", &profile));
    OP_REQUIRES_OK(context, GetEffort(context, "effort", &options_.effort));
    if (profile == "compact") options_.profile = L3Profile::kCompact;
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& image = context->input(0);
    ImageInfo info;
    OP_REQUIRES_OK(context, GetImageInfo(image, &info));
    std::string encoded;
    OP_REQUIRES_OK(
        context,
        ToTf(EncodeL3(options_, info, static_cast<const uint8_t*>(image.data()),
                      &encoded)));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, encoded));
  }

 private:
  L3Options options_;
};

class PeekL3Op : public OpKernel {
 public:
  explicit PeekL3Op(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    L3Info info;
    OP_REQUIRES_OK(context, ToTf(PeekL3(file, limits_, &info)));
    OP_REQUIRES_OK(context, SetShape(context, 0, info.image));
    OP_REQUIRES_OK(context, SetScalar<int32_t>(context, 1, info.image.bits));
    OP_REQUIRES_OK(context, SetScalar<int32_t>(context, 2,
                                               static_cast<int>(info.version)));
    OP_REQUIRES_OK(context, SetScalar<int32_t>(context, 3, info.patch));
    OP_REQUIRES_OK(context, SetScalar<int32_t>(context, 4,
                                               static_cast<int>(info.profile)));
  }

 private:
  DecodeLimits limits_;
};

// Lets this process decode with `target` from now on.
void UseL3Target(VectorTarget target) {
  static std::mutex mu;
  static auto* const chosen = new std::unique_ptr<ScopedL3Target>;
  std::lock_guard<std::mutex> lock(mu);
  *chosen = nullptr;  // gives back what the process began with
  *chosen = std::make_unique<ScopedL3Target>(target);
}

class L3InstructionsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan use;
    OP_REQUIRES_OK(context, Scalar(context, 0, &use));
    const std::string wanted(reinterpret_cast<const char*>(use.data), use.size);
    const std::vector<VectorTarget> targets = RunnableTargets();
    std::string names;
    Tensor* runnable = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(
                       0, {static_cast<int64_t>(targets.size())}, &runnable));
    const VectorTarget* chosen = nullptr;
    for (size_t i = 0; i < targets.size(); ++i) {
      const std::string name = VectorTargetName(targets[i]);
      runnable->vec<tstring>()(static_cast<int64_t>(i)) = name;
      names += (i == 0 ? "" : ", ") + name;
      if (name == wanted) chosen = &targets[i];
    }
    if (wanted.empty()) return;
    OP_REQUIRES(context, chosen != nullptr,
                absl::InvalidArgumentError("use (\"" + wanted +
                                           "\") must be one of " + names));
    UseL3Target(*chosen);
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>L3Instructions").Device(tensorflow::DEVICE_CPU),
    L3InstructionsOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>EncodeL3").Device(tensorflow::DEVICE_CPU),
                        EncodeL3Op);
REGISTER_KERNEL_BUILDER(Name("Liquid>PeekL3").Device(tensorflow::DEVICE_CPU),
                        PeekL3Op);

}  // namespace
}  // namespace liquid
