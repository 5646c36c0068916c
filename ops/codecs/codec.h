// One interface over every image codec.
//
// A codec is three functions over bytes, which its row of formats.h names: Peek
// reads the header, Decode writes pixels into the caller's buffer, Encode
// appends to a string, of an image that the row says the format holds. All are
// pure and thread-safe, trust no header, and never read or write out of bounds.
// Pixels are interleaved HWC; 16-bit samples are in the host's byte order.
#ifndef LIQUID_OPS_CODECS_CODEC_H_
#define LIQUID_OPS_CODECS_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/codecs/formats.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Name of a format ("png"), or nullptr for an unknown value.
const char* FormatName(Format format);
// Finds the format by name. Error: InvalidArgument that lists the names.
Status ParseFormat(const std::string& name, Format* format);
// Finds the format from the first bytes of a file. Error: InvalidArgument that
// lists the names.
Status SniffFormat(ByteSpan bytes, Format* format);

// Reads size, channels and bits without decoding pixels. Checks them against
// the limits. A palette image reports the RGB or RGBA that it decodes to.
Status Peek(Format format, ByteSpan bytes, const DecodeLimits& limits,
            ImageInfo* info);

// Decodes `window` of the image into `out`, whose rows are `row_stride` bytes
// apart and hold window.width pixels. `expected` is what the caller sized the
// buffer for: another size, channel count or depth in the bytes is DataLoss
// and nothing out of bounds is written.
Status Decode(Format format, ByteSpan bytes, const DecodeLimits& limits,
              const ImageInfo& expected, const Window& window, uint8_t* out,
              size_t row_stride);

// As Decode, with the index that is stored beside the file (of a jpeg:
// jpeg/jpeg_index.h); empty: there is none. Errors: DataLoss for an index that
// is damaged, or another file's; InvalidArgument for a format that has none.
Status DecodeIndexed(Format format, ByteSpan bytes, ByteSpan index,
                     const DecodeLimits& limits, const ImageInfo& expected,
                     const Window& window, uint8_t* out, size_t row_stride);

// Whether DecodeDraft takes a format: jpeg and pcr.
bool HasDrafts(Format format);

// Decodes the whole image at 1/2, 1/4 or 1/8 of its size, as `denominator`
// says, each side rounded up; `window` is of that. A JPEG's coefficients make
// the smaller image by themselves (Pillow's Image.draft), which costs less than
// decoding and resizing it. Else as DecodeIndexed. Error: InvalidArgument for a
// format without drafts, or another denominator.
Status DecodeDraft(Format format, ByteSpan bytes, ByteSpan index,
                   const DecodeLimits& limits, const ImageInfo& expected,
                   uint32_t denominator, const Window& window, uint8_t* out,
                   size_t row_stride);

// Images that libjpeg-turbo has decoded in the calling thread so far: all of
// pcr, and those of jpeg that are not for our own decoder.
uint64_t LibraryDecodes();

// Rows of the whole image at whose multiples windows may be cut, so that
// several threads decode one image at no more work; 0 where they may not.
uint32_t BandRows(Format format, ByteSpan bytes, const DecodeLimits& limits);

// Appends the encoding of a dense HWC image to `*out`.
Status Encode(Format format, const EncodeOptions& options,
              const ImageInfo& info, const uint8_t* pixels, std::string* out);

// XXH3-64 of the image's raw encoding (header and pixels): equal for every
// lossless encoding of one image, different for another shape or depth.
uint64_t PixelHash(const ImageInfo& info, const uint8_t* pixels);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_CODEC_H_
