// What a conversion does to one image file: identify it, and store it in
// another format with proof that the pixels are the same.
#ifndef LIQUID_OPS_CODECS_TRANSCODE_H_
#define LIQUID_OPS_CODECS_TRANSCODE_H_

#include <cstdint>
#include <string>

#include "ops/codecs/codec.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

struct Scan {
  Format format = Format::kRaw;  // of the bytes that were scanned
  ImageInfo info;                // ScanImage: as decoded; Transcode: as stored
  uint64_t pixels_hash = 0;      // PixelHash after the change of the pixels
};

// Identifies `file` by its first bytes, decodes all of it, changes channels and
// depth, and hashes. `channels` is as in ChangeChannels, `bits` as in
// ChangeBits; `scan->info` is of the image before these. Errors: those of
// SniffFormat, Peek, Decode, ChangeChannels and ChangeBits.
Status ScanImage(ByteSpan file, const DecodeLimits& limits, int channels,
                 int bits, Scan* scan);

// Replaces `*encoded` by `file` in the `target` format. The bytes are copied
// where the file already is in that format, keeps channels and depth, and is as
// lossless as `options` ask. Otherwise the pixels are encoded, and for a
// lossless target decoded again and compared: a difference is Internal. For
// Format::kPcr `*encoded` is a progressive JPEG file. A JPEG becomes jpeg or
// pcr without loss, and is compared as well, where it keeps its channels or is
// gray and `channels` is 3.
// `*result` describes `*encoded`: decoding it gives that hash.
Status Transcode(ByteSpan file, const DecodeLimits& limits, int channels,
                 int bits, Format target, const EncodeOptions& options,
                 std::string* encoded, Scan* result);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_TRANSCODE_H_
