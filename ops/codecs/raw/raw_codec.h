// Raw: dense pixels behind a header of 16 bytes, all little-endian.
//
//   0   "LRAW"
//   4   uint32 height
//   8   uint32 width
//   12  uint8 channels (1..4)
//   13  uint8 bits (8 or 16)
//   14  uint16 0
//   16  height * width * channels samples, row by row, channels interleaved
#ifndef LIQUID_OPS_CODECS_RAW_RAW_CODEC_H_
#define LIQUID_OPS_CODECS_RAW_RAW_CODEC_H_

#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

constexpr size_t kRawHeaderBytes = 16;

// The header of an image; the pixel hash covers it too.
void StoreRawHeader(const ImageInfo& info, uint8_t header[kRawHeaderBytes]);

Status PeekRaw(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info);
Status DecodeRaw(ByteSpan bytes, const DecodeLimits& limits,
                 const ImageInfo& expected, const Window& window, uint8_t* out,
                 size_t row_stride);
Status EncodeRaw(const EncodeOptions& options, const ImageInfo& info,
                 const uint8_t* pixels, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_RAW_RAW_CODEC_H_
