// PNG over libdeflate, with own defiltering and expansion of every kind.
//
// Channels are those of the file, made explicit: a palette becomes RGB, or RGBA
// where a tRNS chunk gives its entries alpha; gray and RGB images with a tRNS
// chunk gain an alpha channel that is 0 where the pixel has the chunk's colour;
// gray of 1, 2 or 4 bits is scaled to 8. Gamma and colour profiles are not
// applied. Of an animated PNG the default image is decoded.
//
// The checksums of the chunks that make the pixels and of the zlib stream are
// verified, and the stream must hold exactly the pixels that the header states.
#ifndef LIQUID_OPS_CODECS_PNG_PNG_CODEC_H_
#define LIQUID_OPS_CODECS_PNG_PNG_CODEC_H_

#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

Status PeekPng(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info);
Status DecodePng(ByteSpan bytes, const DecodeLimits& limits,
                 const ImageInfo& expected, const Window& window, uint8_t* out,
                 size_t row_stride);
Status EncodePng(const EncodeOptions& options, const ImageInfo& info,
                 const uint8_t* pixels, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_PNG_PNG_CODEC_H_
