#include "ops/containers/recordio/dataset_index.h"

#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "ops/codecs/codec.h"
#include "ops/containers/recordio/little_endian.h"

namespace liquid {
namespace {

constexpr char kNpyMagic[] = "\x93NUMPY\x01";  // and version 1.0's final 0
constexpr size_t kNpyPrefix = 10;              // magic, version, header length

// A NumPy header is a Python expression. Only what the writer writes is
// accepted, so that reading it needs no parser of Python.
constexpr char kDescr[] =
    "{'descr': [('sample', '<u8'), ('split', '|u1'), ('format', '|u1'), "
    "('channels', '|u1'), ('bits', '|u1'), ('shard', '<u4'), "
    "('offset', '<u8'), ('length', '<u8'), ('crc32c', '<u4'), "
    "('height', '<u4'), ('width', '<u4'), ('orientation', '<u4'), "
    "('pixels_hash', '<u8')], "
    "'fortran_order': False, 'shape': (";
constexpr char kTail[] = ",), }";

// A record holds at least a fragment's header and a sample's header.
constexpr uint64_t kSmallestRecord = 8 + 24;

Status Damaged(const std::string& what, size_t offset) {
  return DataLoss(what + " at offset " + std::to_string(offset));
}

void LoadRow(const uint8_t* bytes, IndexRow* row) {
  row->sample = LoadLittleEndian<uint64_t>(bytes);
  row->split = bytes[8];
  row->format = bytes[9];
  row->channels = bytes[10];
  row->bits = bytes[11];
  row->shard = LoadLittleEndian<uint32_t>(bytes + 12);
  row->offset = LoadLittleEndian<uint64_t>(bytes + 16);
  row->length = LoadLittleEndian<uint64_t>(bytes + 24);
  row->crc32c = LoadLittleEndian<uint32_t>(bytes + 32);
  row->height = LoadLittleEndian<uint32_t>(bytes + 36);
  row->width = LoadLittleEndian<uint32_t>(bytes + 40);
  row->orientation = LoadLittleEndian<uint32_t>(bytes + 44);
  row->pixels_hash = LoadLittleEndian<uint64_t>(bytes + 48);
}

// Reads a row at `offset` of the file and checks it.
Status ParseRow(const uint8_t* bytes, size_t offset, IndexRow* row) {
  LoadRow(bytes, row);
  if (row->format > static_cast<uint8_t>(kLastFormat)) {
    return Damaged("format (" + std::to_string(row->format) + ") is unknown",
                   offset + 9);
  }
  // Rows of a pcr hold a record and a slot here, not a byte range.
  if (row->format != static_cast<uint8_t>(Format::kPcr)) {
    if (row->offset % 4 != 0 || row->offset >> 62 != 0) {
      return Damaged("record offset (" + std::to_string(row->offset) +
                         ") must be a multiple of 4 below 2^62",
                     offset + 16);
    }
    if (row->length % 4 != 0 || row->length < kSmallestRecord ||
        row->length >> 32 != 0) {
      return Damaged("record length (" + std::to_string(row->length) +
                         ") must be a multiple of 4 in [32, 2^32)",
                     offset + 24);
    }
  }
  if (row->height == 0 || row->width == 0) {
    return Damaged("image size (" + std::to_string(row->height) + " x " +
                       std::to_string(row->width) + ") must be positive",
                   offset + 36);
  }
  if (row->channels < 1 || row->channels > 4) {
    return Damaged(
        "channels (" + std::to_string(row->channels) + ") must be 1 to 4",
        offset + 10);
  }
  if (row->bits != 8 && row->bits != 16) {
    return Damaged("bits (" + std::to_string(row->bits) + ") must be 8 or 16",
                   offset + 11);
  }
  if (row->orientation < 1 || row->orientation > 8) {
    return Damaged(
        "orientation (" + std::to_string(row->orientation) + ") must be 1 to 8",
        offset + 44);
  }
  return OkStatus();
}

// Checks rows at packed.data; `base` is the offset of the first in the file.
Status CheckAscending(ByteSpan packed, size_t base) {
  IndexRow a, b;
  for (size_t at = 0; at < packed.size; at += kIndexRowBytes) {
    LIQUID_RETURN_IF_ERROR(ParseRow(packed.data + at, base + at, &b));
    if (at > 0 && std::tie(a.split, a.format, a.shard, a.offset) >=
                      std::tie(b.split, b.format, b.shard, b.offset)) {
      return Damaged("row " + std::to_string(at / kIndexRowBytes) +
                         " does not ascend by (split, format, shard, offset)",
                     base + at);
    }
    a = b;
  }
  return OkStatus();
}

}  // namespace

IndexRow IndexView::operator[](size_t i) const {
  IndexRow row;
  LoadRow(packed_.data + i * kIndexRowBytes, &row);
  return row;
}

IndexView IndexView::Of(uint8_t split, uint8_t format) const {
  // The first row at or behind (split, format), which may lie one past 255.
  const auto first = [this](uint32_t key) {
    size_t low = 0;
    size_t high = size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      const uint8_t* row = packed_.data + middle * kIndexRowBytes;
      if ((uint32_t{row[8]} << 8 | row[9]) < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low * kIndexRowBytes;
  };
  const uint32_t key = uint32_t{split} << 8 | format;
  const size_t begin = first(key);
  return IndexView(ByteSpan(packed_.data + begin, first(key + 1) - begin),
                   keep_);
}

Status IndexView::Create(ByteSpan npy, std::shared_ptr<const void> keep,
                         IndexView* view) {
  // sizeof counts the literal's terminator, which stands for the minor version.
  if (npy.size < kNpyPrefix ||
      std::memcmp(npy.data, kNpyMagic, sizeof(kNpyMagic)) != 0) {
    return Damaged("not a NumPy file of format version 1.0", 0);
  }
  const size_t header = LoadLittleEndian<uint16_t>(npy.data + 8);
  if (header > npy.size - kNpyPrefix) {
    return Damaged("header of " + std::to_string(header) +
                       " bytes passes the end of the file",
                   8);
  }
  const std::string text(reinterpret_cast<const char*>(npy.data) + kNpyPrefix,
                         header);
  const size_t descr = sizeof(kDescr) - 1;
  if (text.compare(0, descr, kDescr) != 0) {
    return Damaged("the array's dtype is not that of an index", kNpyPrefix);
  }
  uint64_t count = 0;
  size_t position = descr;
  while (position < text.size() && text[position] >= '0' &&
         text[position] <= '9' && position - descr < 19) {
    count = count * 10 + static_cast<uint64_t>(text[position++] - '0');
  }
  const size_t tail = sizeof(kTail) - 1;
  if (position == descr || text.compare(position, tail, kTail) != 0 ||
      text.find_first_not_of(' ', position + tail) + 1 != text.size() ||
      text.back() != '\n') {
    return Damaged("the array must be one-dimensional", kNpyPrefix + position);
  }
  const size_t begin = kNpyPrefix + header;
  const ByteSpan packed(npy.data + begin, npy.size - begin);
  if (packed.size % kIndexRowBytes != 0 ||
      packed.size / kIndexRowBytes != count) {
    return Damaged(std::to_string(count) + " rows of 56 bytes promised, " +
                       std::to_string(packed.size) + " bytes found",
                   begin);
  }
  LIQUID_RETURN_IF_ERROR(CheckAscending(packed, begin));
  *view = IndexView(packed, std::move(keep));
  return OkStatus();
}

Status ParseIndexRows(ByteSpan packed, std::vector<IndexRow>* rows) {
  if (packed.size % kIndexRowBytes != 0) {
    return Damaged(std::to_string(packed.size) +
                       " bytes are no whole number of 56-byte rows",
                   0);
  }
  std::vector<IndexRow> result(packed.size / kIndexRowBytes);
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t offset = i * kIndexRowBytes;
    LIQUID_RETURN_IF_ERROR(ParseRow(packed.data + offset, offset, &result[i]));
  }
  *rows = std::move(result);
  return OkStatus();
}

}  // namespace liquid
