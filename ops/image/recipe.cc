#include "ops/image/recipe.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/image/draws.h"
#include "ops/image/orient.h"
#include "ops/image/rotate.h"

namespace liquid {
namespace {

// Coordinates are exact in float32 below it, which bounds the resampler too.
constexpr uint32_t kMostSide = (1 << 24) - 1;

std::string Size(uint64_t height, uint64_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

Status PlacePad(const PadStep& pad, SamplePlan* plan) {
  plan->canvas_height = plan->height;
  plan->canvas_width = plan->width;
  if (pad.height == 0) return OkStatus();
  if (plan->height > pad.height || plan->width > pad.width) {
    return InvalidArgument(
        "Pad (" + std::to_string(pad.height) + ", " +
        std::to_string(pad.width) + ") is smaller than the image's " +
        Size(plan->height, plan->width) + " pixels: resize it first, or crop");
  }
  plan->canvas_height = pad.height;
  plan->canvas_width = pad.width;
  plan->top = (pad.height - plan->height) / 2;
  plan->left = (pad.width - plan->width) / 2;
  return OkStatus();
}

// From -most to most, by integers and one rounded product.
double Angle(uint32_t word, double most) {
  return (static_cast<double>(word) / 2147483648.0 - 1) * most;
}

Operation OperationOf(OperationKind kind, double amount) {
  Operation operation;
  operation.kind = kind;
  operation.amount = amount;
  return operation;
}

}  // namespace

Window SamplePlan::Content() const {
  const auto inside = [](uint32_t at, uint32_t size, uint32_t part_at,
                         uint32_t part_size, uint32_t* from, uint32_t* length) {
    const uint32_t begin = std::max(at, part_at);
    const uint32_t end = std::min(at + size, part_at + part_size);
    *from = begin - at;
    *length = end > begin ? end - begin : 0;
  };
  Window content;
  inside(top, height, part.y, part.height, &content.y, &content.height);
  inside(left, width, part.x, part.width, &content.x, &content.width);
  if (content.height == 0 || content.width == 0) content = Window();
  return content;
}

ResampleSpec ResizeOf(const ResizeStep& resize, const SamplePlan& plan,
                      const Window& window, const Window& content,
                      uint32_t bits) {
  ResampleSpec spec;
  spec.in_height = window.height;
  spec.in_width = window.width;
  spec.out_height = plan.height;
  spec.out_width = plan.width;
  spec.interpolation = resize.interpolation;
  spec.antialias = resize.antialias;
  spec.part = content;
  spec.bits = bits;
  return spec;
}

Affine SamplePlan::Map(uint32_t stored_height, uint32_t stored_width) const {
  Affine map = OrientMap(orientation, stored_height, stored_width);
  const double y = static_cast<double>(height) / window.height;
  const double x = static_cast<double>(width) / window.width;
  map = Then(map, {1, 0, -static_cast<double>(window.x), 0, 1,
                   -static_cast<double>(window.y)});
  map = Then(map, {x, 0, 0, 0, y, 0});
  map = Then(map, {1, 0, static_cast<double>(left) - part.x, 0, 1,
                   static_cast<double>(top) - part.y});
  if (mirrored) {
    map = Then(map, {-1, 0, static_cast<double>(part.width), 0, 1, 0});
  }
  if (flipped) {
    map = Then(map, {1, 0, 0, 0, -1, static_cast<double>(part.height)});
  }
  if (rotated) {
    map = Then(map, RotateMap(degrees, part.height, part.width));
  }
  return map;
}

Status PlanSample(const Recipe& recipe, int64_t epoch, uint64_t draw,
                  uint32_t height, uint32_t width, uint8_t orientation,
                  uint64_t max_pixels, SamplePlan* plan) {
  *plan = SamplePlan();
  const auto words = [&](RngPurpose purpose, uint8_t part = 0) {
    return DrawWords(purpose, recipe.seed, epoch, draw, part);
  };
  // What never happens takes no random number.
  const auto happens = [&](RngPurpose purpose, Chance chance) {
    return chance > 0 && Happens(words(purpose)[0], chance);
  };
  if (recipe.orient && orientation != 1) {
    plan->orientation = orientation;
    OrientedSize(orientation, &height, &width);
  }
  LIQUID_RETURN_IF_ERROR(PlaceCrop(recipe.crop, recipe.seed, epoch, draw,
                                   height, width, &plan->window));
  LIQUID_RETURN_IF_ERROR(ResizedSize(recipe.resize, plan->window.height,
                                     plan->window.width, &plan->height,
                                     &plan->width));
  if (plan->resized() &&
      (plan->height > kMostSide || plan->width > kMostSide ||
       plan->window.height > kMostSide || plan->window.width > kMostSide)) {
    return InvalidArgument("an image of " + Size(height, width) +
                           " pixels becomes " +
                           Size(plan->height, plan->width) +
                           ", whose sides must be below 2^24: crop it first");
  }
  LIQUID_RETURN_IF_ERROR(PlacePad(recipe.pad, plan));
  LIQUID_RETURN_IF_ERROR(PlaceCrop(recipe.second_crop, recipe.seed, epoch, draw,
                                   plan->canvas_height, plan->canvas_width,
                                   &plan->part));
  if ((plan->resized() || plan->padded()) &&
      plan->part.height > max_pixels / plan->part.width) {
    return ResourceExhausted(
        "an image of " + Size(height, width) + " pixels becomes " +
        Size(plan->part.height, plan->part.width) + ", over the limit of " +
        std::to_string(max_pixels) +
        ": crop it, or raise it with limits=Limits(pixels=N)");
  }
  plan->mirrored = happens(RngPurpose::kMirror, recipe.mirror);
  plan->flipped = happens(RngPurpose::kFlip, recipe.flip);
  if (recipe.rotate.degrees > 0) {
    plan->degrees = Angle(words(RngPurpose::kRotate)[0], recipe.rotate.degrees);
    plan->rotated = true;
  }
  if (recipe.HasPolicy()) {
    plan->policy = DrawPolicy(recipe.policy, recipe.seed, epoch, draw,
                              plan->part.height, plan->part.width);
  }
  if (recipe.colour.any()) {
    const PhiloxCounter more = words(RngPurpose::kColour, 1);
    plan->jitter =
        DrawJitter(recipe.colour, words(RngPurpose::kColour, 0), more);
    plan->jittered = Happens(more[1], recipe.jitter);
  }
  plan->gray = happens(RngPurpose::kGrayscale, recipe.grayscale);
  if (recipe.blur.chance > 0) {
    const PhiloxCounter blur = words(RngPurpose::kBlur);
    if (Happens(blur[0], recipe.blur.chance)) {
      plan->last.push_back(
          OperationOf(OperationKind::kBlur,
                      Between(recipe.blur.least, recipe.blur.most, blur[1])));
    }
  }
  if (happens(RngPurpose::kSolarize, recipe.solarize.chance)) {
    plan->last.push_back(
        OperationOf(OperationKind::kSolarize, recipe.solarize.threshold));
  }
  if (happens(RngPurpose::kErasing, recipe.erase)) {
    plan->erasure = DrawErasure(recipe.erasing, recipe.seed, epoch, draw,
                                plan->part.height, plan->part.width);
  }
  return OkStatus();
}

}  // namespace liquid
