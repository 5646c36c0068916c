#include "ops/engine/decode_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/engine/batch_mixer.h"
#include "ops/image/draws.h"
#include "ops/image/recipe_text.h"

namespace liquid {
namespace {

// What comes out of a mask, or of an image that is neither normalised nor cast.
PixelType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kUint16:
      return PixelType::kUint16;
    case DType::kFloat32:
      return PixelType::kFloat32;
    case DType::kFloat16:
      return PixelType::kFloat16;
    case DType::kBfloat16:
      return PixelType::kBfloat16;
    default:
      return PixelType::kUint8;
  }
}

FinishSpec ImageSpec(const DecodeMessage& a, const MeanImage& mean,
                     const RecipeText& text, DType dtype) {
  FinishSpec spec;
  spec.stored = a.image_bits == 16 ? PixelType::kUint16 : PixelType::kUint8;
  spec.type = TypeOf(dtype);
  spec.mean = text.mean;
  spec.std = text.std;
  spec.channels_first = text.channels_first;
  spec.mean_image = mean.values;
  spec.mean_height = static_cast<size_t>(mean.height);
  spec.mean_width = static_cast<size_t>(mean.width);
  return spec;
}

Status CheckColour(const Recipe& recipe, const FinishSpec& spec) {
  const bool bytes = spec.stored == PixelType::kUint8;
  const bool colours = bytes && spec.channels == 3;
  if (recipe.NeedsColours() && !colours) {
    return InvalidArgument(
        "ColorJitter and Grayscale need images of 8 bits and 3 channels");
  }
  if (recipe.NeedsBytes() && !colours && !(bytes && spec.channels == 1)) {
    return InvalidArgument(
        "a policy, GaussianBlur and Solarize need images of 8 bits and 1 or 3 "
        "channels");
  }
  return OkStatus();
}

Status CheckErasing(const Recipe& recipe, const FinishSpec& spec) {
  if (recipe.erase == 0) return OkStatus();
  if (spec.type == spec.stored) {
    return InvalidArgument(
        "RandomErasing needs images of floating-point numbers");
  }
  const size_t values = recipe.erasing.values.size();
  if (values <= 1 || values == spec.channels) return OkStatus();
  return InvalidArgument(
      "RandomErasing must have one value, or one for each of the " +
      std::to_string(spec.channels) + " channels");
}

// What a mixer does with the images of one view, it does with all.
Status CheckAlike(const RecipeText& text, const RecipeText& first) {
  const ErasingStep& erasing = text.recipe.erasing;
  const ErasingStep& other = first.recipe.erasing;
  if (text.mean == first.mean && text.std == first.std &&
      text.channels_first == first.channels_first &&
      erasing.noise == other.noise && erasing.values == other.values) {
    return OkStatus();
  }
  return InvalidArgument(
      "Mix needs views of one Normalize, RandomErasing and layout");
}

// Leaves to a mixer what follows the decoding of the image: `pixel`, of the
// array whose number is `number`, then has its stored numbers.
Status LeaveToMixer(const RecipeText& text, const OutputFeature& feature,
                    const FinishSpec& spec, size_t number, PixelFeature* pixel,
                    MixerConfig* mixer) {
  mixer->pixel = number;
  mixer->height = pixel->height;
  mixer->width = pixel->width;
  mixer->dtype = feature.dtype;
  mixer->shape = pixel->shape;
  mixer->finish = spec;
  mixer->erasing = text.recipe.erasing;
  if (spec.type == spec.stored) {
    return InvalidArgument("Mix needs images of floating-point numbers");
  }
  FinishSpec plain;
  plain.stored = plain.type = spec.stored;
  plain.channels = spec.channels;
  Finisher finisher;
  LIQUID_RETURN_IF_ERROR(Finisher::Create(plain, &finisher));
  pixel->dtype =
      spec.stored == PixelType::kUint16 ? DType::kUint16 : DType::kUint8;
  pixel->shape = {pixel->height, pixel->width,
                  static_cast<int64_t>(spec.channels)};
  pixel->maker = std::make_shared<const ImageMaker>(
      text.recipe, std::move(finisher), /*mask=*/false);
  return OkStatus();
}

Status CheckMix(const DecodeMessage& a, const MixStep& mix) {
  if (mix.given && !a.views.empty() && !a.stacked) {
    return InvalidArgument("Mix must not be given with views, unless stacked");
  }
  if (!mix.mixes()) return OkStatus();
  const bool image = std::any_of(
      a.features.begin(), a.features.end(), [](const std::string& name) {
        return name == "image" || name == "image[stored]";
      });
  if (image && !a.ragged && a.box_columns.empty()) return OkStatus();
  return InvalidArgument(
      "Mix needs image among features, of one size, and no box_columns");
}

