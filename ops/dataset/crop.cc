#include "ops/dataset/crop.h"

#include <string>

#include "ops/core/rng.h"

namespace liquid {

Status PlaceWindow(const CropSpec& crop, int64_t epoch, uint64_t draw,
                   uint32_t height, uint32_t width, Window* window) {
  if (crop.height == 0) {
    *window = {0, 0, height, width};
    return OkStatus();
  }
  if (crop.height > height || crop.width > width) {
    return InvalidArgument(
        "crop (" + std::to_string(crop.height) + ", " +
        std::to_string(crop.width) + ") is larger than the image's " +
        std::to_string(height) + "x" + std::to_string(width) + " pixels");
  }
  const uint64_t rows = height - crop.height;
  const uint64_t columns = width - crop.width;
  *window = {static_cast<uint32_t>(rows / 2),
             static_cast<uint32_t>(columns / 2), crop.height, crop.width};
  if (!crop.random) return OkStatus();
  // The counter of RandomStream, with the draw as the block.
  const uint64_t low = uint64_t{static_cast<uint8_t>(RngPurpose::kCrop)} << 48 |
                       (draw & ((uint64_t{1} << 48) - 1));
  const auto epoch_bits = static_cast<uint64_t>(epoch);
  const PhiloxCounter words =
      Philox4x32({static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                  static_cast<uint32_t>(epoch_bits),
                  static_cast<uint32_t>(epoch_bits >> 32)},
                 {static_cast<uint32_t>(crop.seed),
                  static_cast<uint32_t>(crop.seed >> 32)});
  window->y = static_cast<uint32_t>((words[0] * (rows + 1)) >> 32);
  window->x = static_cast<uint32_t>((words[1] * (columns + 1)) >> 32);
  return OkStatus();
}

}  // namespace liquid
