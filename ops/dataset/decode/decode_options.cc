#include "ops/dataset/decode/decode_options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dataset/dataset.h"
#include "ops/image/recipe_text.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/platform/errors.h"

namespace liquid {

absl::Status DecodeAttributes::Read(tensorflow::OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(ctx->GetAttr("output_types", &output_types));
  return ctx->GetAttr("output_shapes", &output_shapes);
}

absl::Status DecodeInputs::Read(tensorflow::OpKernelContext* ctx) {
  TF_RETURN_IF_ERROR(ReadPlan(ctx, &plan, &message));
  const std::pair<const char*, int64_t> tuned[] = {
      {"lookahead", message.lookahead}, {"parallelism", message.parallelism}};
  for (const auto& [name, value] : tuned) {
    if (value != 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " (0) must be at least 1, or -1 (AUTOTUNE)"));
  }
  if (message.image_bits != 8 && message.image_bits != 16) {
    return absl::InvalidArgumentError(
        absl::StrCat("image_bits (", message.image_bits, ") must be 8 or 16"));
  }
  return ReadTensor(ctx, "mean_image", 3, "be [height, width, channels]",
                    &mean_image);
}

namespace {

// What comes out of a mask, or of an image that is neither normalised nor cast.
PixelType TypeOf(tensorflow::DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_UINT16:
      return PixelType::kUint16;
    case tensorflow::DT_FLOAT:
      return PixelType::kFloat32;
    case tensorflow::DT_HALF:
      return PixelType::kFloat16;
    case tensorflow::DT_BFLOAT16:
      return PixelType::kBfloat16;
    default:
      return PixelType::kUint8;
  }
}

FinishSpec ImageSpec(const DecodeMessage& a, const tensorflow::Tensor& mean,
                     const RecipeText& text, tensorflow::DataType dtype) {
  FinishSpec spec;
  spec.stored = a.image_bits == 16 ? PixelType::kUint16 : PixelType::kUint8;
  spec.type = TypeOf(dtype);
  spec.mean = text.mean;
  spec.std = text.std;
  spec.channels_first = text.channels_first;
  const auto values = mean.flat<float>();
  spec.mean_image.assign(values.data(), values.data() + values.size());
  if (!spec.mean_image.empty()) {
    spec.mean_height = static_cast<size_t>(mean.dim_size(0));
    spec.mean_width = static_cast<size_t>(mean.dim_size(1));
  }
  return spec;
}

absl::Status CheckColour(const Recipe& recipe, const FinishSpec& spec) {
  if (!recipe.ChangesColour() ||
      (spec.stored == PixelType::kUint8 && spec.channels == 3)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "ColorJitter and Grayscale need images of 8 bits and 3 channels");
}

// The pixels of the image, or of a mask.
absl::Status ConfigurePixels(const DecodeMessage& a,
                             const tensorflow::Tensor& mean,
                             const RecipeText& text,
                             const OutputFeature& feature, bool mask,
                             const tensorflow::PartialTensorShape& shape,
                             PixelFeature* pixel) {
  const bool planar = text.channels_first && !mask;
  const int rank = a.ragged ? 2 : 4;
  bool known = shape.dims() == rank && !(a.ragged && planar);
  for (int d = 1; known && d < rank; ++d) known = shape.dim_size(d) > 0;
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_shapes of ", feature.name, " (",
                     shape.DebugString(), ") must be ",
                     a.ragged ? "[pixels, channels]"
                     : planar ? "[batch, channels, height, width]"
                              : "[batch, height, width, channels]",
                     ", known but for the first"));
  }
  pixel->example_key = mask ? feature.name : "";
  pixel->dtype = feature.dtype;
  for (int d = 1; d < rank; ++d) pixel->shape.push_back(shape.dim_size(d));
  if (!a.ragged) {
    pixel->height = shape.dim_size(planar ? 2 : 1);
    pixel->width = shape.dim_size(planar ? 3 : 2);
  }
  FinishSpec spec;
  if (mask) {
    spec.stored = spec.type = TypeOf(feature.dtype);
  } else {
    spec = ImageSpec(a, mean, text, feature.dtype);
  }
  spec.channels = static_cast<size_t>(shape.dim_size(planar ? 1 : rank - 1));
  if (!mask) TF_RETURN_IF_ERROR(CheckColour(text.recipe, spec));
  Finisher finisher;
  TF_RETURN_IF_ERROR(ToTf(Finisher::Create(spec, &finisher)));
  pixel->maker = std::make_shared<const ImageMaker>(text.recipe,
                                                    std::move(finisher), mask);
  return absl::OkStatus();
}

