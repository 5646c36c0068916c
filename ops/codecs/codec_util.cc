#include "ops/codecs/codec_util.h"

#include <cstring>

namespace liquid {

Status OutOfMemory(const char* codec, size_t size) {
  return Unavailable(std::string(codec) + ": no memory for " +
                     std::to_string(size) + " bytes of pixels");
}

std::string DescribeImage(const ImageInfo& info) {
  return std::to_string(info.height) + " x " + std::to_string(info.width) +
         " x " + std::to_string(info.channels) + ", " +
         std::to_string(info.bits) + " bits";
}

Status CheckImageSize(const char* codec, uint64_t height, uint64_t width,
                      const DecodeLimits& limits) {
  const std::string size =
      std::to_string(height) + " x " + std::to_string(width);
  if (height == 0 || width == 0) {
    return DataLoss(std::string(codec) +
                    ": the header states an empty image, " + size);
  }
  if (height > UINT32_MAX || width > UINT32_MAX) {
    return DataLoss(std::string(codec) +
                    ": the header states an impossible size, " + size);
  }
  // The second bound keeps 8 bytes per pixel inside a signed 64-bit size
  // whatever the caller's limit is.
  if (height * width > limits.max_pixels ||
      height * width > (uint64_t{1} << 56)) {
    return ResourceExhausted(std::string(codec) + ": " + size +
                             " pixels are over the limit of " +
                             std::to_string(limits.max_pixels) +
                             ": raise it with limits=Limits(pixels=N)");
  }
  return OkStatus();
}

Status CheckRequest(const char* codec, const ImageInfo& stored,
                    const ImageInfo& expected, const Window& window,
                    size_t row_stride) {
  if (!(stored == expected)) {
    return DataLoss(std::string(codec) + ": the bytes hold an image of " +
                    DescribeImage(stored) + "; expected " +
                    DescribeImage(expected));
  }
  if (window.height == 0 || window.width == 0 ||
      window.height > stored.height ||
      window.y > stored.height - window.height || window.width > stored.width ||
      window.x > stored.width - window.width) {
    return InvalidArgument(
        std::string(codec) + ": window (y " + std::to_string(window.y) +
        ", x " + std::to_string(window.x) + ", height " +
        std::to_string(window.height) + ", width " +
        std::to_string(window.width) + ") must lie inside the image of " +
        DescribeImage(stored));
  }
  const size_t row_bytes = window.width * stored.BytesPerPixel();
  if (row_stride < row_bytes) {
    return InvalidArgument(std::string(codec) + ": row_stride (" +
                           std::to_string(row_stride) +
                           ") must be at least a row of the window, " +
                           std::to_string(row_bytes) + " bytes");
  }
  return OkStatus();
}

Status CheckEncodable(const char* codec, const ImageInfo& info,
                      const char* channels, int max_bits) {
  if (info.height == 0 || info.width == 0) {
    return InvalidArgument(std::string(codec) + ": image (" +
                           DescribeImage(info) + ") must not be empty");
  }
  if ((info.bits != 8 && info.bits != 16) || info.bits > max_bits) {
    return InvalidArgument(std::string(codec) + ": bits (" +
                           std::to_string(info.bits) + ") must be " +
                           (max_bits == 8 ? "8" : "8 or 16"));
  }
  if (info.channels > 9 ||
      std::strchr(channels, '0' + info.channels) == nullptr ||
      info.channels == 0) {
    std::string allowed;
    for (const char* c = channels; *c != '\0'; ++c) {
      if (!allowed.empty()) allowed += c[1] == '\0' ? " or " : ", ";
      allowed += *c;
    }
    return InvalidArgument(std::string(codec) + ": channels (" +
                           std::to_string(info.channels) + ") must be " +
                           allowed);
  }
  return OkStatus();
}

}  // namespace liquid
