// The steps of a recipe, and what they do to one sample.
//
// A recipe is data: what a user asked for, checked. A plan is what it means for
// one draw of one image, known before the image is decoded: the part to decode,
// the sizes on the way, and every number drawn by chance. Pure functions.
//
// The order is that of liquid_tf.transforms: orient, crop, resize, pad, second
// crop, mirror, rotate, colour, grayscale; then the numbers, type and layout of
// ops/image/finish.h.
#ifndef LIQUID_OPS_IMAGE_RECIPE_H_
#define LIQUID_OPS_IMAGE_RECIPE_H_

#include <cstdint>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/image/affine.h"
#include "ops/image/colour.h"
#include "ops/image/crop.h"
#include "ops/image/draws.h"
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

struct Recipe {
  uint64_t seed = 0;
  bool orient = false;
  CropStep crop;
  ResizeStep resize;
  PadStep pad;
  CropStep second_crop;
  Chance mirror = 0;
  RotateStep rotate;
  JitterRanges colour;
  Chance grayscale = 0;

  // Whether all that is done to pixels is to choose, to resize and to mirror.
  bool ChangesColour() const { return colour.any() || grayscale > 0; }
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
  bool rotated = false;
  double degrees = 0;  // counter-clockwise
  bool jittered = false;
  Jitter jitter;
  bool gray = false;

  bool resized() const {
    return height != window.height || width != window.width;
  }
  bool padded() const {
    return canvas_height != height || canvas_width != width;
  }
  // From places in the stored image to places in what comes out.
  Affine Map(uint32_t stored_height, uint32_t stored_width) const;
};

// Plans draw `draw` of `epoch` of an image of that size and orientation, whose
// sides are at least 1. Errors: InvalidArgument where a crop does not fit into
// the image or a side becomes too long; ResourceExhausted where the result has
// more than `max_pixels`.
Status PlanSample(const Recipe& recipe, int64_t epoch, uint64_t draw,
                  uint32_t height, uint32_t width, uint8_t orientation,
                  uint64_t max_pixels, SamplePlan* plan);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RECIPE_H_
