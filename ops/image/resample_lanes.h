// How vectors of 16 bytes hold pixels where rows are made narrower or wider.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_LANES_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_LANES_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// A vector works on four values of every pixel: its channels, for as many rows
// as fit.
template <size_t kChannels>
inline constexpr size_t kLaneRows = kChannels >= 3 ? 1 : 4 / kChannels;

// Of a byte that is to be zero. Both pshufb and tbl take it so.
inline constexpr uint8_t kNoByte = 0x80;

// Where `value`, 0 to 3, of pixel `pixel` lies among `pixels` of each row,
// which lie row by row; kNoByte for the fourth value of three channels.
template <size_t kChannels>
constexpr uint8_t LanePlace(size_t pixels, size_t pixel, size_t value) {
  const size_t row = value / kChannels;
  if (row >= kLaneRows<kChannels>) return kNoByte;
  return static_cast<uint8_t>((row * pixels + pixel) * kChannels +
                              value % kChannels);
}

struct alignas(16) LanePattern {
  uint8_t bytes[16];
};

// From four pixels of four values each to four pixels of each row.
template <size_t kChannels>
constexpr LanePattern LaneStorePattern() {
  LanePattern pattern = {};
  for (uint8_t& byte : pattern.bytes) byte = kNoByte;
  for (size_t pixel = 0; pixel < 4; ++pixel) {
    for (size_t value = 0; value < 4; ++value) {
      const uint8_t to = LanePlace<kChannels>(4, pixel, value);
      if (to != kNoByte) {
        pattern.bytes[to] = static_cast<uint8_t>(4 * pixel + value);
      }
    }
  }
  return pattern;
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_LANES_H_
