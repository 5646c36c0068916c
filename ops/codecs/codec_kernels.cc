#include <cstring>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/kernel_util.h"
#include "ops/codecs/pixels.h"
#include "ops/kernel_parallel.h"
#include "ops/tf_status.h"
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

// The attribute `format`: a name, or empty to go by a file's first bytes.
class FormatAttr {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    std::string name;
    TF_RETURN_IF_ERROR(context->GetAttr("format", &name));
    sniff_ = name.empty();
    return sniff_ ? absl::OkStatus() : ToTf(ParseFormat(name, &format_));
  }

  Status Find(ByteSpan file, Format* format) const {
    *format = format_;
    return sniff_ ? SniffFormat(file, format) : OkStatus();
  }

 private:
  bool sniff_ = true;
  Format format_ = Format::kRaw;
};

// What DecodeImage and DecodeImageBatch share: their attributes and the steps
// before memory is taken.
class Decoder {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(format_.Init(context));
    TF_RETURN_IF_ERROR(context->GetAttr("channels", &request_.channels));
    tensorflow::DataType dtype;
    TF_RETURN_IF_ERROR(context->GetAttr("dtype", &dtype));
    request_.bits = dtype == tensorflow::DT_UINT16 ? 16 : 8;
    return GetLimits(context, &request_.limits);
  }

  Status Plan(ByteSpan file, const int32_t window[4], Format* format,
              DecodePlan* plan) const {
    LIQUID_RETURN_IF_ERROR(format_.Find(file, format));
    DecodeRequest request = request_;
    LIQUID_RETURN_IF_ERROR(ReadWindow(window, &request.window));
    return PlanDecode(*format, file, request, plan);
  }

  const DecodeLimits& limits() const { return request_.limits; }
  int channels() const { return request_.channels; }

 private:
  FormatAttr format_;
  DecodeRequest request_;
};

uint8_t* PixelsOf(Tensor* tensor) {
  return static_cast<uint8_t*>(tensor->data());
}

class DecodeImageOp : public OpKernel {
 public:
  explicit DecodeImageOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, decoder_.Init(context));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    const Tensor& window = context->input(1);
    OP_REQUIRES(context, window.dims() == 1 && window.NumElements() == 4,
                absl::InvalidArgumentError("window must have the shape [4], "
                                           "its shape is " +
                                           window.shape().DebugString()));
    Format format;
    DecodePlan plan;
    OP_REQUIRES_OK(context,
                   ToTf(decoder_.Plan(file, window.flat<int32_t>().data(),
                                      &format, &plan)));
    Tensor* image = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(
                       0,
                       TensorShape({plan.output.height, plan.output.width,
                                    plan.output.channels}),
                       &image));
    OP_REQUIRES_OK(context, ToTf(DecodeAs(format, file, decoder_.limits(), plan,
                                          PixelsOf(image))));
  }

 private:
  Decoder decoder_;
};

class DecodeImageBatchOp : public OpKernel {
 public:
  explicit DecodeImageBatchOp(OpKernelConstruction* context)
      : OpKernel(context) {
    OP_REQUIRES_OK(context, decoder_.Init(context));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& contents = context->input(0);
    const Tensor& windows = context->input(1);
    const int64_t n = contents.NumElements();
    OP_REQUIRES(
        context,
        contents.dims() == 1 && windows.dims() == 2 &&
            windows.dim_size(0) == n && windows.dim_size(1) == 4,
        absl::InvalidArgumentError(
            "contents and windows must have the shapes [n] and [n, 4], their "
            "shapes are " +
            contents.shape().DebugString() + " and " +
            windows.shape().DebugString()));
    const auto files = contents.flat<tstring>();
    std::vector<Format> formats(n);
    std::vector<DecodePlan> plans(n);
    for (int64_t i = 0; i < n; ++i) {
      OP_REQUIRES_OK(
          context,
          Named(i, decoder_.Plan(Bytes(files(i)),
                                 windows.flat<int32_t>().data() + 4 * i,
                                 &formats[i], &plans[i])));
      const ImageInfo& output = plans[i].output;
      const ImageInfo& first = plans[0].output;
      OP_REQUIRES(context,
                  output.height == first.height &&
                      output.width == first.width &&
                      output.channels == first.channels,
                  absl::InvalidArgumentError(
                      "images of a batch must have one size: number 0 is " +
                      Describe(first) + ", number " + std::to_string(i) +
                      " is " + Describe(output)));
    }
    ImageInfo info;
    info.channels = static_cast<uint8_t>(decoder_.channels());
    if (n > 0) info = plans[0].output;
    Tensor* images = nullptr;
    OP_REQUIRES_OK(
        context,
        context->allocate_output(
            0, TensorShape({n, info.height, info.width, info.channels}),
            &images));
    std::vector<Status> problems(n);
    const auto decode = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        problems[i] =
            DecodeAs(formats[i], Bytes(files(i)), decoder_.limits(), plans[i],
                     PixelsOf(images) + i * info.PixelBytes());
      }
    };
    // Decoding takes some nanoseconds per byte, so every image may have a
    // thread of its own.
    ParallelFor(context, n,
                static_cast<int64_t>(10 * info.PixelBytes() + 10000), decode);
    for (int64_t i = 0; i < n; ++i) {
      OP_REQUIRES_OK(context, Named(i, problems[i]));
    }
  }

 private:
  static std::string Describe(const ImageInfo& info) {
    return std::to_string(info.height) + " x " + std::to_string(info.width) +
           " x " + std::to_string(info.channels);
  }

  static absl::Status Named(int64_t index, const Status& status) {
    if (status.ok()) return absl::OkStatus();
    return ToTf(Status(status.code(), "image " + std::to_string(index) + ": " +
                                          status.message()));
  }

  Decoder decoder_;
};

class EncodeImageOp : public OpKernel {
 public:
  explicit EncodeImageOp(OpKernelConstruction* context) : OpKernel(context) {
    std::string name;
    OP_REQUIRES_OK(context, context->GetAttr("format", &name));
    OP_REQUIRES_OK(context, ToTf(ParseFormat(name, &format_)));
    OP_REQUIRES_OK(context, GetEncodeOptions(context, &options_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& image = context->input(0);
    ImageInfo info;
    OP_REQUIRES_OK(context, GetImageInfo(image, &info));
    std::string encoded;
    OP_REQUIRES_OK(
        context,
        ToTf(Encode(format_, options_, info,
                    static_cast<const uint8_t*>(image.data()), &encoded)));
    Tensor* contents = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &contents));
    contents->scalar<tstring>()() = encoded;
  }

 private:
  Format format_ = Format::kRaw;
  EncodeOptions options_;
};

class PeekImageOp : public OpKernel {
 public:
  explicit PeekImageOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, format_.Init(context));
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    Format format;
    ImageInfo info;
    OP_REQUIRES_OK(context, ToTf(format_.Find(file, &format)));
    OP_REQUIRES_OK(context, ToTf(Peek(format, file, limits_, &info)));
    OP_REQUIRES_OK(context, SetShape(context, 0, info));
    OP_REQUIRES_OK(context, SetScalar<int32_t>(context, 1, info.bits));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 2, FormatName(format)));
  }

 private:
  FormatAttr format_;
  DecodeLimits limits_;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeImage").Device(tensorflow::DEVICE_CPU), DecodeImageOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeImageBatch").Device(tensorflow::DEVICE_CPU),
    DecodeImageBatchOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>EncodeImage").Device(tensorflow::DEVICE_CPU), EncodeImageOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>PeekImage").Device(tensorflow::DEVICE_CPU),
                        PeekImageOp);
}  // namespace
}  // namespace liquid
