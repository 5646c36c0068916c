// What a conversion asks of a sample before it decodes it.
#include <string>
#include <utility>

#include "ops/codecs/codec.h"
#include "ops/codecs/exif.h"
#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/example/example.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/platform/tstring.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::tstring;

constexpr char kOrientation[] = "orientation";

class WhyUnsupportedOp : public OpKernel {
 public:
  explicit WhyUnsupportedOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    Format format;
    ImageInfo info;
    Status status = SniffFormat(file, &format);
    const bool is_known = status.ok();
    if (is_known) status = Peek(format, file, limits_, &info);
    const bool is_unsupported =
        !is_known || status.code() == StatusCode::kUnimplemented;
    OP_REQUIRES_OK(
        context,
        SetScalar<tstring>(context, 0, is_unsupported ? status.message() : ""));
  }

 private:
  DecodeLimits limits_;
};

// What an example states, 1 to 8, or 0.
int64_t StatedOrientation(const tensorflow::Example& example) {
  const auto& features = example.features().feature();
  const auto found = features.find(kOrientation);
  if (found == features.end()) return 0;
  const auto& values = found->second.int64_list().value();
  if (values.size() != 1 || values[0] < 1 || values[0] > 8) return 0;
  return values[0];
}

class OrientationOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan file, bytes;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    OP_REQUIRES_OK(context, Scalar(context, 1, &bytes));
    std::string serialized(reinterpret_cast<const char*>(bytes.data),
                           bytes.size);
    tensorflow::Example example;
    int64_t orientation =
        example.ParseFromString(serialized) ? StatedOrientation(example) : 1;
    if (orientation == 0) {
      orientation = ExifOrientation(file);
    } else {
      serialized = Without(std::move(example), std::move(serialized));
    }
    OP_REQUIRES_OK(context, SetScalar<int64_t>(context, 0, orientation));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 1, serialized));
  }

 private:
  // An example without its orientation; as it was serialized, if it has none.
  static std::string Without(tensorflow::Example example,
                             std::string serialized) {
    auto& features = *example.mutable_features()->mutable_feature();
    if (features.erase(kOrientation) == 0) return serialized;
    if (features.empty()) return "";
    // The bytes of a dataset must not depend on a map's order.
    std::string result;
    tensorflow::SerializeToStringDeterministic(example, &result);
    return result;
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>WhyUnsupported").Device(tensorflow::DEVICE_CPU),
    WhyUnsupportedOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>Orientation").Device(tensorflow::DEVICE_CPU), OrientationOp);

}  // namespace
}  // namespace liquid