// A column whose boxes are padded to box_pad, or lie one after another.
absl::Status ConfigureColumn(const DecodeMessage& a,
                             const tensorflow::PartialTensorShape& shape,
                             OutputFeature* feature, BoxConfig* boxes) {
  // Of a box: a product of two of them does not overflow.
  constexpr int64_t kMostSide = 1 << 20;
  const int outer = a.box_pad > 0 ? 2 : 1;
  bool fits = shape.dims() >= outer && shape.dims() <= outer + 2 &&
              (a.box_pad == 0 || shape.dim_size(1) == a.box_pad);
  for (int d = outer; fits && d < shape.dims(); ++d) {
    feature->box_shape.push_back(shape.dim_size(d));
    fits = shape.dim_size(d) > 0 && shape.dim_size(d) <= kMostSide;
  }
  const std::vector<int64_t>& box = feature->box_shape;
  const bool is_float = feature->dtype == tensorflow::DT_FLOAT;
  const int number = static_cast<int>(boxes->columns.size());
  feature->box_column = number;
  feature->box_pad = a.box_pad;
  if (feature->name == "boxes") {
    fits = fits && is_float && box == std::vector<int64_t>{4};
    boxes->boxes = number;
  } else if (feature->name == "keypoints") {
    fits = fits && is_float && box.size() == 2 && box[1] == 3 &&
           (a.keypoint_flip.empty() ||
            static_cast<int64_t>(a.keypoint_flip.size()) == box[0]);
    boxes->keypoints = number;
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output_shapes of ", feature->name, " (", shape.DebugString(),
        ") must be [batch, box_pad, ...], or [boxes, ...] where box_pad is 0, "
        "with float [4] for boxes and float [keypoint_flip, 3] for keypoints"));
  }
  boxes->columns.push_back({feature->name, feature->dtype, box});
  return absl::OkStatus();
}

// Of all columns together; `config` has them.
absl::Status ConfigureBoxes(const DecodeMessage& a, BoxConfig* config) {
  const auto n = static_cast<int64_t>(a.keypoint_flip.size());
  for (const int64_t from : a.keypoint_flip) {
    if (from < 0 || from >= n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "keypoint_flip (", from, ") must be below ", n, ", its length"));
    }
    config->flip.push_back(static_cast<size_t>(from));
  }
  config->rule.min_visible = a.min_visible;
  if (a.box_pad > 0) config->rule.most = static_cast<size_t>(a.box_pad);
  if (a.box_columns.empty() ||
      (config->columns.size() == a.box_columns.size() &&
       config->columns[config->boxes].name == "boxes")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "box_columns must be different ones of features, with boxes among them");
}

}  // namespace

absl::Status Configure(const DecodeAttributes& attributes,
                       const DecodeInputs& inputs, DecodeConfig* config,
                       std::vector<OutputFeature>* features) {
  const DecodeMessage& a = inputs.message;
  if (a.features.empty() ||
      a.features.size() != attributes.output_types.size() ||
      a.features.size() != attributes.output_shapes.size()) {
    return absl::InvalidArgumentError(
        "features, output_types and output_shapes must have the same number "
        "of entries, at least one");
  }
  config->ragged = a.ragged;
  RecipeText text;
  TF_RETURN_IF_ERROR(ToTf(ParseRecipe(a.recipe, &text)));
  text.recipe.seed = static_cast<uint64_t>(a.seed);
  config->recipe = text.recipe;
  config->limits.max_pixels = static_cast<uint64_t>(a.max_pixels);
  config->limits.max_scans = static_cast<uint64_t>(a.max_scans);
  for (size_t i = 0; i < a.features.size(); ++i) {
    OutputFeature feature;
    feature.name = a.features[i];
    feature.dtype = attributes.output_types[i];
    const tensorflow::PartialTensorShape& shape = attributes.output_shapes[i];
    if (std::count(a.features.begin(), a.features.end(), feature.name) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("features names \"", feature.name, "\" twice"));
    }
    const bool mask = std::find(a.masks.begin(), a.masks.end(), feature.name) !=
                      a.masks.end();
    const bool column = std::find(a.box_columns.begin(), a.box_columns.end(),
                                  feature.name) != a.box_columns.end();
    tensorflow::DataTypeVector types;
    if (column) {
      types = {tensorflow::DT_FLOAT, tensorflow::DT_INT64,
               tensorflow::DT_STRING};
      TF_RETURN_IF_ERROR(ConfigureColumn(a, shape, &feature, &config->boxes));
    } else if (feature.name == "num_boxes" && !a.box_columns.empty()) {
      types = {tensorflow::DT_INT32};
    } else if (feature.name == "image" || mask) {
      types = {tensorflow::DT_UINT8, tensorflow::DT_UINT16};
      if (!mask) {
        types.insert(types.end(), {tensorflow::DT_FLOAT, tensorflow::DT_HALF,
                                   tensorflow::DT_BFLOAT16});
      }
      PixelFeature pixel;
      TF_RETURN_IF_ERROR(ConfigurePixels(a, inputs.mean_image, text, feature,
                                         mask, shape, &pixel));
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
    } else if (feature.name == "window" || feature.name == "size") {
      types = {tensorflow::DT_INT32};
    } else if (feature.name == "affine") {
      types = {tensorflow::DT_DOUBLE};
    } else if (feature.name == "mirrored") {
      types = {tensorflow::DT_BOOL};
    } else if (feature.name == "format" || feature.name == "bytes" ||
               feature.name == "example") {
      types = {tensorflow::DT_STRING};
      config->bytes = config->bytes || feature.name == "bytes";
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "features (\"", feature.name,
          "\") must be image, label, id, format, orientation, window, "
          "mirrored, size, affine, bytes, example, num_boxes, or one of masks "
          "or box_columns"));
    }
    if (std::find(types.begin(), types.end(), feature.dtype) == types.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_types of ", feature.name, " (",
          tensorflow::DataTypeString(feature.dtype), ") does not fit it"));
    }
    features->push_back(std::move(feature));
  }
  return ConfigureBoxes(a, &config->boxes);
}

}  // namespace liquid
