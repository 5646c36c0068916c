#include "ops/image/resize_size.h"

#include <algorithm>
#include <string>

namespace liquid {

Status ResizedSize(const ResizeStep& resize, uint32_t height, uint32_t width,
                   uint32_t* resized_height, uint32_t* resized_width) {
  *resized_height = height;
  *resized_width = width;
  switch (resize.kind) {
    case ResizeStep::Kind::kNone:
      return OkStatus();
    case ResizeStep::Kind::kExact:
      *resized_height = resize.height;
      *resized_width = resize.width;
      return OkStatus();
    case ResizeStep::Kind::kShorter:
    case ResizeStep::Kind::kLonger:
      break;
  }
  const bool shorter = resize.kind == ResizeStep::Kind::kShorter;
  const bool by_height = shorter ? height < width : height > width;
  const uint64_t side = by_height ? height : width;
  const uint64_t other = by_height ? width : height;
  const uint64_t scaled =
      std::max<uint64_t>(uint64_t{resize.height} * other / side, 1);
  if (scaled > UINT32_MAX) {
    return InvalidArgument(
        "Resize (" + std::string(shorter ? "shorter=" : "longer=") +
        std::to_string(resize.height) + ") of " + std::to_string(height) + "x" +
        std::to_string(width) + " pixels gives a side of " +
        std::to_string(scaled) + ": crop it first");
  }
  *resized_height = static_cast<uint32_t>(by_height ? resize.height : scaled);
  *resized_width = static_cast<uint32_t>(by_height ? scaled : resize.height);
  return OkStatus();
}

}  // namespace liquid
