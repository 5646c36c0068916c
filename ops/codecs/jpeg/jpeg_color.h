// Lossless transform of a gray JPEG file into a colour one.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_COLOR_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_COLOR_H_

#include <string>

#include "ops/codecs/codec.h"

namespace liquid {

// Replaces `*color` by a YCbCr file without subsampling: its luma has the
// quantised coefficients of `gray`, and its chroma has only zeros. So every
// decoder gives R = G = B = what it gives of the gray file. As in
// ToProgressive, markers that decoding does without are dropped.
//
// A file whose scans give every bit becomes a sequential one. Of a progressive
// file whose scans leave coefficients imprecise, the new scans leave the same
// bits out, since a decoder smooths what it lacks.
//
// Errors: InvalidArgument for a file that is not gray; else those of
// ToProgressive. Thread-safe; holds six bytes a pixel.
Status GrayToColor(ByteSpan gray, const DecodeLimits& limits,
                   std::string* color);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_COLOR_H_
