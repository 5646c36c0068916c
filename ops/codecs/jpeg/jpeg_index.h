// The index of a JPEG file: where the MCUs of its scan begin, each so many of a
// row, so that a window is decoded without what lies before it. It is stored
// beside the file, whose bytes stay as they are. docs/formats/jpeg-index.md has
// it to the byte.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_INDEX_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

inline constexpr char kJpegIndexMagic[] = "LJX1";
inline constexpr uint32_t kJpegIndexRow = 0;  // spacing: an entry a row

// Appends the index of `jpeg` to `*index`, with an entry each `spacing` MCUs of
// a row; nothing where libjpeg-turbo has to decode the file. Costs the
// entropy decoding, which is most of a decode.
Status AppendJpegIndex(ByteSpan jpeg, const DecodeLimits& limits,
                       uint32_t spacing, std::string* index);

// Finds the size that an index which begins at `bytes` says, 0 where none
// begins there. Error: DataLoss: it does not fit in `bytes`.
Status JpegIndexSize(ByteSpan bytes, size_t* size);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_INDEX_H_
