// BMP: uncompressed images of 8 bits with a palette, 24 and 32 bits, bottom-up
// and top-down, and 32 bits with BITFIELDS masks of whole bytes.
//
// A palette that is the ramp of 256 grays gives a gray image, any other RGB. An
// image of 32 bits has alpha only if its header has an alpha mask: without one
// the fourth byte is padding. Other kinds (1, 4 and 16 bits, run-length coding,
// embedded JPEG and PNG) are Unimplemented.
//
// Encoding: gray as 8 bits with the gray ramp, RGB as 24 bits, RGBA as 32 bits
// with a BITMAPV4HEADER and masks.
#ifndef LIQUID_OPS_CODECS_BMP_BMP_CODEC_H_
#define LIQUID_OPS_CODECS_BMP_BMP_CODEC_H_

#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

Status PeekBmp(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info);
Status DecodeBmp(ByteSpan bytes, const DecodeLimits& limits,
                 const ImageInfo& expected, const Window& window, uint8_t* out,
                 size_t row_stride);
Status EncodeBmp(const EncodeOptions& options, const ImageInfo& info,
                 const uint8_t* pixels, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_BMP_BMP_CODEC_H_
