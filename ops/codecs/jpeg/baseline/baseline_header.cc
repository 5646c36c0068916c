#include "ops/codecs/jpeg/baseline/baseline_header.h"

#include <cstring>

namespace liquid {
namespace {

enum Marker : uint8_t {
  kSof0 = 0xc0,
  kSof1 = 0xc1,
  kDht = 0xc4,
  kSoi = 0xd8,
  kSos = 0xda,
  kDqt = 0xdb,
  kDri = 0xdd,
  kApp0 = 0xe0,
  kApp14 = 0xee,
  kApp15 = 0xef,
  kCom = 0xfe,
};

constexpr uint32_t kMaxSide = 65500;  // libjpeg-turbo's
constexpr uint32_t kTables = 4;

uint32_t LoadBig16(const uint8_t* p) { return uint32_t{p[0]} << 8 | p[1]; }

// What the segments say beside the header.
struct Segments {
  bool frame = false;
  uint8_t ids[3] = {};
  bool jfif = false;
  bool adobe = false;
  uint8_t adobe_transform = 0;
  bool quantization[kTables] = {};
};

bool ReadFrame(ByteSpan payload, BaselineHeader* header, Segments* segments) {
  if (segments->frame || payload.size < 6) return false;
  const uint8_t* p = payload.data;
  header->height = LoadBig16(p + 1);
  header->width = LoadBig16(p + 3);
  header->components = p[5];
  if (p[0] != 8 || header->height == 0 || header->height > kMaxSide ||
      header->width == 0 || header->width > kMaxSide) {
    return false;
  }
  if (header->components != 1 && header->components != 3) return false;
  if (payload.size != 6 + size_t{3} * header->components) return false;
  for (uint32_t c = 0; c < header->components; ++c) {
    const uint8_t* at = p + 6 + 3 * c;
    segments->ids[c] = at[0];
    for (uint32_t other = 0; other < c; ++other) {
      if (segments->ids[other] == at[0]) return false;
    }
    const uint32_t h = at[1] >> 4, v = at[1] & 15;
    if (h < 1 || h > 4 || v < 1 || v > 4 || at[2] >= kTables) return false;
    header->component[c].quantization = at[2];
    if (header->components == 1) continue;  // gray has blocks of its own
    if (c == 0) {
      const bool known = h == 1 || h == 2 ? v <= 2 : h == 4 && v == 1;
      if (!known) return false;
      header->h = h;
      header->v = v;
    } else if (h != 1 || v != 1) {
      return false;
    }
  }
  segments->frame = true;
  return true;
}

bool ReadHuffman(ByteSpan payload, BaselineHeader* header) {
  const uint8_t* at = payload.data;
  size_t left = payload.size;
  while (left > 0) {
    constexpr size_t kFixed = 17;
    if (left < kFixed || (at[0] & 0xef) >= kTables) return false;
    size_t symbols = 0;
    for (int bits = 1; bits <= 16; ++bits) symbols += at[bits];
    if (symbols > 256 || symbols > left - kFixed) return false;
    BaselineHuffman* tables = at[0] & 0x10 ? header->ac : header->dc;
    tables[at[0] & 15].counts = at + 1;
    tables[at[0] & 15].symbols = at + kFixed;
    at += kFixed + symbols;
    left -= kFixed + symbols;
  }
  return true;
}

bool ReadQuantization(ByteSpan payload, BaselineHeader* header,
                      Segments* segments) {
  const uint8_t* at = payload.data;
  size_t left = payload.size;
  while (left > 0) {
    const uint32_t bytes = 1 + (at[0] >> 4), table = at[0] & 15;
    const size_t size = 1 + size_t{bytes} * kBlockSize;
    if (bytes > 2 || table >= kTables || left < size) return false;
    for (uint32_t k = 0; k < kBlockSize; ++k) {
      header->quantization[table][kNaturalOrder[k]] = static_cast<uint16_t>(
          bytes == 1 ? at[1 + k] : LoadBig16(at + 1 + 2 * k));
    }
    segments->quantization[table] = true;
    at += size;
    left -= size;
  }
  return true;
}

// Whether the components are Y, Cb and Cr, by libjpeg-turbo's rules.
bool IsYcc(const Segments& segments) {
  if (segments.jfif) return true;
  if (segments.adobe) return segments.adobe_transform == 1;
  return segments.ids[0] == 1 && segments.ids[1] == 2 && segments.ids[2] == 3;
}

bool ReadScan(ByteSpan payload, const Segments& segments,
              BaselineHeader* header) {
  if (!segments.frame) return false;
  const uint32_t components = header->components;
  if (payload.size != 4 + size_t{2} * components) return false;
  const uint8_t* p = payload.data;
  if (p[0] != components) return false;
  for (uint32_t c = 0; c < components; ++c) {
    const uint8_t* at = p + 1 + 2 * c;
    BaselineComponent* component = &header->component[c];
    component->dc = at[1] >> 4;
    component->ac = at[1] & 15;
    if (at[0] != segments.ids[c] || component->dc >= kTables ||
        component->ac >= kTables ||
        header->dc[component->dc].counts == nullptr ||
        header->ac[component->ac].counts == nullptr ||
        !segments.quantization[component->quantization]) {
      return false;
    }
  }
  const uint8_t* range = p + 1 + 2 * components;
  if (range[0] != 0 || range[1] != kBlockSize - 1 || range[2] != 0) {
    return false;
  }
  if (components == 1) return true;
  // Of planes of two columns or fewer, libjpeg-turbo makes no slope.
  const uint32_t columns = (header->width + header->h - 1) / header->h;
  return IsYcc(segments) && (header->h == 1 || columns > 2);
}

bool Begins(ByteSpan payload, const char* text, size_t text_size,
            size_t min_size) {
  return payload.size >= min_size &&
         std::memcmp(payload.data, text, text_size) == 0;
}

bool ReadSegment(uint8_t marker, ByteSpan payload, BaselineHeader* header,
                 Segments* segments) {
  switch (marker) {
    case kSof0:
    case kSof1:
      return ReadFrame(payload, header, segments);
    case kDht:
      return ReadHuffman(payload, header);
    case kDqt:
      return ReadQuantization(payload, header, segments);
    case kDri:
      if (payload.size != 2) return false;
      header->restart_interval = LoadBig16(payload.data);
      return true;
    case kApp0:
      if (Begins(payload, "JFIF", 5, 14)) segments->jfif = true;
      return true;
    case kApp14:
      if (Begins(payload, "Adobe", 5, 12)) {
        segments->adobe = true;
        segments->adobe_transform = payload.data[11];
      }
      return true;
    default:
      return marker == kCom || (marker > kApp0 && marker <= kApp15);
  }
}

}  // namespace

const uint8_t kNaturalOrder[kPlaces] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,  //
};

bool ReadBaselineHeader(ByteSpan jpeg, BaselineHeader* header) {
  Segments segments;
  if (jpeg.size < 2 || jpeg.data[0] != 0xff || jpeg.data[1] != kSoi) {
    return false;
  }
  size_t at = 2;
  while (jpeg.size - at >= 4) {
    if (jpeg.data[at] != 0xff) return false;
    if (jpeg.data[at + 1] == 0xff) {
      ++at;
      continue;
    }
    const uint8_t marker = jpeg.data[at + 1];
    const size_t length = LoadBig16(jpeg.data + at + 2);
    if (length < 2 || length > jpeg.size - at - 2) return false;
    const ByteSpan payload(jpeg.data + at + 4, length - 2);
    at += 2 + length;
    if (marker == kSos) {
      header->scan = at;
      return ReadScan(payload, segments, header);
    }
    if (!ReadSegment(marker, payload, header, &segments)) return false;
  }
  return false;
}

}  // namespace liquid