// A label of one class, as numbers for each.
Status ConfigureMixedLabel(const MixStep& mix, OutputFeature* feature) {
  if (feature->dtype != DType::kFloat32 || feature->label_size < 1) {
    return InvalidArgument(
        "with Mix, output_types of label must be float32 and its "
        "output_shapes [batch, classes]");
  }
  feature->smoothed =
      Smoothed(mix.smoothing, static_cast<size_t>(feature->label_size));
  return OkStatus();
}

// The pixels of a view of the image, or of a mask.
Status ConfigurePixels(const DecodeMessage& a, const MeanImage& mean,
                       const RecipeText& text, const OutputFeature& feature,
                       bool mask, const std::vector<int64_t>& shape,
                       PixelFeature* pixel) {
  const bool planar = text.channels_first && !mask;
  const size_t rank = a.ragged ? 2 : 4;
  bool known = shape.size() == rank && !(a.ragged && planar);
  for (size_t d = 1; known && d < rank; ++d) known = shape[d] > 0;
  if (!known) {
    return InvalidArgument("output_shapes of " + feature.name + " (" +
                           ShapeText(shape) + ") must be " +
                           (a.ragged ? "[pixels, channels]"
                            : planar ? "[batch, channels, height, width]"
                                     : "[batch, height, width, channels]") +
                           ", known but for the first");
  }
  pixel->example_key = mask ? feature.name : "";
  pixel->dtype = feature.dtype;
  for (size_t d = 1; d < rank; ++d) pixel->shape.push_back(shape[d]);
  if (!a.ragged) {
    pixel->height = shape[planar ? 2 : 1];
    pixel->width = shape[planar ? 3 : 2];
  }
  FinishSpec spec;
  if (mask) {
    spec.stored = spec.type = TypeOf(feature.dtype);
  } else {
    spec = ImageSpec(a, mean, text, feature.dtype);
  }
  spec.channels = static_cast<size_t>(shape[planar ? 1 : rank - 1]);
  if (!mask) {
    LIQUID_RETURN_IF_ERROR(CheckColour(text.recipe, spec));
    LIQUID_RETURN_IF_ERROR(CheckErasing(text.recipe, spec));
  }
  Finisher finisher;
  LIQUID_RETURN_IF_ERROR(Finisher::Create(spec, &finisher));
  pixel->maker = std::make_shared<const ImageMaker>(text.recipe,
                                                    std::move(finisher), mask);
  return OkStatus();
}

// Reads the recipes of further views.
Status ConfigureViews(const DecodeMessage& a, const MeanImage& mean,
                      std::vector<RecipeText>* texts, DecodeConfig* config) {
  if (a.views.empty()) return OkStatus();
  if (a.views.size() >= kMostViews) {
    return InvalidArgument("views (" + std::to_string(a.views.size()) +
                           ") must be fewer than " +
                           std::to_string(kMostViews));
  }
  if (a.ragged || !a.masks.empty() || !a.box_columns.empty() ||
      !mean.values.empty()) {
    return InvalidArgument(
        "views go with no ragged pixels, masks, boxes or mean image");
  }
  for (const ViewMessage& view : a.views) {
    texts->emplace_back();
    LIQUID_RETURN_IF_ERROR(ParseRecipe(view.recipe, &texts->back()));
    if (texts->back().mix.given) {
      return InvalidArgument("Mix must be given with the first view alone");
    }
    texts->back().recipe.seed = static_cast<uint64_t>(view.seed);
    config->more_views.push_back(texts->back().recipe);
  }
  return OkStatus();
}

// From the shape of all views to that of one.
Status Unstack(const DecodeMessage& a, const std::string& name, size_t view,
               std::vector<int64_t>* shape) {
  const auto views = static_cast<int64_t>(1 + a.views.size());
  if (view > 0 || shape->size() < 2 || (*shape)[1] != views) {
    return InvalidArgument("output_shapes of " + name + " (" +
                           ShapeText(*shape) + ") must be [batch, " +
                           std::to_string(views) +
                           ", ...], and the only output of stacked views");
  }
  shape->erase(shape->begin() + 1);
  return OkStatus();
}

// The number of the view whose pixels the feature has; 0 for any other one.
size_t ViewOf(const DecodeMessage& a, const std::string& feature) {
  for (size_t i = 0; i < a.views.size(); ++i) {
    if (a.views[i].feature == feature) return i + 1;
  }
  return 0;
}

