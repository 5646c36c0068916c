// Reading inputs and attributes, and setting outputs, of the codec kernels.
#ifndef LIQUID_OPS_KERNEL_IMAGE_INPUTS_H_
#define LIQUID_OPS_KERNEL_IMAGE_INPUTS_H_

#include <string>

#include "ops/codecs/codec.h"
#include "ops/kernel/values.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/tstring.h"

namespace liquid {

// Attributes of every op that decodes, for GetLimits; the defaults are those of
// liquid_tf.codecs.Limits.
inline constexpr char kMaxPixels[] = "max_pixels: int >= 1 = 268435456";
inline constexpr char kMaxScans[] = "max_scans: int >= 1 = 100";

inline absl::Status GetLimits(tensorflow::OpKernelConstruction* context,
                              DecodeLimits* limits) {
  int64_t max_pixels = 0, max_scans = 0;
  TF_RETURN_IF_ERROR(context->GetAttr("max_pixels", &max_pixels));
  limits->max_pixels = static_cast<uint64_t>(max_pixels);
  // Ops of L3 alone meet no JPEG.
  if (!context->HasAttr("max_scans")) return absl::OkStatus();
  TF_RETURN_IF_ERROR(context->GetAttr("max_scans", &max_scans));
  limits->max_scans = static_cast<uint64_t>(max_scans);
  return absl::OkStatus();
}

// Reads an attribute that is "fast", "default" or "best".
inline absl::Status GetEffort(tensorflow::OpKernelConstruction* context,
                              const char* name, Effort* effort) {
  std::string word;
  TF_RETURN_IF_ERROR(context->GetAttr(name, &word));
  *effort = word == "fast"   ? Effort::kFast
            : word == "best" ? Effort::kBest
                             : Effort::kDefault;
  return absl::OkStatus();
}

inline absl::Status GetEncodeOptions(tensorflow::OpKernelConstruction* context,
                                     EncodeOptions* options) {
  TF_RETURN_IF_ERROR(context->GetAttr("png_level", &options->png_level));
  TF_RETURN_IF_ERROR(context->GetAttr("jpeg_quality", &options->jpeg_quality));
  TF_RETURN_IF_ERROR(
      context->GetAttr("webp_lossless", &options->webp_lossless));
  TF_RETURN_IF_ERROR(context->GetAttr("webp_quality", &options->webp_quality));
  return GetEffort(context, "l3_effort", &options->l3_effort);
}

// Reads y, x, height, width.
inline Status ReadWindow(const int32_t values[4], Window* window) {
  for (int i = 0; i < 4; ++i) {
    if (values[i] < 0) {
      return InvalidArgument(
          "window (" + std::to_string(values[0]) + ", " +
          std::to_string(values[1]) + ", " + std::to_string(values[2]) + ", " +
          std::to_string(values[3]) + ") must have no negative element");
    }
  }
  window->y = static_cast<uint32_t>(values[0]);
  window->x = static_cast<uint32_t>(values[1]);
  window->height = static_cast<uint32_t>(values[2]);
  window->width = static_cast<uint32_t>(values[3]);
  return OkStatus();
}

// The size, channels and depth of a tensor of uint8 or uint16 to encode.
inline absl::Status GetImageInfo(const tensorflow::Tensor& image,
                                 ImageInfo* info) {
  if (image.dims() != 3 || image.dim_size(0) > UINT32_MAX ||
      image.dim_size(1) > UINT32_MAX || image.dim_size(2) > 4) {
    return absl::InvalidArgumentError(
        "image must have the shape [height, width, 1 to 4 channels], its "
        "shape is " +
        image.shape().DebugString());
  }
  info->height = static_cast<uint32_t>(image.dim_size(0));
  info->width = static_cast<uint32_t>(image.dim_size(1));
  info->channels = static_cast<uint8_t>(image.dim_size(2));
  info->bits = image.dtype() == tensorflow::DT_UINT16 ? 16 : 8;
  return absl::OkStatus();
}

inline absl::Status SetShape(tensorflow::OpKernelContext* context, int index,
                             const ImageInfo& info) {
  tensorflow::Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(
      context->allocate_output(index, tensorflow::TensorShape({3}), &tensor));
  auto shape = tensor->vec<int64_t>();
  shape(0) = info.height;
  shape(1) = info.width;
  shape(2) = info.channels;
  return absl::OkStatus();
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_IMAGE_INPUTS_H_
