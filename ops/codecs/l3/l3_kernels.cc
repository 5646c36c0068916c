#include <algorithm>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/kernel_util.h"
#include "ops/codecs/l3/l3_codec.h"
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

// Fewer rows than this are not worth a thread's start.
constexpr uint32_t kMinBandRows = 64;

// Some rows of patches of one image: what one thread decodes at a time.
struct Band {
  int64_t image;
  DecodePlan plan;
  uint8_t* out;
};

// Cuts what `plan` asks for along the borders of patches. A change of channels
// is left whole, since its errors name a pixel of the window.
void AppendBands(int64_t image, uint32_t patch, const DecodePlan& plan,
                 uint8_t* out, std::vector<Band>* bands) {
  const bool converts = plan.output.channels != plan.stored.channels;
  const uint32_t step =
      patch * ((kMinBandRows + patch - 1) / std::max(patch, 1u));
  const uint32_t end = plan.window.y + plan.window.height;
  for (uint32_t y = plan.window.y; y < end;) {
    const uint32_t left = end - y;
    const uint32_t rows =
        converts || step == 0 ? left : std::min(left, step - y % step);
    Band band = {image, plan, out};
    band.plan.window.y = y;
    band.plan.window.height = rows;
    band.plan.output.height = rows;
    bands->push_back(band);
    out += rows * plan.output.RowBytes();
    y += rows;
  }
}

// Names the image of a batch that a problem belongs to.
Status Named(bool batch, int64_t image, const Status& status) {
  if (!batch || status.ok()) return status;
  return Status(status.code(),
                "image " + std::to_string(image) + ": " + status.message());
}

// DecodeL3 takes one file and one window, DecodeL3Batch n of each.
template <bool kBatch>
class DecodeL3Op : public OpKernel {
 public:
  explicit DecodeL3Op(OpKernelConstruction* context) : OpKernel(context) {
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
    std::vector<DecodePlan> plans(n);
    std::vector<uint32_t> patches(n);
    for (int64_t i = 0; i < n; ++i) {
      const Status status =
          Plan(Bytes(files(i)), windows.flat<int32_t>().data() + 4 * i,
               &plans[i], &patches[i]);
      OP_REQUIRES_OK(context, ToTf(Named(kBatch, i, status)));
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
      AppendBands(i, patches[i], plans[i], out + i * info.PixelBytes(), &bands);
    }
    if (bands.empty()) return;
    std::vector<Status> problems(bands.size());
    const auto decode = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Band& band = bands[i];
        problems[i] = DecodeAs(Format::kL3, Bytes(files(band.image)),
                               request_.limits, band.plan, band.out);
      }
    };
    // Of the order of a nanosecond for each byte.
    const int64_t cost =
        static_cast<int64_t>(n * info.PixelBytes() / bands.size()) + 1000;
    ParallelFor(context, static_cast<int64_t>(bands.size()), cost, decode);
    for (size_t i = 0; i < bands.size(); ++i) {
      OP_REQUIRES_OK(context, ToTf(Named(kBatch, bands[i].image, problems[i])));
    }
  }

 private:
  Status Plan(ByteSpan file, const int32_t window[4], DecodePlan* plan,
              uint32_t* patch) const {
    DecodeRequest request = request_;
    LIQUID_RETURN_IF_ERROR(ReadWindow(window, &request.window));
    LIQUID_RETURN_IF_ERROR(PlanDecode(Format::kL3, file, request, plan));
    L3Info info;
    LIQUID_RETURN_IF_ERROR(PeekL3(file, request_.limits, &info));
    *patch = info.patch;
    return OkStatus();
  }

  static absl::Status CheckShapes(const Tensor& contents,
                                  const Tensor& windows) {
    const int batch_dims = kBatch ? 1 : 0;
    TensorShape wanted = contents.shape();
    wanted.AddDim(4);
    if (contents.dims() == batch_dims && windows.shape() == wanted) {
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

  static std::string Describe(const ImageInfo& info) {
    return std::to_string(info.height) + " x " + std::to_string(info.width) +
           " x " + std::to_string(info.channels);
  }

  DecodeRequest request_;
};

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
  }

 private:
  DecodeLimits limits_;
};

REGISTER_KERNEL_BUILDER(Name("Liquid>EncodeL3").Device(tensorflow::DEVICE_CPU),
                        EncodeL3Op);
REGISTER_KERNEL_BUILDER(Name("Liquid>DecodeL3").Device(tensorflow::DEVICE_CPU),
                        DecodeL3Op<false>);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeL3Batch").Device(tensorflow::DEVICE_CPU),
    DecodeL3Op<true>);
REGISTER_KERNEL_BUILDER(Name("Liquid>PeekL3").Device(tensorflow::DEVICE_CPU),
                        PeekL3Op);

}  // namespace
}  // namespace liquid