// A column whose boxes are padded to box_pad, or lie one after another.
Status ConfigureColumn(const DecodeMessage& a,
                       const std::vector<int64_t>& shape,
                       OutputFeature* feature, BoxConfig* boxes) {
  // Of a box: a product of two of them does not overflow.
  constexpr int64_t kMostSide = 1 << 20;
  const size_t outer = a.box_pad > 0 ? 2 : 1;
  bool fits = shape.size() >= outer && shape.size() <= outer + 2 &&
              (a.box_pad == 0 || shape[1] == a.box_pad);
  for (size_t d = outer; fits && d < shape.size(); ++d) {
    feature->box_shape.push_back(shape[d]);
    fits = shape[d] > 0 && shape[d] <= kMostSide;
  }
  const std::vector<int64_t>& box = feature->box_shape;
  const bool is_float = feature->dtype == DType::kFloat32;
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
    return InvalidArgument(
        "output_shapes of " + feature->name + " (" + ShapeText(shape) +
        ") must be [batch, box_pad, ...], or [boxes, ...] where box_pad is 0, "
        "with float [4] for boxes and float [keypoint_flip, 3] for keypoints");
  }
  boxes->columns.push_back({feature->name, feature->dtype, box});
  return OkStatus();
}

// Of all columns together; `config` has them.
Status ConfigureBoxes(const DecodeMessage& a, BoxConfig* config) {
  const auto n = static_cast<int64_t>(a.keypoint_flip.size());
  for (const int64_t from : a.keypoint_flip) {
    if (from < 0 || from >= n) {
      return InvalidArgument("keypoint_flip (" + std::to_string(from) +
                             ") must be below " + std::to_string(n) +
                             ", its length");
    }
    config->flip.push_back(static_cast<size_t>(from));
  }
  config->rule.min_visible = a.min_visible;
  if (a.box_pad > 0) config->rule.most = static_cast<size_t>(a.box_pad);
  if (a.box_columns.empty() ||
      (config->columns.size() == a.box_columns.size() &&
       config->columns[config->boxes].name == "boxes")) {
    return OkStatus();
  }
  return InvalidArgument(
      "box_columns must be different ones of features, with boxes among them");
}

}  // namespace

