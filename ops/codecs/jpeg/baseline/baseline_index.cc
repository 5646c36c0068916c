#include "ops/codecs/jpeg/baseline/baseline_index.h"

#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/core/crc32c.h"

namespace liquid {
namespace {

constexpr size_t kSize = 4, kSpacing = 8, kFile = 12, kCrc = 16, kSlope = 20,
                 kPositionBase = 24, kDcBases = 28, kPositionWidth = 34,
                 kDcWidths = 35;
constexpr uint32_t kMaxPositionWidth = 32, kMaxDcWidth = 16;
constexpr int kSlopeBits = 16;  // fraction of a bit

// Of all bytes but its own.
uint32_t CrcOf(ByteSpan index) {
  const uint32_t start = Crc32c(ByteSpan(index.data, kCrc));
  return ExtendCrc32c(start,
                      ByteSpan(index.data + kSlope, index.size - kSlope));
}

uint64_t IndexSize(const BaselineGrid& grid, uint32_t entry_bits) {
  const uint64_t bits = uint64_t{grid.down} * grid.entries * entry_bits;
  return kBaselineIndexHeader + (bits + 31) / 32 * 4;
}

uint32_t Mcu(const BaselineGrid& grid, uint32_t row, uint32_t entry) {
  return row * grid.across + entry * grid.spacing;
}

// Where a line of this slope has an MCU.
int64_t OnLine(uint32_t slope, uint32_t mcu) {
  return static_cast<int64_t>((uint64_t{slope} * mcu) >> kSlopeBits);
}

// The least and the most of something.
struct Range {
  int64_t least = INT64_MAX, most = INT64_MIN;

