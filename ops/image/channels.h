// Loops for a fixed number of channels.
#ifndef LIQUID_OPS_IMAGE_CHANNELS_H_
#define LIQUID_OPS_IMAGE_CHANNELS_H_

#include <cstddef>
#include <type_traits>

namespace liquid {

// Calls `loop` with the constant that `channels`, 1 to 4, is.
template <typename Loop>
void ForChannels(size_t channels, const Loop& loop) {
  switch (channels) {
    case 1:
      return loop(std::integral_constant<size_t, 1>());
    case 2:
      return loop(std::integral_constant<size_t, 2>());
    case 3:
      return loop(std::integral_constant<size_t, 3>());
    default:
      return loop(std::integral_constant<size_t, 4>());
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_CHANNELS_H_
