#include "ops/codecs/jpeg/jpeg_scans.h"

#include <cstring>
#include <string>
#include <utility>

namespace liquid {
namespace {

enum Marker : uint8_t {
  kTem = 0x01,
  kRst0 = 0xd0,
  kRst7 = 0xd7,
  kSoi = 0xd8,
  kEoi = 0xd9,
  kSos = 0xda,
  kApp0 = 0xe0,
  kApp1 = 0xe1,
  kApp15 = 0xef,
  kCom = 0xfe,
};

Status Damaged(const std::string& what, size_t offset) {
  return DataLoss("jpeg: " + what + " at offset " + std::to_string(offset));
}

uint32_t LoadBig16(const uint8_t* p) { return uint32_t{p[0]} << 8 | p[1]; }

bool StandsAlone(uint8_t marker) {
  return marker == kTem || (marker >= kRst0 && marker <= kSoi);
}

// A marker and what belongs to it.
struct Segment {
  uint8_t marker = 0;
  size_t begin = 0;  // of the marker
  ByteSpan payload;  // behind the length field; empty where there is none
  size_t end = 0;
};

// Finds the next marker from `at` on: the byte behind one or more of 0xff, and
// not 0. Decoders pass over anything else that stands between segments.
Status FindMarker(ByteSpan jpeg, size_t at, size_t* begin, size_t* marker) {
  while (at < jpeg.size) {
    const void* found = std::memchr(jpeg.data + at, 0xff, jpeg.size - at);
    if (found == nullptr) break;
    *begin =
        static_cast<size_t>(static_cast<const uint8_t*>(found) - jpeg.data);
    *marker = *begin + 1;
    while (*marker < jpeg.size && jpeg.data[*marker] == 0xff) ++*marker;
    if (*marker < jpeg.size && jpeg.data[*marker] != 0) return OkStatus();
    at = *marker;
  }
  return Damaged("the file ends without EOI", jpeg.size);
}

// Reads the first segment from `at` on.
Status ReadSegment(ByteSpan jpeg, size_t at, Segment* segment) {
  size_t marker;
  LIQUID_RETURN_IF_ERROR(FindMarker(jpeg, at, &segment->begin, &marker));
  segment->marker = jpeg.data[marker];
  at = marker + 1;
  segment->payload = ByteSpan();
  segment->end = at;
  if (segment->marker == kEoi || StandsAlone(segment->marker)) {
    return OkStatus();
  }
  if (jpeg.size - at < 2) return Damaged("the file ends inside a marker", at);
  const size_t length = LoadBig16(jpeg.data + at);
  if (length < 2 || length > jpeg.size - at) {
    return Damaged("a segment of " + std::to_string(length) + " bytes", at);
  }
  segment->payload = ByteSpan(jpeg.data + at + 2, length - 2);
  segment->end = at + length;
  return OkStatus();
}

// Where the entropy-coded data that begin at `at` end: at the first marker that
// is no restart. Inside the data, 0xff is followed by 0.
size_t EndOfData(ByteSpan jpeg, size_t at) {
  size_t begin, marker;
  while (FindMarker(jpeg, at, &begin, &marker).ok()) {
    const uint8_t value = jpeg.data[marker];
    if (value < kRst0 || value > kRst7) return begin;
    at = marker + 1;
  }
  return jpeg.size;
}

// SOF0 to SOF15, among which DHT, JPG and DAC have codes too.
bool IsFrame(uint8_t marker) {
  return (marker & 0xf0) == 0xc0 && marker != 0xc4 && marker != 0xc8 &&
         marker != 0xcc;
}

Status Unsupported(const std::string& what) {
  return Unimplemented("jpeg: " + what +
                       " is not supported; baseline, progressive and "
                       "arithmetic-coded files of 8 bits are");
}

Status ReadStart(ByteSpan jpeg) {
  if (jpeg.size < 2 || jpeg.data[0] != 0xff || jpeg.data[1] != kSoi) {
    return Damaged("no SOI", 0);
  }
  return OkStatus();
}

}  // namespace

Status SplitScans(ByteSpan jpeg, std::vector<ByteSpan>* chunks) {
  LIQUID_RETURN_IF_ERROR(ReadStart(jpeg));
  std::vector<ByteSpan> found;
  size_t begin = 0, at = 2;
  while (true) {
    Segment segment;
    LIQUID_RETURN_IF_ERROR(ReadSegment(jpeg, at, &segment));
    if (segment.marker == kEoi) {
      if (found.empty()) return Damaged("EOI before any scan", segment.begin);
      break;
    }
    if (segment.marker == kSoi) return Damaged("a second SOI", segment.begin);
    at = segment.end;
    if (segment.marker != kSos) continue;
    at = EndOfData(jpeg, at);
    found.emplace_back(jpeg.data + begin, at - begin);
    begin = at;
  }
  *chunks = std::move(found);
  return OkStatus();
}

size_t CountScans(ByteSpan jpeg) {
  size_t count = 0;
  Segment segment;
  segment.end = 2;
  while (ReadSegment(jpeg, segment.end, &segment).ok() &&
         segment.marker != kEoi) {
    if (segment.marker != kSos) continue;
    ++count;
    segment.end = EndOfData(jpeg, segment.end);
  }
  return count;
}

bool HasScans(ByteSpan jpeg) {
  bool in_scan = false;
  Segment segment;
  segment.end = 2;
  while (ReadSegment(jpeg, segment.end, &segment).ok() &&
         segment.marker != kEoi) {
    constexpr uint8_t kArithmetic = 0x08;
    if (IsFrame(segment.marker) && (segment.marker & kArithmetic) != 0) break;
    if (segment.marker != kSos) continue;
    if (in_scan) return true;
    in_scan = true;
    segment.end = EndOfData(jpeg, segment.end);
  }
  return false;
}

std::vector<JpegSegment> FindAppSegments(ByteSpan jpeg) {
  std::vector<JpegSegment> found;
  Segment segment;
  segment.end = 2;
  while (ReadSegment(jpeg, segment.end, &segment).ok() &&
         segment.marker != kSos && segment.marker != kEoi) {
    const uint8_t marker = segment.marker;
    if ((marker >= kApp0 && marker <= kApp15) || marker == kCom) {
      found.push_back({marker, segment.payload});
    }
  }
  return found;
}

Status CheckFrame(ByteSpan jpeg) {
  if (!ReadStart(jpeg).ok()) return OkStatus();
  Segment segment;
  segment.end = 2;
  while (ReadSegment(jpeg, segment.end, &segment).ok()) {
    const uint8_t marker = segment.marker;
    if (marker == kSos || marker == kEoi) break;
    if (!IsFrame(marker)) continue;
    const bool lossless = (marker & 3) == 3;
    if (lossless) return Unsupported("a lossless frame");
    if (segment.payload.size > 0 && segment.payload.data[0] != 8) {
      return Unsupported(std::to_string(segment.payload.data[0]) +
                         " bits a sample");
    }
    break;
  }
  return OkStatus();
}

ByteSpan FindJpegExif(ByteSpan jpeg) {
  if (!ReadStart(jpeg).ok()) return ByteSpan();
  Segment segment;
  segment.end = 2;
  while (ReadSegment(jpeg, segment.end, &segment).ok()) {
    if (segment.marker == kSos || segment.marker == kEoi) break;
    constexpr size_t kPrefix = 6;
    const ByteSpan& payload = segment.payload;
    if (segment.marker == kApp1 && payload.size >= kPrefix &&
        std::memcmp(payload.data, "Exif\0\0", kPrefix) == 0) {
      return ByteSpan(payload.data + kPrefix, payload.size - kPrefix);
    }
  }
  return ByteSpan();
}

}  // namespace liquid
