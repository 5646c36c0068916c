#include "ops/image/rotate.h"

#include <array>
#include <cmath>

#include "ops/image/affine_sample.h"
#include "ops/image/sine.h"

namespace liquid {
namespace {

// The rotation whose matrix is (cosine, sine; -sine, cosine), of places below
// which y grows, about the centre.
Affine AboutCentre(double cosine, double sine, size_t height, size_t width) {
  const double x = static_cast<double>(width) / 2;
  const double y = static_cast<double>(height) / 2;
  return {cosine, sine,   cosine * -x + sine * -y + x,
          -sine,  cosine, -sine * -x + cosine * -y + y};
}

}  // namespace

Affine RotateMap(double degrees, size_t height, size_t width) {
  const SineCosine turn = RoundedSineCosine(degrees);
  return AboutCentre(turn.cosine, turn.sine, height, width);
}

Affine RotateSource(double degrees, size_t height, size_t width) {
  const SineCosine turn = RoundedSineCosine(degrees);
  return AboutCentre(turn.cosine, -turn.sine, height, width);
}

bool TurnsOntoPixels(double degrees, size_t height, size_t width) {
  return std::fmod(degrees, 180) == 0 ||
         (std::fmod(degrees, 90) == 0 && height == width);
}

template <typename T>
void RotateBilinear(const T* in, size_t height, size_t width, size_t channels,
                    double degrees, T fill, T* out) {
  // Nor is alpha rounded then.
  if (TurnsOntoPixels(degrees, height, width)) {
    return RotateNearest(in, height, width, channels, degrees, fill, out);
  }
  const std::array<T, 4> fills = {fill, fill, fill, fill};
  SampleBilinear(in, height, width, channels,
                 RotateSource(degrees, height, width), fills.data(), out);
}

template <typename T>
void RotateNearest(const T* in, size_t height, size_t width, size_t channels,
                   double degrees, T fill, T* out) {
  const std::array<T, 4> fills = {fill, fill, fill, fill};
  SampleNearest(in, height, width, channels,
                RotateSource(degrees, height, width), fills.data(), out);
}

template void RotateBilinear(const uint8_t*, size_t, size_t, size_t, double,
                             uint8_t, uint8_t*);
template void RotateBilinear(const uint16_t*, size_t, size_t, size_t, double,
                             uint16_t, uint16_t*);
template void RotateNearest(const uint8_t*, size_t, size_t, size_t, double,
                            uint8_t, uint8_t*);
template void RotateNearest(const uint16_t*, size_t, size_t, size_t, double,
                            uint16_t, uint16_t*);

}  // namespace liquid
