// Which colour transforms a patch takes, for the encoders.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_COLOURS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_COLOURS_H_

#include <cstdint>
#include <cstring>

#include "ops/codecs/l3/host/l3_planes.h"

namespace liquid {

// Replaces red and blue by what green, or green and red, leaves of them, where
// `cost(plane)` is less, and says so in `colours`, one for each channel.
template <typename Sample, typename Cost>
void ChooseL3Colours(uint32_t channels, Cost cost, L3Planes<Sample>* planes,
                     L3Colour* colours) {
  for (uint32_t c = 0; c < channels; ++c) colours[c] = L3Colour::kPlain;
  if (channels < 3) return;
  L3Plane<Sample> less_green = {}, less_mean = {};
  const auto& green = planes->of[1];
  for (uint32_t y = 0; y < planes->height; ++y) {
    for (uint32_t x = 0; x < kL3V2Patch; ++x) {
      const Sample r = planes->of[0][y][x], g = green[y][x];
      less_green[y][x] = static_cast<Sample>(planes->of[2][y][x] - g);
      less_mean[y][x] = static_cast<Sample>(
          planes->of[2][y][x] - ((r >> 1) + (g >> 1) + ((r | g) & 1)));
    }
  }
  uint32_t least = cost(planes->of[2]);
  if (const uint32_t bits = cost(less_green); bits < least) {
    least = bits;
    colours[2] = L3Colour::kLessGreen;
  }
  if (cost(less_mean) < least) colours[2] = L3Colour::kLessMean;
  if (colours[2] != L3Colour::kPlain) {
    std::memcpy(planes->of[2],
                colours[2] == L3Colour::kLessMean ? less_mean : less_green,
                sizeof(less_mean));
  }
  for (uint32_t y = 0; y < planes->height; ++y) {
    for (uint32_t x = 0; x < kL3V2Patch; ++x) {
      less_green[y][x] = static_cast<Sample>(planes->of[0][y][x] - green[y][x]);
    }
  }
  if (cost(less_green) < cost(planes->of[0])) {
    colours[0] = L3Colour::kLessGreen;
    std::memcpy(planes->of[0], less_green, sizeof(less_green));
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_COLOURS_H_
