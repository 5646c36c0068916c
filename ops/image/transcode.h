// What a conversion does to one image file: identify it, and store it in
// another format, changed as asked, with proof that the pixels are the same.
#ifndef LIQUID_OPS_IMAGE_TRANSCODE_H_
#define LIQUID_OPS_IMAGE_TRANSCODE_H_

#include <cstdint>
#include <string>

#include "ops/codecs/codec.h"
#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/image/changes.h"

namespace liquid {

struct Scan {
  Format format = Format::kRaw;  // of the bytes that were scanned
  ImageInfo info;                // ScanImage: as decoded; Transcode: as stored
  ImageInfo changed;             // after the changes
  uint64_t pixels_hash = 0;      // PixelHash after them; 0: nothing was decoded
};

// Identifies `file` by its first bytes, decodes all of it, changes it, and
// hashes. Errors: those of SniffFormat, Peek, Decode and ApplyChanges.
Status ScanImage(ByteSpan file, const DecodeLimits& limits,
                 const Changes& changes, Scan* scan);

// Likewise, of its header alone, and without changes. Errors: those of
// SniffFormat and Peek.
Status ScanHeader(ByteSpan file, const DecodeLimits& limits, Scan* scan);

// Replaces `*encoded` by `file` in the `target` format. The bytes are copied
// where the file already is in that format, nothing of it changes, and it is as
// lossless as `options` ask, and as they ask has one scan. Otherwise the pixels
// are encoded, and for a lossless target decoded again and compared: a
// difference is Internal. For Format::kPcr `*encoded` is a progressive JPEG
// file. A JPEG becomes jpeg or pcr without loss, and is compared as well, where
// it keeps its places, and its channels or is gray and `channels` is 3.
// `*result` describes `*encoded`: decoding it gives that hash.
Status Transcode(ByteSpan file, const DecodeLimits& limits,
                 const Changes& changes, Format target,
                 const EncodeOptions& options, std::string* encoded,
                 Scan* result);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_TRANSCODE_H_
