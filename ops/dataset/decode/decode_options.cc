#include "ops/dataset/decode/decode_options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/platform/errors.h"

namespace liquid {

absl::Status DecodeAttributes::Read(tensorflow::OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(ctx->GetAttr("features", &features));
  TF_RETURN_IF_ERROR(ctx->GetAttr("masks", &masks));
  TF_RETURN_IF_ERROR(ctx->GetAttr("ragged", &ragged));
  TF_RETURN_IF_ERROR(ctx->GetAttr("random_crop", &random_crop));
  TF_RETURN_IF_ERROR(ctx->GetAttr("random_area", &random_area));
  TF_RETURN_IF_ERROR(ctx->GetAttr("random_aspect", &random_aspect));
  TF_RETURN_IF_ERROR(ctx->GetAttr("mirror", &mirror));
  TF_RETURN_IF_ERROR(ctx->GetAttr("skip_errors", &skip_errors));
  TF_RETURN_IF_ERROR(ctx->GetAttr("repeat_to_fill", &repeat_to_fill));
  TF_RETURN_IF_ERROR(ctx->GetAttr("round_batch", &round_batch));
  TF_RETURN_IF_ERROR(ctx->GetAttr("output_types", &output_types));
  return ctx->GetAttr("output_shapes", &output_shapes);
}

absl::Status DecodeInputs::Read(tensorflow::OpKernelContext* ctx) {
  const struct {
    const char* name;
    int64_t* value;
    int64_t least;
    int64_t most;
  } numbers[] = {{"batch_size", &batch_size, 1, 1 << 30},
                 {"crop_height", &crop_height, 0, 1 << 30},
                 {"crop_width", &crop_width, 0, 1 << 30},
                 {"resize_height", &resize_height, 0, 1 << 20},
                 {"resize_width", &resize_width, 0, 1 << 20},
                 {"seed", &seed, INT64_MIN, INT64_MAX},
                 {"max_pixels", &max_pixels, 1, INT64_MAX},
                 {"max_scans", &max_scans, 1, INT64_MAX},
                 {"lookahead", &lookahead, -1, 1 << 20},
                 {"most_lookahead", &most_lookahead, 1, 1 << 20},
                 {"parallelism", &parallelism, -1, 1 << 16}};
  for (const auto& number : numbers) {
    TF_RETURN_IF_ERROR(tensorflow::data::ParseScalarArgument<int64_t>(
        ctx, number.name, number.value));
    if (*number.value < number.least || *number.value > number.most) {
      return absl::InvalidArgumentError(
          absl::StrCat(number.name, " (", *number.value, ") must be at least ",
                       number.least, " and at most ", number.most));
    }
  }
  for (const auto& number : numbers) {
    if (number.least == -1 && *number.value == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          number.name, " (0) must be at least 1, or -1 (AUTOTUNE)"));
    }
  }
  if ((crop_height == 0) != (crop_width == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("crop (", crop_height, ", ", crop_width,
                     ") must have both sides, or none"));
  }
  if ((resize_height == 0) != (resize_width == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("resize (", resize_height, ", ", resize_width,
                     ") must have both sides, or none"));
  }
  return absl::OkStatus();
}

namespace {

absl::Status ConfigureCrop(const DecodeAttributes& a,
                           const DecodeInputs& inputs, DecodeConfig* config) {
  config->crop.height = static_cast<uint32_t>(inputs.crop_height);
  config->crop.width = static_cast<uint32_t>(inputs.crop_width);
  config->crop.random = a.random_crop;
  config->crop.mirror = a.mirror;
  config->crop.seed = static_cast<uint64_t>(inputs.seed);
  config->resize = inputs.resize_height > 0;
  if (config->resize && a.ragged) {
    return absl::InvalidArgumentError(
        "ragged must be false where images are resized: they have one size");
  }
  if (a.random_area.empty() && a.random_aspect.empty()) {
    return absl::OkStatus();
  }
  if (a.random_area.size() != 2 || a.random_aspect.size() != 2 ||
      inputs.crop_height > 0) {
    return absl::InvalidArgumentError(
        "random_area and random_aspect must have two values each, beside no "
        "crop_height, or none");
  }
  return ToTf(RandomSize::Create(a.random_area[0], a.random_area[1],
                                 a.random_aspect[0], a.random_aspect[1],
                                 &config->crop.size));
}

}  // namespace