Status Configure(const DecodeMessage& a, const std::vector<OutputSpec>& outputs,
                 const MeanImage& mean, DecodeConfig* config,
                 std::vector<OutputFeature>* features) {
  const std::pair<const char*, int64_t> tuned[] = {
      {"lookahead", a.lookahead}, {"parallelism", a.parallelism}};
  for (const auto& [name, value] : tuned) {
    if (value != 0) continue;
    return InvalidArgument(std::string(name) +
                           " (0) must be at least 1, or -1 (AUTOTUNE)");
  }
  if (a.image_bits != 8 && a.image_bits != 16) {
    return InvalidArgument("image_bits (" + std::to_string(a.image_bits) +
                           ") must be 8 or 16");
  }
  if (a.features.empty() || a.features.size() != outputs.size()) {
    return InvalidArgument(
        "features, output_types and output_shapes must have the same number "
        "of entries, at least one");
  }
  config->ragged = a.ragged;
  config->stacked = a.stacked;
  if (a.stacked && a.views.empty()) {
    return InvalidArgument("stacked (true) must be false without views");
  }
  RecipeText text;
  LIQUID_RETURN_IF_ERROR(ParseRecipe(a.recipe, &text));
  LIQUID_RETURN_IF_ERROR(CheckMix(a, text.mix));
  MixerConfig mixer;
  mixer.step = text.mix;
  mixer.seed = static_cast<uint64_t>(a.seed);
  text.recipe.seed = static_cast<uint64_t>(a.seed);
  config->recipe = text.recipe;
  std::vector<RecipeText> texts = {text};  // of each view
  LIQUID_RETURN_IF_ERROR(ConfigureViews(a, mean, &texts, config));
  const bool mixes_views = a.stacked && text.mix.given;
  if (mixes_views) mixer.views = texts.size();
  config->limits.max_pixels = static_cast<uint64_t>(a.max_pixels);
  config->limits.max_scans = static_cast<uint64_t>(a.max_scans);
  for (size_t i = 0; i < a.features.size(); ++i) {
    OutputFeature feature;
    feature.name = a.features[i];
    feature.dtype = outputs[i].dtype;
    const std::vector<int64_t>& shape = outputs[i].shape;
    if (std::count(a.features.begin(), a.features.end(), feature.name) > 1) {
      return InvalidArgument("features names \"" + feature.name + "\" twice");
    }
    const bool mask = std::find(a.masks.begin(), a.masks.end(), feature.name) !=
                      a.masks.end();
    const bool column = std::find(a.box_columns.begin(), a.box_columns.end(),
                                  feature.name) != a.box_columns.end();
    std::vector<DType> types;
    if (text.recipe.HasPolicy() &&
        (mask || column || feature.name == "affine")) {
      return InvalidArgument("features (\"" + feature.name +
                             "\") must not go with a policy, which moves the "
                             "image alone");
    }
    if (column) {
      types = {DType::kFloat32, DType::kInt64, DType::kString};
      LIQUID_RETURN_IF_ERROR(
          ConfigureColumn(a, shape, &feature, &config->boxes));
    } else if (feature.name == "num_boxes" && !a.box_columns.empty()) {
      types = {DType::kInt32};
    } else if (const size_t view = ViewOf(a, feature.name);
               view > 0 || feature.name == "image" || mask) {
      types = {DType::kUint8, DType::kUint16};
      if (!mask) {
        types.insert(types.end(),
                     {DType::kFloat32, DType::kFloat16, DType::kBfloat16});
      }
      feature.pixel = static_cast<int>(config->pixels.size());
      std::vector<int64_t> of_view = shape;
      if (a.stacked) {
        LIQUID_RETURN_IF_ERROR(Unstack(a, feature.name, view, &of_view));
      }
      const size_t end = a.stacked ? texts.size() : view + 1;
      for (size_t v = view; v < end; ++v) {
        PixelFeature pixel;
        pixel.view = v;
        LIQUID_RETURN_IF_ERROR(
            ConfigurePixels(a, mean, texts[v], feature, mask, of_view, &pixel));
        if (!mask && text.mix.mixes()) {
          const FinishSpec spec = pixel.spec();
          LIQUID_RETURN_IF_ERROR(CheckAlike(texts[v], text));
          LIQUID_RETURN_IF_ERROR(LeaveToMixer(
              texts[v], feature, spec, a.stacked ? 0 : config->pixels.size(),
              &pixel, &mixer));
          feature.mixed = true;
        }
        config->pixels.push_back(std::move(pixel));
      }
    } else if (feature.name == "label") {
      types = {DType::kInt64, DType::kFloat32};
      if (feature.dtype == DType::kFloat32) {
        std::vector<int64_t> of_sample = shape;
        if (mixes_views) {
          LIQUID_RETURN_IF_ERROR(Unstack(a, feature.name, 0, &of_sample));
        }
        feature.label_size = of_sample.size() == 2 ? of_sample[1] : -1;
        if (feature.label_size < 0) {
          return InvalidArgument(
              "output_shapes of a float32 label must be [batch, size]");
        }
      }
      if (text.mix.given) {
        LIQUID_RETURN_IF_ERROR(ConfigureMixedLabel(text.mix, &feature));
      }
    } else if (feature.name == "partner" && text.mix.given) {
      types = {DType::kInt32};
    } else if (feature.name == "lam" && text.mix.given) {
      types = {DType::kFloat32};
    } else if (feature.name == "id" || feature.name == "orientation") {
      types = {DType::kInt64};
    } else if (feature.name == "window" || feature.name == "size" ||
               feature.name == "source") {
      types = {DType::kInt32};
    } else if (feature.name == "affine") {
      types = {DType::kFloat64};
    } else if (feature.name == "mirrored") {
      types = {DType::kBool};
    } else if (feature.name == "format" || feature.name == "bytes" ||
               feature.name == "example") {
      types = {DType::kString};
      config->bytes = config->bytes || feature.name == "bytes";
    } else if (feature.name == "image[stored]") {
      types = {DType::kRecords};
    } else {
      return InvalidArgument(
          "features (\"" + feature.name +
          "\") must be image, label, id, format, orientation, window, "
          "mirrored, size, affine, bytes, image[stored], example, num_boxes, "
          "with Mix partner or lam, or one of masks, box_columns or views");
    }
    if (std::find(types.begin(), types.end(), feature.dtype) == types.end()) {
      return InvalidArgument("output_types of " + feature.name + " (" +
                             NameOf(feature.dtype) + ") does not fit it");
    }
    const bool mixed = feature.name == "label" || feature.name == "partner" ||
                       feature.name == "lam";
    if (mixes_views && mixed) {
      feature.views = static_cast<int64_t>(texts.size());
    }
    features->push_back(std::move(feature));
  }
  if (text.mix.given) {
    auto made = std::make_shared<BatchMixer>();
    LIQUID_RETURN_IF_ERROR(BatchMixer::Create(std::move(mixer), made.get()));
    config->mixer = std::move(made);
  }
  return ConfigureBoxes(a, &config->boxes);
}

}  // namespace liquid
