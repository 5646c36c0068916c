// Changes of colour on a device, a pixel a thread, as ops/image/colour.h makes
// them: the same integers, and floats that are rounded alike.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_COLOUR_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_COLOUR_CUH_

#include "ops/image/device/image_device_exact.cuh"

namespace liquid {

struct ImagePixel {
  int red, green, blue;
};

LIQUID_DEVICE inline int ImageLuma(const ImagePixel& pixel) {
  return (pixel.red * 19595 + pixel.green * 38470 + pixel.blue * 7471 +
          0x8000) >>
         16;
}

// From `base`, `factor` times as far as `value` is.
LIQUID_DEVICE inline int ImageBlend(int base, int value, float factor) {
  const float blended =
      ImageSum(static_cast<float>(base),
               ImageProduct(factor, static_cast<float>(value - base)));
  return static_cast<int>(blended < 0     ? 0.0f
                          : blended > 255 ? 255.0f
                                          : blended);
}

LIQUID_DEVICE inline ImagePixel ImageBlend(int base, const ImagePixel& pixel,
                                           float factor) {
  return {ImageBlend(base, pixel.red, factor),
          ImageBlend(base, pixel.green, factor),
          ImageBlend(base, pixel.blue, factor)};
}

LIQUID_DEVICE inline ImagePixel ImageShiftHue(const ImagePixel& pixel,
                                              uint32_t shift) {
  const int red = pixel.red, green = pixel.green, blue = pixel.blue;
  const int more = green > blue ? green : blue;
  const int less = green < blue ? green : blue;
  const int high = red > more ? red : more, least = red < less ? red : less;
  const int between = red + green + blue - high - least;
  // The hue in sixths of the circle, see colour.cc.
  const int not_red = red != high, blue_most = not_red & (green != high);
  const int centre = 2 * (not_red + blue_most);
  const int rise = not_red == 0     ? blue - green
                   : blue_most == 0 ? red - blue
                                    : green - red;
  const int up = rise > 0 ? 1 : -1;
  const int range = high - least;
  const float part = static_cast<float>(high - between) /
                     static_cast<float>(range + (range == 0));
  const float sixths = ImageSum(static_cast<float>(centre - up),
                                ImageProduct(static_cast<float>(up), part));
  const float circle = ImageSum(sixths / 6.0f, centre - up < 0 ? 1.0f : 0.0f);
  const float share =
      static_cast<float>(range) / static_cast<float>(high + (high == 0));
  const int saturation = static_cast<int>(ImageProduct(share, 255.0f)) & 255;
  const int hue = (static_cast<int>(ImageProduct(circle, 255.0f)) +
                   static_cast<int>(shift)) &
                  255;
  // And back.
  const int sixth = (2 * hue * 193) >> 14;
  const int steps = 2 * hue - 85 * sixth;
  const int fall = (sixth & 1) * (2 * steps - 85) + 85 - steps;
  const int lowest = high * (255 - saturation) + 127;
  const int low = (lowest + 1 + (lowest >> 8)) >> 8;
  const int middle = static_cast<int>(ImageProduct(
      static_cast<float>(high * (21675 - saturation * fall) + 10837),
      1.0f / 21675));
  const auto pick = [&](int from_own) {
    const int wrapped = from_own >= 6 ? from_own - 6 : from_own;
    const int far = wrapped < 5 - wrapped ? wrapped : 5 - wrapped;
    return far < 1 ? high : far < 2 ? middle : low;
  };
  return {pick(sixth), pick(sixth + 4), pick(sixth + 2)};
}

// The mean of `count` values whose sum is `sum`, halves rounded up.
LIQUID_DEVICE inline int ImageMean(uint64_t sum, uint64_t count) {
  return static_cast<int>((2 * sum + count) / (2 * count));
}

// Makes the changes to an image whose mean luma before contrast is `mean`; with
// `kBeforeMean` those that come before contrast.
template <bool kBeforeMean>
LIQUID_DEVICE ImagePixel ImageChanged(const ImageDeviceColours& colours,
                                      int mean, ImagePixel pixel) {
  const auto inverted = [&](int value) {
    return value < static_cast<int>(colours.threshold) ? value : 255 - value;
  };
  for (uint32_t left = colours.changes; left != 0; left >>= 4) {
    switch (static_cast<ImageChange>(left & 15)) {
      case ImageChange::kBrightness:
        pixel = ImageBlend(0, pixel, colours.brightness);
        break;
      case ImageChange::kContrast:
        if (kBeforeMean) return pixel;
        pixel = ImageBlend(mean, pixel, colours.contrast);
        break;
      case ImageChange::kSaturation:
        pixel = ImageBlend(ImageLuma(pixel), pixel, colours.saturation);
        break;
      case ImageChange::kHue:
        pixel = ImageShiftHue(pixel, colours.hue);
        break;
      case ImageChange::kGray: {
        const int luma = ImageLuma(pixel);
        pixel = {luma, luma, luma};
        break;
      }
      default:
        pixel = {inverted(pixel.red), inverted(pixel.green),
                 inverted(pixel.blue)};
    }
  }
  return pixel;
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_COLOUR_CUH_