absl::Status Configure(const DecodeAttributes& a, const DecodeInputs& inputs,
                       DecodeConfig* config,
                       std::vector<OutputFeature>* features) {
  if (a.features.empty() || a.features.size() != a.output_types.size() ||
      a.features.size() != a.output_shapes.size()) {
    return absl::InvalidArgumentError(
        "features, output_types and output_shapes must have the same number "
        "of entries, at least one");
  }
  config->ragged = a.ragged;
  TF_RETURN_IF_ERROR(ConfigureCrop(a, inputs, config));
  config->limits.max_pixels = static_cast<uint64_t>(inputs.max_pixels);
  config->limits.max_scans = static_cast<uint64_t>(inputs.max_scans);
  for (size_t i = 0; i < a.features.size(); ++i) {
    OutputFeature feature;
    feature.name = a.features[i];
    feature.dtype = a.output_types[i];
    const tensorflow::PartialTensorShape& shape = a.output_shapes[i];
    const bool mask = std::find(a.masks.begin(), a.masks.end(), feature.name) !=
                      a.masks.end();
    tensorflow::DataTypeVector types;
    if (feature.name == "image" || mask) {
      types = {tensorflow::DT_UINT8, tensorflow::DT_UINT16};
      const int rank = a.ragged ? 2 : 4;
      bool known = shape.dims() == rank;
      for (int d = 1; known && d < rank; ++d) known = shape.dim_size(d) > 0;
      if (!known) {
        return absl::InvalidArgumentError(
            absl::StrCat("output_shapes of ", feature.name, " (",
                         shape.DebugString(), ") must be ",
                         a.ragged ? "[pixels, channels]"
                                  : "[batch, height, width, channels]",
                         ", known but for the first"));
      }
      if (config->resize && (shape.dim_size(1) != inputs.resize_height ||
                             shape.dim_size(2) != inputs.resize_width)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "output_shapes of ", feature.name, " (", shape.DebugString(),
            ") must have the sides of resize, ", inputs.resize_height, " and ",
            inputs.resize_width));
      }
      PixelFeature pixel;
      pixel.example_key = mask ? feature.name : "";
      pixel.dtype = feature.dtype;
      pixel.height = a.ragged ? 0 : shape.dim_size(1);
      pixel.width = a.ragged ? 0 : shape.dim_size(2);
      pixel.channels = shape.dim_size(rank - 1);
      feature.pixel = static_cast<int>(config->pixels.size());
      config->pixels.push_back(std::move(pixel));
    } else if (feature.name == "label") {
      types = {tensorflow::DT_INT64, tensorflow::DT_FLOAT};
      if (feature.dtype == tensorflow::DT_FLOAT) {
        feature.label_size = shape.dims() == 2 ? shape.dim_size(1) : -1;
        if (feature.label_size < 0) {
          return absl::InvalidArgumentError(
              "output_shapes of a float32 label must be [batch, size]");
        }
      }
    } else if (feature.name == "id" || feature.name == "orientation") {
      types = {tensorflow::DT_INT64};
    } else if (feature.name == "window") {
      types = {tensorflow::DT_INT32};
    } else if (feature.name == "mirrored") {
      types = {tensorflow::DT_BOOL};
    } else if (feature.name == "format" || feature.name == "bytes" ||
               feature.name == "example") {
      types = {tensorflow::DT_STRING};
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("features (\"", feature.name,
                       "\") must be image, label, id, format, orientation, "
                       "window, mirrored, "
                       "bytes, example, or one of masks"));
    }
    if (std::find(types.begin(), types.end(), feature.dtype) == types.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_types of ", feature.name, " (",
          tensorflow::DataTypeString(feature.dtype), ") does not fit it"));
    }
    features->push_back(std::move(feature));
  }
  return absl::OkStatus();
}

}  // namespace liquid
