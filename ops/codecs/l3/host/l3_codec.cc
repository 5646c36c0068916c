#include "ops/codecs/l3/host/l3_codec.h"

#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_format.h"

namespace liquid {
namespace {

bool BeginsWith(ByteSpan bytes, const char* magic) {
  return bytes.size >= 4 && std::memcmp(bytes.data, magic, 4) == 0;
}

// The side by the paper's rule: 32 below HD, 64 up to full HD, 128 above.
uint32_t V1PatchRule(const ImageInfo& info) {
  const uint64_t pixels = uint64_t{info.height} * info.width;
  if (pixels < 1080 * 720) return 32;
  return pixels <= 1920 * 1080 ? 64 : 128;
}

}  // namespace

L3Rows L3Intersect(const Window& window, uint32_t side, uint32_t px,
                   uint32_t py, const ImageInfo& image, uint8_t* out,
                   size_t row_stride) {
  // All of these are at most the image's size, which fits 32 bits.
  const uint32_t x0 = px * side, y0 = py * side;
  const uint32_t width = std::min(side, image.width - x0);
  const uint32_t height = std::min(side, image.height - y0);
  L3Rows rows;
  rows.x_begin = window.x > x0 ? window.x - x0 : 0;
  rows.x_end = std::min(width, window.x + window.width - x0);
  rows.row_begin = window.y > y0 ? window.y - y0 : 0;
  rows.row_end = std::min(height, window.y + window.height - y0);
  rows.out = out + size_t{y0 + rows.row_begin - window.y} * row_stride +
             size_t{x0 + rows.x_begin - window.x} * image.BytesPerPixel();
  rows.stride = row_stride;
  return rows;
}

Status PeekL3(ByteSpan bytes, const DecodeLimits& limits, L3Info* info) {
  if (BeginsWith(bytes, kL3V1Magic)) return PeekL3V1(bytes, limits, info);
  if (BeginsWith(bytes, kL3V2Magic)) return PeekL3V2(bytes, limits, info);
  if (bytes.size < 4) {
    return DataLoss("l3: the file ends at offset " +
                    std::to_string(bytes.size) + ", inside its first 4 bytes");
  }
  return DataLoss(
      "l3: the bytes at offset 0 must be \"LLL.\" (version 1) or \"LLL2\" "
      "(version 2)");
}

Status DecodeL3(ByteSpan bytes, const DecodeLimits& limits,
                const ImageInfo& expected, const Window& window, uint8_t* out,
                size_t row_stride) {
  L3Info info;
  LIQUID_RETURN_IF_ERROR(PeekL3(bytes, limits, &info));
  LIQUID_RETURN_IF_ERROR(
      CheckRequest("l3", info.image, expected, window, row_stride));
  return info.version == L3Version::kV1
             ? DecodeL3V1(bytes, info, window, out, row_stride)
             : DecodeL3V2(bytes, info, window, out, row_stride);
}

Status EncodeL3(const L3Options& options, const ImageInfo& info,
                const uint8_t* pixels, std::string* out) {
  switch (options.version) {
    case L3Version::kV1: {
      LIQUID_RETURN_IF_ERROR(CheckEncodable("l3 version 1", info, "3", 8));
      if (options.profile != L3Profile::kFast) {
        return InvalidArgument("l3: only version 2 has a compact profile");
      }
      if (info.height > INT32_MAX || info.width > INT32_MAX) {
        return InvalidArgument("l3: image (" + DescribeImage(info) +
                               ") must have sides below 2^31 in version 1");
      }
      if (options.patch < 0 || options.patch > int{kL3MaxPatchRow}) {
        return InvalidArgument("l3: patch (" + std::to_string(options.patch) +
                               ") must be 1 to 255, or 0 for the paper's rule");
      }
      const uint32_t patch = options.patch == 0
                                 ? V1PatchRule(info)
                                 : static_cast<uint32_t>(options.patch);
      return EncodeL3V1(patch, info, pixels, out);
    }
    case L3Version::kV2:
      LIQUID_RETURN_IF_ERROR(CheckEncodable("l3", info, "1234", 16));
      if (options.patch != 0 && options.patch != int{kL3V2Patch}) {
        return InvalidArgument("l3: patch (" + std::to_string(options.patch) +
                               ") must be 0 or 64 in version 2");
      }
      return EncodeL3V2(options, info, pixels, out);
  }
  return InvalidArgument("l3: version (" +
                         std::to_string(static_cast<int>(options.version)) +
                         ") must be 1 or 2");
}

Status PeekL3Image(ByteSpan bytes, const DecodeLimits& limits,
                   ImageInfo* info) {
  L3Info found;
  LIQUID_RETURN_IF_ERROR(PeekL3(bytes, limits, &found));
  *info = found.image;
  return OkStatus();
}

Status EncodeL3Fast(const EncodeOptions& /*options*/, const ImageInfo& info,
                    const uint8_t* pixels, std::string* out) {
  return EncodeL3(L3Options(), info, pixels, out);
}

Status EncodeL3Compact(const EncodeOptions& options, const ImageInfo& info,
                       const uint8_t* pixels, std::string* out) {
  L3Options compact;
  compact.profile = L3Profile::kCompact;
  compact.effort = options.l3_effort;
  return EncodeL3(compact, info, pixels, out);
}

}  // namespace liquid
