#include <string>

#include "ops/codecs/codec.h"
#include "ops/codecs/l3/host/l3_codec.h"
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

REGISTER_KERNEL_BUILDER(Name("Liquid>EncodeL3").Device(tensorflow::DEVICE_CPU),
                        EncodeL3Op);
REGISTER_KERNEL_BUILDER(Name("Liquid>PeekL3").Device(tensorflow::DEVICE_CPU),
                        PeekL3Op);

}  // namespace
}  // namespace liquid
