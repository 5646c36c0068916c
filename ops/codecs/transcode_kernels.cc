#include <string>

#include "ops/codecs/codec.h"
#include "ops/codecs/transcode.h"
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
    OP_REQUIRES_OK(context, context->GetAttr("channels", &channels_));
    OP_REQUIRES_OK(context, context->GetAttr("target_bits", &bits_));
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    Scan scan;
    const Status status = ScanImage(file, limits_, channels_, bits_, &scan);
    OP_REQUIRES_OK(context,
                   SetScalar<tstring>(
                       context, 0, status.ok() ? FormatName(scan.format) : ""));
    OP_REQUIRES_OK(context, SetScan(context, 1, scan, status));
  }

 private:
  int channels_ = 0;
  int bits_ = 0;
  DecodeLimits limits_;
};

class TranscodeImageOp : public OpKernel {
 public:
  explicit TranscodeImageOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("channels", &channels_));
    OP_REQUIRES_OK(context, context->GetAttr("target_bits", &bits_));
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, GetEncodeOptions(context, &options_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan file, target;
    OP_REQUIRES_OK(context, Scalar(context, 0, &file));
    OP_REQUIRES_OK(context, Scalar(context, 1, &target));
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
    const Status status = Transcode(file, limits_, channels_, bits_, format,
                                    options, &encoded, &scan);
    if (!status.ok()) encoded.clear();
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, encoded));
    OP_REQUIRES_OK(context, SetScan(context, 1, scan, status));
  }

 private:
  int channels_ = 0;
  int bits_ = 0;
  DecodeLimits limits_;
  EncodeOptions options_;
};

REGISTER_KERNEL_BUILDER(Name("Liquid>ScanImage").Device(tensorflow::DEVICE_CPU),
                        ScanImageOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>TranscodeImage").Device(tensorflow::DEVICE_CPU),
    TranscodeImageOp);

}  // namespace
}  // namespace liquid
