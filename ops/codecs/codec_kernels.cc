#include <algorithm>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/pixels.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/parallel.h"
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

// What one thread decodes at a time: an image, or some rows of one.
struct Band {
  int64_t image;
  DecodePlan plan;
  uint8_t* out;
};

// Cuts what `plan` asks for at multiples of `step` rows of the whole image; 0
// leaves it whole. So does a change of channels, whose errors name a pixel of
// the window.
void AppendBands(int64_t image, uint32_t step, const DecodePlan& plan,
                 uint8_t* out, std::vector<Band>* bands) {
  if (plan.output.channels != plan.stored.channels) step = 0;
  const uint32_t end = plan.window.y + plan.window.height;
  for (uint32_t y = plan.window.y; y < end;) {
    const uint32_t left = end - y;
    const uint32_t rows = step == 0 ? left : std::min(left, step - y % step);
    Band band = {image, plan, out};
    band.plan.window.y = y;
    band.plan.window.height = rows;
    band.plan.output.height = rows;
    bands->push_back(band);
    out += rows * plan.output.RowBytes();
    y += rows;
  }
}

std::string Describe(const ImageInfo& info) {
  return std::to_string(info.height) + " x " + std::to_string(info.width) +
         " x " + std::to_string(info.channels);
}

// DecodeImage takes one file and one window, DecodeImageBatch n of each.
template <bool kBatch>
class DecodeImageOp : public OpKernel {
 public:
  explicit DecodeImageOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, format_.Init(context));
    OP_REQUIRES_OK(context, context->GetAttr("channels", &request_.channels));
    tensorflow::DataType dtype;
    OP_REQUIRES_OK(context, context->GetAttr("dtype", &dtype));
    request_.bits = dtype == tensorflow::DT_UINT16 ? 16 : 8;
    OP_REQUIRES_OK(context, GetLimits(context, &request_.limits));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& contents = context->input(0);
    const Tensor& windows = context->input(1);
    OP_REQUIRES_OK(context, CheckShapes(contents, windows));
    const int64_t n = contents.NumElements();
    const auto files = contents.flat<tstring>();
    std::vector<Format> formats(n);
    std::vector<DecodePlan> plans(n);
    std::vector<uint32_t> steps(n);
    for (int64_t i = 0; i < n; ++i) {
      const Status status =
          Plan(Bytes(files(i)), windows.flat<int32_t>().data() + 4 * i,
               &formats[i], &plans[i], &steps[i]);
      OP_REQUIRES_OK(context, Named(i, status));
      OP_REQUIRES_OK(context,
                     ToTf(CheckSameSize(plans[0].output, plans[i].output, i)));
    }

    ImageInfo info;
    info.channels = static_cast<uint8_t>(request_.channels);
    info.bits = static_cast<uint8_t>(request_.bits);
    if (n > 0) info = plans[0].output;
    TensorShape shape({info.height, info.width, info.channels});
    if (kBatch) shape.InsertDim(0, n);
    Tensor* images = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &images));
    auto* out = static_cast<uint8_t*>(images->data());

    std::vector<Band> bands;
    for (int64_t i = 0; i < n; ++i) {
      AppendBands(i, steps[i], plans[i], out + i * info.PixelBytes(), &bands);
    }
    if (bands.empty()) return;
    std::vector<Status> problems(bands.size());
    const auto decode = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Band& band = bands[i];
        problems[i] = DecodeAs(formats[band.image], Bytes(files(band.image)),
                               request_.limits, band.plan, band.out);
      }
    };
    // Some nanoseconds for each byte, so every band may have a thread of its
    // own. What is cut into bands takes about one.
    const int64_t per_byte = steps[0] == 0 ? 10 : 1;
    const int64_t bytes =
        static_cast<int64_t>(n * info.PixelBytes() / bands.size());
    ParallelFor(context, static_cast<int64_t>(bands.size()),
                per_byte * (bytes + 1000), decode);
    for (size_t i = 0; i < bands.size(); ++i) {
      OP_REQUIRES_OK(context, Named(bands[i].image, problems[i]));
    }
  }

 private:
  Status Plan(ByteSpan file, const int32_t window[4], Format* format,
              DecodePlan* plan, uint32_t* step) const {
    LIQUID_RETURN_IF_ERROR(format_.Find(file, format));
    DecodeRequest request = request_;
    LIQUID_RETURN_IF_ERROR(ReadWindow(window, &request.window));
    LIQUID_RETURN_IF_ERROR(PlanDecode(*format, file, request, plan));
    *step = BandRows(*format, file, request.limits);
    return OkStatus();
  }

  static absl::Status CheckShapes(const Tensor& contents,
                                  const Tensor& windows) {
    TensorShape wanted = contents.shape();
    wanted.AddDim(4);
    if (contents.dims() == (kBatch ? 1 : 0) && windows.shape() == wanted) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        std::string(kBatch
                        ? "contents and windows must have the shapes [n] and "
                          "[n, 4]"
                        : "contents and window must have the shapes [] and "
                          "[4]") +
        ", their shapes are " + contents.shape().DebugString() + " and " +
        windows.shape().DebugString());
  }

  static Status CheckSameSize(const ImageInfo& first, const ImageInfo& other,
                              int64_t number) {
    if (first.height == other.height && first.width == other.width &&
        first.channels == other.channels) {
      return OkStatus();
    }
    return InvalidArgument(
        "images of a batch must have one size: number 0 is " + Describe(first) +
        ", number " + std::to_string(number) + " is " + Describe(other));
  }

  // Names the image of a batch that a problem belongs to.
  static absl::Status Named(int64_t image, const Status& status) {
    if (!kBatch || status.ok()) return ToTf(status);
    return ToTf(Status(status.code(), "image " + std::to_string(image) + ": " +
                                          status.message()));
  }

  FormatAttr format_;
  DecodeRequest request_;
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
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, encoded));
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
    Name("Liquid>DecodeImage").Device(tensorflow::DEVICE_CPU),
    DecodeImageOp<false>);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeImageBatch").Device(tensorflow::DEVICE_CPU),
    DecodeImageOp<true>);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>EncodeImage").Device(tensorflow::DEVICE_CPU), EncodeImageOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>PeekImage").Device(tensorflow::DEVICE_CPU),
                        PeekImageOp);
}  // namespace
}  // namespace liquid
