// Changes of colour, as training recipes make them by chance.
//
// For given factors and order, results equal to the bit those of Pillow 13.0.0:
// ImageEnhance.Brightness, Contrast and Color, a hue that is shifted in
// Pillow's HSV, and convert("L"). Images are RGB of 8 bits without gaps between
// the rows, and change in place. All functions are pure and thread-safe.
#ifndef LIQUID_OPS_IMAGE_COLOUR_H_
#define LIQUID_OPS_IMAGE_COLOUR_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/core/rng.h"

namespace liquid {

// How far colours may change; 0: not at all.
struct JitterRanges {
  double brightness = 0;  // factors from max(0, 1 - this) to 1 + this
  double contrast = 0;
  double saturation = 0;
  double hue = 0;  // to either side; at most .5, half of the circle

  bool any() const {
    return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0;
  }
};

// What happens to one image.
struct Jitter {
  enum Step : uint8_t { kBrightness, kContrast, kSaturation, kHue };

  std::array<Step, 4> order = {};  // its first `steps` happen
  int steps = 0;
  float brightness = 1;
  float contrast = 1;
  float saturation = 1;
  uint8_t hue = 0;  // is added in HSV, modulo 256
};

// Draws factors, uniform in their ranges, and the order, every one as likely.
// Of eight random words each has one use, so that no range changes what the
// others draw. Requires finite ranges of at least 0, and a hue of at most .5.
Jitter DrawJitter(const JitterRanges& ranges, const PhiloxCounter& words,
                  const PhiloxCounter& more_words);

// O(pixels), in one pass, or two where contrast needs the mean of what earlier
// steps made. Requires sides of at least 1.
void ApplyJitter(const Jitter& jitter, uint8_t* pixels, size_t height,
                 size_t width);

// Gives all three channels the luma of the pixel.
void MakeGray(uint8_t* pixels, size_t height, size_t width);

// The mean of the pixels' luma, rounded: what contrast leaves as it is.
// Requires sides of at least 1.
int MeanLuma(const uint8_t* pixels, size_t height, size_t width);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_COLOUR_H_
