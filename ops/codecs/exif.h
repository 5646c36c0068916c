// The orientation that an image file's EXIF states.
#ifndef LIQUID_OPS_CODECS_EXIF_H_
#define LIQUID_OPS_CODECS_EXIF_H_

#include "ops/core/span.h"

namespace liquid {

// 1 to 8, as EXIF numbers them: of a JPEG's APP1, a PNG's eXIf or a WebP's
// EXIF. 1 where a file states none or nonsense, and for any other bytes. Pure,
// thread-safe, O(bytes).
int ExifOrientation(ByteSpan file);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_EXIF_H_
