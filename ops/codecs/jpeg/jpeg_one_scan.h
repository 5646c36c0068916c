// Lossless transform of a JPEG file of several scans into one of one scan,
// which decodes several times as fast.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_ONE_SCAN_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_ONE_SCAN_H_

#include <string>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Replaces `*one` by a sequential file of the same quantised coefficients and
// sampling, in one Huffman-coded scan with tables made for it, and with the
// APPn and COM segments that stand before the first scan. It is the file
// itself where HasScans is false, where scans leave coefficients imprecise,
// since a decoder smooths such an image and no other, and where no one scan
// holds them (more than ten blocks in an MCU, quantisation tables that change
// between scans).
//
// Error: DataLoss where DecodeJpeg has one. The frame is one that PeekJpeg
// takes. Thread-safe; holds two bytes a coefficient.
Status ToOneScan(ByteSpan jpeg, std::string* one);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_ONE_SCAN_H_
