// L3: lossless images in square patches that decode at memory speed.
//
// Version 1 is the paper's format (Bae et al., "L3: Accelerator-Friendly
// Lossless Image Format for High-Resolution, High-Throughput DNN Training",
// ECCV 2022): RGB of 8 bits. Version 2 is this project's: 1 to 4 channels, 8 or
// 16 bits, checksums. docs/formats/l3.md gives both to the byte.
//
// Synopsis of version 2; integers are little-endian:
//
//   "LLL2" | height u32 | width u32 | channels u8 | bits u8 | patch side u8
//   (64) | profile u8 | CRC-32C of all that | where each of P patches begins,
//   and the last one ends, u32[P + 1] | the patches, row-major
//
// A patch of the fast profile:
//
//   CRC-32C of its number and of what follows | a word for each channel | the
//   codes of each channel's rows | the payload, row by row
//
// The pixels of a row are its residuals plus a prediction from inside the
// patch: above, left, gradient or three quarters, as the channel's word says.
// The word also says what is added for colour, and which widths its groups
// have. A group is 8 residuals of n bits, n bytes of payload; its code is an
// index into those widths. So where each group begins is known before the first
// is read, and lanes of a register or threads of a warp decode a row together.
// The compact profile has Rice codes, or an index into few colours, in the
// groups' place.
//
// All functions are pure and thread-safe, trust no header, and never read or
// write out of bounds.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_CODEC_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

enum class L3Version : uint8_t { kV1 = 1, kV2 = 2 };

// How version 2 codes patches.
enum class L3Profile : uint8_t {
  kFast = 0,     // fixed widths
  kCompact = 1,  // Rice codes, or few colours: smaller, slower to decode
};

struct L3Options {
  L3Version version = L3Version::kV2;
  L3Profile profile = L3Profile::kFast;  // of version 2
  // Of the compact profile. All files decode equally fast.
  Effort effort = Effort::kDefault;
  int patch = 0;  // side in pixels; 0: by the format's rule
};

struct L3Info {
  ImageInfo image;
  L3Version version = L3Version::kV2;
  L3Profile profile = L3Profile::kFast;
  uint32_t patch = 0;
};

// Reads the header without decoding pixels; O(1). Errors: DataLoss,
// ResourceExhausted over the limits, Unimplemented for a reserved feature.
Status PeekL3(ByteSpan bytes, const DecodeLimits& limits, L3Info* info);

// Decodes a window as `Decode` of codec.h does, of either version. Reads only
// the header, the table of patches and the patches that the window meets.
Status DecodeL3(ByteSpan bytes, const DecodeLimits& limits,
                const ImageInfo& expected, const Window& window, uint8_t* out,
                size_t row_stride);

// Appends the encoding of a dense HWC image to `*out`.
Status EncodeL3(const L3Options& options, const ImageInfo& info,
                const uint8_t* pixels, std::string* out);

// The same for callers of every codec: of either version, and of version 2 in
// the profile that is named.
Status PeekL3Image(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info);
Status EncodeL3Fast(const EncodeOptions& options, const ImageInfo& info,
                    const uint8_t* pixels, std::string* out);
Status EncodeL3Compact(const EncodeOptions& options, const ImageInfo& info,
                       const uint8_t* pixels, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_CODEC_H_
