// The steps of a recipe, and what they do to one sample.
//
// A recipe is data: what a user asked for, checked. A plan is what it means for
// one draw of one image, known before the image is decoded: the part to decode,
// the sizes on the way, and every number drawn by chance. Pure functions.
//
// The order is that of liquid_tf.transforms: orient, crop, resize, pad, second
// crop, mirror, flip, rotate, policy, colour, grayscale, blur, solarize; then
// the numbers, type and layout of ops/image/finish.h, with a rectangle that is
// erased.
#ifndef LIQUID_OPS_IMAGE_RECIPE_H_
#define LIQUID_OPS_IMAGE_RECIPE_H_

#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/image/affine.h"
#include "ops/image/colour.h"
#include "ops/image/crop.h"
#include "ops/image/draws.h"
#include "ops/image/erase.h"
#include "ops/image/operations.h"
#include "ops/image/policy.h"
#include "ops/image/resample.h"
#include "ops/image/resize_size.h"

namespace liquid {

struct PadStep {
  uint32_t height = 0;  // 0: no padding
  uint32_t width = 0;
  uint16_t value = 0;  // of every channel of an image
  uint16_t mask_value = 0;
};

struct RotateStep {
  double degrees = 0;  // at most, to either side; 0: not at all
  uint16_t value = 0;  // of the corners
  uint16_t mask_value = 0;
};

struct BlurStep {
  double least = 0;  // of the radius, in pixels
  double most = 0;
  Chance chance = 0;
};

struct SolarizeStep {
  uint16_t threshold = 0;  // 0 to 256: from where on values are inverted
  Chance chance = 0;
};

struct Recipe {
  uint64_t seed = 0;
  bool orient = false;
  CropStep crop;
  ResizeStep resize;
  PadStep pad;
  CropStep second_crop;
  Chance mirror = 0;
  Chance flip = 0;
  RotateStep rotate;
  PolicyStep policy;
  JitterRanges colour;
  Chance jitter = 0;  // that colours change
  Chance grayscale = 0;
  BlurStep blur;
  SolarizeStep solarize;
  Chance erase = 0;
  ErasingStep erasing;

  // Whether a step needs images of 8 bits and 3 channels.
  bool NeedsColours() const { return colour.any() || grayscale > 0; }
  // Whether a step needs images of 8 bits and 1 or 3 channels.
  bool NeedsBytes() const {
    return HasPolicy() || blur.chance > 0 || solarize.chance > 0;
  }
  bool HasPolicy() const { return policy.kind != PolicyStep::Kind::kNone; }
};

// Of one sample.
struct SamplePlan {
  uint8_t orientation = 1;  // that is undone; 1: none
  Window window;            // of the turned image
  uint32_t height = 0;      // that the window is resized to
  uint32_t width = 0;
  uint32_t top = 0;  // where it lies on a canvas, of the sides below
  uint32_t left = 0;
  uint32_t canvas_height = 0;
  uint32_t canvas_width = 0;
  Window part;  // of the canvas: what comes out
  bool mirrored = false;
  bool flipped = false;  // top to bottom
  bool rotated = false;
  double degrees = 0;             // counter-clockwise
  std::vector<Operation> policy;  // after that, of the image alone
  bool jittered = false;
  Jitter jitter;
  bool gray = false;
  std::vector<Operation> last;  // after gray, of the image alone
  Erasure erasure;

  bool resized() const {
    return height != window.height || width != window.width;
  }
  bool padded() const {
    return canvas_height != height || canvas_width != width;
  }
  // What lies of the resized image in the part that comes out, in pixels of the
  // resized image; empty where all of it is padding.
  Window Content() const;
  // From places in the stored image to places in what comes out, but for what
  // a policy moves.
  Affine Map(uint32_t stored_height, uint32_t stored_width) const;
};

// The resize of a window, or of its draft, to what a plan says, of which
// `content` comes out.
ResampleSpec ResizeOf(const ResizeStep& resize, const SamplePlan& plan,
                      const Window& window, const Window& content,
                      uint32_t bits);

// Plans draw `draw` of `epoch` of an image of that size and orientation, whose
// sides are at least 1. Errors: InvalidArgument where a crop does not fit into
// the image or a side becomes too long; ResourceExhausted where the result has
// more than `max_pixels`.
Status PlanSample(const Recipe& recipe, int64_t epoch, uint64_t draw,
                  uint32_t height, uint32_t width, uint8_t orientation,
                  uint64_t max_pixels, SamplePlan* plan);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RECIPE_H_
