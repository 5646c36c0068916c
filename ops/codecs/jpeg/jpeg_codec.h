// JPEG: by a decoder of our own (baseline/) what most files are, by
// libjpeg-turbo in its accurate mode the rest. The slow integer DCT and fancy
// upsampling make pixels equal those of Pillow, by either.
//
// Decodes baseline, extended, progressive and arithmetic-coded files of 8 bits
// with one (gray) or three components (RGB), and of no more scans than
// DecodeLimits allow, which are counted before any is decoded. CMYK, YCCK,
// 12-bit and lossless files are Unimplemented. Data that libjpeg-turbo could
// only patch up (a premature end, bad Huffman codes, lost restart markers) is
// DataLoss. The orientation of EXIF is not applied.
//
// What lies below a window is neither decoded nor checked. The library decodes
// what is above and beside it: to crop saves it little, since it has to read
// the coefficients anyway. It smooths a progressive file that lacks scans
// (do_block_smoothing, as Pillow has it; how depends on the library's version).
// Encoding is 4:4:4 with optimal Huffman tables.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_CODEC_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_CODEC_H_

#include <cstdint>
#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

Status PeekJpeg(ByteSpan bytes, const DecodeLimits& limits, ImageInfo* info);
Status DecodeJpeg(ByteSpan bytes, const DecodeLimits& limits,
                  const ImageInfo& expected, const Window& window, uint8_t* out,
                  size_t row_stride);
// At 1/`denominator` of the size: 1, or as DecodeDraft has it. `index` is the
// file's, or empty. Error: DataLoss also where that is damaged, or another
// file's.
Status DecodeJpegDraft(ByteSpan bytes, ByteSpan index,
                       const DecodeLimits& limits, const ImageInfo& expected,
                       uint32_t denominator, const Window& window, uint8_t* out,
                       size_t row_stride);
// The same without an index, by libjpeg-turbo alone: the judge of the other.
Status DecodeJpegByLibrary(ByteSpan bytes, const DecodeLimits& limits,
                           const ImageInfo& expected, uint32_t denominator,
                           const Window& window, uint8_t* out,
                           size_t row_stride);
// Images that libjpeg-turbo has decoded in the calling thread so far, for
// whichever function.
uint64_t JpegLibraryDecodes();
Status EncodeJpeg(const EncodeOptions& options, const ImageInfo& info,
                  const uint8_t* pixels, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_CODEC_H_
