// A JPEG decoder of our own, for the files that most are: sequential Huffman
// coding of 8 bits in one scan, gray or YCbCr, with chroma as luma or at a half
// of it (a quarter of its columns in 4:1:1).
//
// Pixels equal those of libjpeg-turbo's whole decode with the slow integer DCT
// and fancy upsampling. What is another kind of file, or damaged, or just odd,
// is left to the library, which also words the errors.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_DECODE_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_DECODE_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/codec_types.h"
#include "ops/codecs/jpeg/baseline/baseline_header.h"
#include "ops/core/span.h"

namespace liquid {

// The image of a file with this header.
ImageInfo BaselineInfo(const BaselineHeader& header);

// Decodes `window`, which lies in the image, into `out`. Decodes no row of
// blocks below it, and checks the end of the file only if the window is the
// image. False where the library has to decode: `out` may hold anything then.
bool DecodeBaseline(ByteSpan jpeg, const BaselineHeader& header,
                    const Window& window, uint8_t* out, size_t row_stride);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_DECODE_H_
