// What the users of libjpeg-turbo's decoder share.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_LIBRARY_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_LIBRARY_H_

// clang-format off
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <jpeglib.h>
// clang-format on

namespace liquid {

// Whether the scans gave every bit of every coefficient. The decoder smooths
// the blocks of an image where they did not. Call when the whole file was read:
// after jpeg_read_coefficients.
bool IsExactJpeg(const jpeg_decompress_struct& decoder);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_LIBRARY_H_
