// WebP over libwebp: lossy and lossless still images, RGB or RGBA.
//
// An image has alpha where its file says so. Animations are Unimplemented.
// Lossless encoding keeps the colour of transparent pixels (`exact`), and an
// image of four channels stays one even if it is opaque.
#ifndef LIQUID_OPS_CODECS_WEBP_WEBP_CODEC_H_
#define LIQUID_OPS_CODECS_WEBP_WEBP_CODEC_H_

#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

Status PeekWebp(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info);
Status DecodeWebp(ByteSpan bytes, const DecodeLimits& limits,
                  const ImageInfo& expected, const Window& window, uint8_t* out,
                  size_t row_stride);
Status EncodeWebp(const EncodeOptions& options, const ImageInfo& info,
                  const uint8_t* pixels, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_WEBP_WEBP_CODEC_H_
