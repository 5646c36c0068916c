// A JPEG decoder of our own, for the files that most are: sequential Huffman
// coding of 8 bits in one scan, gray or YCbCr, with chroma as luma or at a half
// of it (a quarter of its columns in 4:1:1).
//
// Pixels equal those of libjpeg-turbo's decode of the whole image, or of a
// draft of it, with the slow integer DCT and fancy upsampling. What is another
// kind of file, or damaged, or just odd, is left to the library, which also
// words the errors.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_DECODE_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/codecs/codec_types.h"
#include "ops/codecs/jpeg/baseline/baseline_header.h"
#include "ops/codecs/jpeg/baseline/baseline_index.h"
#include "ops/core/span.h"

namespace liquid {

// The image of a file with this header, at 1/`denominator` of its size: 1, 2, 4
// or 8.
ImageInfo BaselineInfo(const BaselineHeader& header, uint32_t denominator);

enum class BaselineResult {
  kDecoded,
  kLibrarys,  // the library has to decode
  kDisagrees  // the index and the scan do not fit each other
};

// Decodes `window`, which lies in that image, into `out`, by the file's index
// if it is not null. Decodes no row of blocks below the window, and checks the
// end of the file only if the window is the image. `out` may hold anything if
// it is not decoded.
BaselineResult DecodeBaseline(ByteSpan jpeg, const BaselineHeader& header,
                              const BaselineIndex* index, uint32_t denominator,
                              const Window& window, uint8_t* out,
                              size_t row_stride);

// Finds the entries of a grid, row by row. False where the library has to
// decode the file.
bool FindBaselineEntries(ByteSpan jpeg, const BaselineHeader& header,
                         const BaselineGrid& grid,
                         std::vector<BaselineEntry>* entries);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_DECODE_H_
