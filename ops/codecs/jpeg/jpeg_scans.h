// Takes a JPEG file apart into its scans, without decoding anything.
//
// Pure functions, thread-safe, O(bytes). No number in the bytes is believed:
// what is allocated follows from the bytes that are there.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_SCANS_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_SCANS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Points `*chunks` at the scans of a whole file. Chunk 1 goes from SOI through
// the first scan's data; a later one from the tables before its SOS through its
// data. What follows the last scan's data, EOI first of all, belongs to none:
// the chunks are the file without its tail. Errors: DataLoss with the offset,
// for a file without a scan or without EOI too.
Status SplitScans(ByteSpan jpeg, std::vector<ByteSpan>* chunks);

// How many scans a decoder would meet, up to EOI or to damage.
size_t CountScans(ByteSpan jpeg);

// Whether the data are in several scans coded by Huffman's tables, as those of
// a progressive file. O(bytes up to the second scan).
bool HasScans(ByteSpan jpeg);

struct JpegSegment {
  uint8_t marker = 0;
  ByteSpan payload;  // behind its length
};

// The APPn and COM segments before the first scan, in their order, up to
// damage.
std::vector<JpegSegment> FindAppSegments(ByteSpan jpeg);

// Unimplemented for a file of other than 8 bits, and for a lossless one, which
// versions of the library from 3 on decode to what is not a DCT's 8 bits. OK
// where there is no frame: the library says what is wrong then.
Status CheckFrame(ByteSpan jpeg);

// The TIFF structure of the first APP1 segment of EXIF; empty where there is
// none before the first scan.
ByteSpan FindJpegExif(ByteSpan jpeg);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_SCANS_H_
