// The steps of ops/image by names that Python's ctypes finds: for tests only.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/image/colour.h"
#include "ops/image/operations.h"
#include "ops/image/orient.h"
#include "ops/image/rotate.h"

#define LIQUID_EXPORT extern "C" __attribute__((visibility("default")))

LIQUID_EXPORT void ApplyJitter(const uint8_t* order, int steps,
                               float brightness, float contrast,
                               float saturation, uint8_t hue, uint8_t* pixels,
                               size_t height, size_t width) {
  liquid::Jitter jitter;
  for (int i = 0; i < steps; ++i) {
    jitter.order[i] = static_cast<liquid::Jitter::Step>(order[i]);
  }
  jitter.steps = steps;
  jitter.brightness = brightness;
  jitter.contrast = contrast;
  jitter.saturation = saturation;
  jitter.hue = hue;
  liquid::ApplyJitter(jitter, pixels, height, width);
}

LIQUID_EXPORT void MakeGray(uint8_t* pixels, size_t height, size_t width) {
  liquid::MakeGray(pixels, height, width);
}

LIQUID_EXPORT void Orient(const uint8_t* in, size_t stride, size_t height,
                          size_t width, size_t pixel, int orientation,
                          uint8_t* out) {
  liquid::Orient(in, stride, height, width, pixel, orientation, out);
}

// `window` is y, x, height, width, of the upright image and then of the stored.
LIQUID_EXPORT void StoredWindow(int orientation, uint32_t* window,
                                uint32_t height, uint32_t width) {
  const liquid::Window stored = liquid::StoredWindow(
      orientation, {window[0], window[1], window[2], window[3]}, height, width);
  window[0] = stored.y;
  window[1] = stored.x;
  window[2] = stored.height;
  window[3] = stored.width;
}

LIQUID_EXPORT void MirrorRow(const uint8_t* in, size_t width, size_t pixel,
                             uint8_t* out) {
  liquid::MirrorRow(in, width, pixel, out);
}

// In the order of Pillow's coefficients.
LIQUID_EXPORT void RotateSource(double degrees, size_t height, size_t width,
                                double* matrix) {
  const liquid::Affine map = liquid::RotateSource(degrees, height, width);
  const double values[] = {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0};
  for (int i = 0; i < 6; ++i) matrix[i] = values[i];
}

LIQUID_EXPORT void RotateBytes(const uint8_t* in, size_t height, size_t width,
                               size_t channels, double degrees, int nearest,
                               uint8_t fill, uint8_t* out) {
  const auto rotate = nearest != 0 ? liquid::RotateNearest<uint8_t>
                                   : liquid::RotateBilinear<uint8_t>;
  rotate(in, height, width, channels, degrees, fill, out);
}

LIQUID_EXPORT void RotateWords(const uint16_t* in, size_t height, size_t width,
                               size_t channels, double degrees, int nearest,
                               uint16_t fill, uint16_t* out) {
  const auto rotate = nearest != 0 ? liquid::RotateNearest<uint16_t>
                                   : liquid::RotateBilinear<uint16_t>;
  rotate(in, height, width, channels, degrees, fill, out);
}

// `canvas` holds what comes out.
LIQUID_EXPORT void ApplyOperations(const liquid::Operation* operations,
                                   size_t count, size_t height, size_t width,
                                   size_t channels, uint8_t* canvas,
                                   uint8_t* other) {
  uint8_t* result;
  liquid::ApplyOperations(operations, count, height, width, channels, canvas,
                          other, &result);
  if (result != canvas) {
    std::copy_n(result, height * width * channels, canvas);
  }
}
