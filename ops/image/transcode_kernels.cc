#include <string>

#include "ops/codecs/codec.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/image/transcode.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/tstring.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::tstring;

// Reads the attributes that are changes of every image.
absl::Status GetChanges(OpKernelConstruction* context, Changes* changes) {
  TF_RETURN_IF_ERROR(context->GetAttr("channels", &changes->channels));
  TF_RETURN_IF_ERROR(context->GetAttr("target_bits", &changes->bits));
  ResizeStep& resize = changes->resize;
  std::string kind, interpolation;
  TF_RETURN_IF_ERROR(context->GetAttr("resize", &kind));
  TF_RETURN_IF_ERROR(context->GetAttr("interpolation", &interpolation));
  TF_RETURN_IF_ERROR(context->GetAttr("antialias", &resize.antialias));
  int32_t height = 0, width = 0;
  TF_RETURN_IF_ERROR(context->GetAttr("resize_height", &height));
  TF_RETURN_IF_ERROR(context->GetAttr("resize_width", &width));
  if (kind == "none") return absl::OkStatus();
  if (height < 1 || (kind == "exact" && width < 1)) {
    return absl::InvalidArgumentError(
        "resize_height (" + std::to_string(height) + ") and resize_width (" +
        std::to_string(width) + ") must be at least 1");
  }
  resize.height = static_cast<uint32_t>(height);
  resize.width = static_cast<uint32_t>(width);
  resize.kind = kind == "exact"     ? ResizeStep::Kind::kExact
                : kind == "shorter" ? ResizeStep::Kind::kShorter
                                    : ResizeStep::Kind::kLonger;
  resize.interpolation = interpolation == "nearest" ? Interpolation::kNearest
                         : interpolation == "bicubic"
                             ? Interpolation::kBicubic
                             : Interpolation::kBilinear;
  return absl::OkStatus();
}

// Reads the image's own: input `index`.
absl::Status GetOrientation(OpKernelContext* context, int index,
                            Changes* changes) {
  const tensorflow::Tensor& tensor = context->input(index);
  if (!tensorflow::TensorShapeUtils::IsScalar(tensor.shape())) {
    return absl::InvalidArgumentError("orientation must be a scalar");
  }
  const int64_t value = tensor.scalar<int64_t>()();
  if (value < 1 || value > 8) {
    return absl::InvalidArgumentError("orientation (" + std::to_string(value) +
                                      ") must be 1 to 8");
  }
  changes->orientation = static_cast<uint8_t>(value);
  return absl::OkStatus();
}

// Sets four outputs from `first` on: shape, bits, pixels_hash, error.
absl::Status SetScan(OpKernelContext* context, int first, const Scan& scan,
                     const Status& status) {
  ImageInfo info = scan.info;
  if (!status.ok()) {
    info = ImageInfo();
    info.bits = 0;
  }
  TF_RETURN_IF_ERROR(SetShape(context, first, info));
  TF_RETURN_IF_ERROR(SetScalar<int32_t>(context, first + 1, info.bits));
  TF_RETURN_IF_ERROR(SetScalar<int64_t>(
      context, first + 2,
      status.ok() ? static_cast<int64_t>(scan.pixels_hash) : 0));
  return SetScalar<tstring>(context, first + 3, status.message());
}

class ScanImageOp : public OpKernel {
 public:
  explicit ScanImageOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetChanges(context, &changes_));
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, context->GetAttr("decode", &decode_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    Changes changes = changes_;
    OP_REQUIRES_OK(context, GetOrientation(context, 1, &changes));
    Scan scan;
    const Status status = decode_ ? ScanImage(file, limits_, changes, &scan)
                                  : ScanHeader(file, limits_, &scan);
    OP_REQUIRES_OK(context,
                   SetScalar<tstring>(
                       context, 0, status.ok() ? FormatName(scan.format) : ""));
    OP_REQUIRES_OK(context, SetScan(context, 1, scan, status));
    OP_REQUIRES_OK(context, SetShape(context, 5,
                                     status.ok() ? scan.changed : ImageInfo()));
  }

 private:
  Changes changes_;
  DecodeLimits limits_;
  bool decode_;
};

class TranscodeImageOp : public OpKernel {
 public:
  explicit TranscodeImageOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetChanges(context, &changes_));
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, GetEncodeOptions(context, &options_));
    OP_REQUIRES_OK(context,
                   context->GetAttr("jpeg_one_scan", &options_.jpeg_one_scan));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file, target;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    OP_REQUIRES_OK(context, Scalar(context, 1, &target));
    Changes changes = changes_;
    OP_REQUIRES_OK(context, GetOrientation(context, 2, &changes));
    std::string name(reinterpret_cast<const char*>(target.data), target.size);
    EncodeOptions options = options_;
    if (name == "webp-lossy") {
      name = "webp";
      options.webp_lossless = false;
    }
    Format format;
    OP_REQUIRES_OK(context, ToTf(ParseFormat(name, &format)));
    std::string encoded;
    Scan scan;
    const Status status =
        Transcode(file, limits_, changes, format, options, &encoded, &scan);
    if (!status.ok()) encoded.clear();
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, encoded));
    OP_REQUIRES_OK(context, SetScan(context, 1, scan, status));
  }

 private:
  Changes changes_;
  DecodeLimits limits_;
  EncodeOptions options_;
};

class HasJpegScansOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    Format format;
    const bool is_jpeg =
        SniffFormat(file, &format).ok() && format == Format::kJpeg;
    OP_REQUIRES_OK(context,
                   SetScalar<bool>(context, 0, is_jpeg && HasScans(file)));
  }
};

REGISTER_KERNEL_BUILDER(Name("Liquid>ScanImage").Device(tensorflow::DEVICE_CPU),
                        ScanImageOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>TranscodeImage").Device(tensorflow::DEVICE_CPU),
    TranscodeImageOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>HasJpegScans").Device(tensorflow::DEVICE_CPU), HasJpegScansOp);

}  // namespace
}  // namespace liquid