  void Add(int64_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  uint32_t Width() const {
    uint32_t width = 0;
    while ((most - least) >> width > 0) ++width;
    return width;
  }
};

// How far positions are from a line.
Range FromLine(const std::vector<BaselineEntry>& entries,
               const BaselineGrid& grid, uint32_t slope) {
  Range range;
  size_t i = 0;
  for (uint32_t row = 0; row < grid.down; ++row) {
    for (uint32_t e = 0; e < grid.entries; ++e, ++i) {
      range.Add(static_cast<int64_t>(entries[i].position) -
                OnLine(slope, Mcu(grid, row, e)));
    }
  }
  return range;
}

// The slope from which positions are least far.
uint32_t FindSlope(const std::vector<BaselineEntry>& entries,
                   const BaselineGrid& grid) {
  // No position is past 2^31: a steeper line from 0 is no better.
  const uint32_t last = Mcu(grid, grid.down - 1, grid.entries - 1);
  const uint64_t steepest =
      last == 0 ? 0 : (entries.back().position << kSlopeBits) / last * 2;
  uint32_t low = 0;
  uint32_t high =
      static_cast<uint32_t>(std::min<uint64_t>(steepest, UINT32_MAX));
  const auto spread = [&](uint32_t slope) {
    const Range range = FromLine(entries, grid, slope);
    return range.most - range.least;
  };
  // The spread falls up to the best slope, and rises from there.
  while (high - low > 2) {
    const uint32_t third = (high - low) / 3;
    if (spread(low + third) <= spread(high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  return low;
}

// Appends bits, the lowest first.
class BitWriter {
 public:
  explicit BitWriter(std::string* out) : out_(out) {}
  void Append(uint64_t value, uint32_t width) {
    word_ |= value << count_;
    for (count_ += width; count_ >= 8; count_ -= 8, word_ >>= 8) {
      out_->push_back(static_cast<char>(word_));
    }
  }
  void Finish() {
    if (count_ > 0) out_->push_back(static_cast<char>(word_));
  }

 private:
  std::string* const out_;
  uint64_t word_ = 0;
  uint32_t count_ = 0;  // bits of `word_`, fewer than 8
};

Status Damaged(const std::string& what) {
  return DataLoss("jpeg: the index is damaged: " + what);
}

}  // namespace

BaselineGrid::BaselineGrid(const BaselineHeader& header, uint32_t asked)
    : across((header.width + kBlockSide * header.h - 1) /
             (kBlockSide * header.h)),
      down((header.height + kBlockSide * header.v - 1) /
           (kBlockSide * header.v)),
      spacing(asked == 0 ? across : std::min(asked, across)),
      entries((across + spacing - 1) / spacing) {}

Status BaselineIndex::Read(ByteSpan index, size_t jpeg_size,
                           const BaselineHeader& header) {
  const uint8_t* p = index.data;
  if (index.size < kBaselineIndexHeader ||
      std::memcmp(p, kJpegIndexMagic, 4) != 0) {
    return Damaged("it does not begin with a header of " +
                   std::to_string(kBaselineIndexHeader) + " bytes");
  }
  if (LoadLittle32(p + kSize) != index.size) {
    return Damaged("it says " + std::to_string(LoadLittle32(p + kSize)) +
                   " bytes and has " + std::to_string(index.size));
  }
  if (CrcOf(index) != LoadLittle32(p + kCrc)) {
    return Damaged("its checksum is wrong");
  }
  if (LoadLittle32(p + kFile) != jpeg_size) {
    return DataLoss("jpeg: the index is of another file: it says " +
                    std::to_string(LoadLittle32(p + kFile)) +
                    " bytes, and the file has " + std::to_string(jpeg_size));
  }
  bytes_ = index;
  grid_ = BaselineGrid(header, LoadLittle32(p + kSpacing));
  slope_ = LoadLittle32(p + kSlope);
  position_base_ = static_cast<int32_t>(LoadLittle32(p + kPositionBase));
  position_width_ = p[kPositionWidth];
  entry_bits_ = position_width_;
  bool known = position_width_ <= kMaxPositionWidth;
  for (uint32_t c = 0; c < 3; ++c) {
    dc_base_[c] = static_cast<int16_t>(LoadLittle16(p + kDcBases + 2 * c));
    dc_width_[c] = p[kDcWidths + c];
    entry_bits_ += dc_width_[c];
    known &= dc_width_[c] <= kMaxDcWidth;
  }
  if (!known) return Damaged("a field is wider than any may be");
  const uint64_t size = IndexSize(grid_, entry_bits_);
  if (size != index.size) {
    return DataLoss("jpeg: the index is of another file: it has " +
                    std::to_string(index.size) +
                    " bytes, and an image of this size needs " +
                    std::to_string(size));
  }
  const BaselineEntry first = Find(0, 0);
  if (first.position != 0 || first.dc[0] != 0 || first.dc[1] != 0 ||
      first.dc[2] != 0) {
    return Damaged("its first entry is not where the scan begins");
  }
  return OkStatus();
}

uint32_t BaselineIndex::Load(uint64_t bit, uint32_t width) const {
  const uint8_t* at = bytes_.data + kBaselineIndexHeader + bit / 8;
  const size_t left = static_cast<size_t>(bytes_.data + bytes_.size - at);
  uint64_t word = 0;
  if (left >= 8) {
    word = LoadLittle64(at);
  } else {
    for (size_t i = 0; i < left; ++i) word |= uint64_t{at[i]} << 8 * i;
  }
  return static_cast<uint32_t>((word >> bit % 8) &
                               ((uint64_t{1} << width) - 1));
}

BaselineEntry BaselineIndex::Find(uint32_t row, uint32_t entry) const {
  uint64_t bit = (uint64_t{row} * grid_.entries + entry) * entry_bits_;
  BaselineEntry found;
  // One below 0 becomes one far outside.
  found.position =
      static_cast<uint64_t>(OnLine(slope_, Mcu(grid_, row, entry)) +
                            position_base_) +
      Load(bit, position_width_);
  bit += position_width_;
  for (uint32_t c = 0; c < 3; ++c) {
    found.dc[c] = dc_base_[c] + static_cast<int32_t>(Load(bit, dc_width_[c]));
    bit += dc_width_[c];
  }
  return found;
}

bool HasPossibleDc(const BaselineEntry& entry, bool after_restart) {
  return std::all_of(entry.dc, entry.dc + 3, [=](int32_t dc) {
    return after_restart ? dc == 0 : dc == static_cast<int16_t>(dc);
  });
}

bool FindEntryBytes(ByteSpan data, const BaselineEntry& entry,
                    const BaselineEntry* next, uint64_t* begin, uint64_t* end) {
  const auto stuffs = [&data](uint64_t byte) {
    return byte > 0 && data.data[byte] == 0 && data.data[byte - 1] == 0xff;
  };
  *begin = entry.position / 8;
  *end = data.size;
  if (*begin >= data.size || stuffs(*begin)) return false;
  if (next == nullptr) return true;
  *end = next->position / 8;
  if (next->position <= entry.position || *end >= data.size || stuffs(*end)) {
    return false;
  }
  if (next->position % 8 > 0) {
    ++*end;
    if (*end < data.size && stuffs(*end)) ++*end;
  }
  return true;
}

void AppendBaselineIndex(const std::vector<BaselineEntry>& entries,
                         const BaselineGrid& grid, uint32_t spacing,
                         size_t jpeg_size, std::string* index) {
  const uint32_t slope = FindSlope(entries, grid);
  const Range positions = FromLine(entries, grid, slope);
  Range dc[3];
  for (const BaselineEntry& entry : entries) {
    for (uint32_t c = 0; c < 3; ++c) dc[c].Add(entry.dc[c]);
  }
  uint8_t header[kBaselineIndexHeader] = {};
  std::memcpy(header, kJpegIndexMagic, 4);
  StoreLittle32(spacing, header + kSpacing);
  StoreLittle32(static_cast<uint32_t>(jpeg_size), header + kFile);
  StoreLittle32(slope, header + kSlope);
  StoreLittle32(static_cast<uint32_t>(positions.least), header + kPositionBase);
  const uint32_t width = positions.Width();
  header[kPositionWidth] = static_cast<uint8_t>(width);
  uint32_t entry_bits = width;
  for (uint32_t c = 0; c < 3; ++c) {
    StoreLittle16(static_cast<uint16_t>(dc[c].least),
                  header + kDcBases + 2 * c);
    header[kDcWidths + c] = static_cast<uint8_t>(dc[c].Width());
    entry_bits += dc[c].Width();
  }
  const size_t begin = index->size();
  const size_t size = static_cast<size_t>(IndexSize(grid, entry_bits));
  StoreLittle32(static_cast<uint32_t>(size), header + kSize);
  index->append(reinterpret_cast<const char*>(header), sizeof(header));
  BitWriter writer(index);
  size_t i = 0;
  for (uint32_t row = 0; row < grid.down; ++row) {
    for (uint32_t e = 0; e < grid.entries; ++e, ++i) {
      const BaselineEntry& entry = entries[i];
      const int64_t from_line = static_cast<int64_t>(entry.position) -
                                OnLine(slope, Mcu(grid, row, e));
      writer.Append(static_cast<uint64_t>(from_line - positions.least), width);
      for (uint32_t c = 0; c < 3; ++c) {
        writer.Append(static_cast<uint64_t>(entry.dc[c] - dc[c].least),
                      dc[c].Width());
      }
    }
  }
  writer.Finish();
  index->resize(begin + size);
  uint8_t* p = reinterpret_cast<uint8_t*>(&(*index)[begin]);
  StoreLittle32(CrcOf(ByteSpan(p, size)), p + kCrc);
}

}  // namespace liquid
