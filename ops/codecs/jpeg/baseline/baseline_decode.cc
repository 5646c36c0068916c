#include "ops/codecs/jpeg/baseline/baseline_decode.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_huffman.h"
#include "ops/codecs/jpeg/baseline/baseline_scan.h"
#include "ops/codecs/jpeg/baseline/baseline_targets.h"

namespace liquid {
namespace {

ByteSpan ScanOf(ByteSpan jpeg, const BaselineHeader& header) {
  return ByteSpan(jpeg.data + header.scan, jpeg.size - header.scan);
}

uint32_t Blocks(uint32_t samples, uint32_t side) {
  return (samples + side - 1) / side;
}

// The samples of a component: of the window's columns of MCUs, and of two rows
// of MCUs in turn, since chroma needs a row above and a row below.
struct Plane {
  uint32_t h = 1, v = 1;  // blocks of an MCU
  size_t stride = 0;
  uint8_t* samples = nullptr;       // behind kRowRoom bytes
  size_t row_coefficients = 0;      // of a row of blocks
  int16_t* coefficients = nullptr;  // of a row of MCUs
  const uint16_t* quantization = nullptr;

  uint32_t McuRows() const { return kBlockSide * v; }
  uint8_t* Row(uint32_t y) const {
    return samples + y % (2 * McuRows()) * stride;
  }
};

class Decoder {
 public:
  // `data` begins where the scan's does and ends where the file does.
  Decoder(ByteSpan data, const BaselineHeader& header, const Window& window,
          uint8_t* out, size_t row_stride);

  BaselineResult Decode(const BaselineIndex* index);
  bool FindEntries(const BaselineGrid& grid,
                   std::vector<BaselineEntry>* entries);

 private:
  void Place();
  bool Allocate();
  bool BuildTables();
  Mcus Inside(uint32_t column) const;
  bool Walk(const Mcus& mcus, uint32_t count);
  bool StartInterval();
  bool ReadRow();
  bool FindRow(const BaselineGrid& grid, std::vector<BaselineEntry>* entries);
  bool Enter(const BaselineEntry& entry, const BaselineEntry* end,
             uint32_t mcu);
  bool IsAt(const BaselineEntry& end);
  bool ReadRowByIndex(const BaselineIndex& index, uint32_t row);
  bool Invert(uint32_t row);
  void WriteRows(uint32_t row);
  void WriteRow(uint32_t y);
  const uint8_t* ChromaRow(const Plane& plane, uint32_t y, uint8_t* wide) const;

  const ByteSpan data_;
  const BaselineHeader& header_;
  const Window window_;
  uint8_t* const out_;
  const size_t row_stride_;
  const BaselineFunctions& functions_ = CurrentBaselineFunctions();

  uint32_t across_, down_;  // MCUs of the image
  uint32_t chroma_width_, chroma_height_;
  uint32_t first_column_, end_column_;  // of MCUs, of what the window needs
  uint32_t first_row_, end_row_;
  uint32_t next_y_;  // of pixels, to be written

  Plane planes_[3];
  Buffer memory_;
  uint8_t* wide_[2] = {};  // rows of chroma as wide as luma
  std::unique_ptr<HuffmanTables[]> tables_;
  Mcus inside_ = {}, outside_ = {};
  int16_t scratch_[kBlockSize + 1];

  BaselineScan scan_;
  int32_t dc_[3] = {};
  uint32_t until_restart_ = 0;
  uint32_t restarts_ = 0;
};

Decoder::Decoder(ByteSpan data, const BaselineHeader& header,
                 const Window& window, uint8_t* out, size_t row_stride)
    : data_(data),
      header_(header),
      window_(window),
      out_(out),
      row_stride_(row_stride),
      across_(Blocks(header.width, kBlockSide * header.h)),
      down_(Blocks(header.height, kBlockSide * header.v)),
      chroma_width_(Blocks(header.width, header.h)),
      chroma_height_(Blocks(header.height, header.v)),
      next_y_(window.y),
      until_restart_(header.restart_interval) {
  Place();
}

// Finds the MCUs that hold the samples which the window's pixels come from.
void Decoder::Place() {
  uint32_t left = window_.x / header_.h;
  uint32_t right = (window_.x + window_.width - 1) / header_.h;
  if (header_.h == 2) {
    left -= left > 0;
    right = std::min(right + 1, chroma_width_ - 1);
  }
  first_column_ = left / kBlockSide;
  end_column_ = right / kBlockSide + 1;
  const uint32_t last_y = window_.y + window_.height - 1;
  uint32_t top = window_.y / header_.v, bottom = last_y / header_.v;
  if (header_.v == 2) {
    top -= top > 0 && window_.y % 2 == 0;
    bottom = std::min(bottom + last_y % 2, chroma_height_ - 1);
  }
  first_row_ = top / kBlockSide;
  end_row_ = bottom / kBlockSide + 1;
}

bool Decoder::Allocate() {
  const size_t columns = end_column_ - first_column_;
  size_t size = 0;
  const auto take = [&size](size_t bytes) {
    const size_t at = size;
    size += (bytes + kRowRoom - 1) / kRowRoom * kRowRoom;
    return at;
  };
  size_t coefficients[3], samples[3], wide[2];
  for (uint32_t c = 0; c < header_.components; ++c) {
    Plane* plane = &planes_[c];
    if (c == 0) {
      plane->h = header_.h;
      plane->v = header_.v;
    }
    plane->quantization =
        header_.quantization[header_.component[c].quantization];
    const size_t row_blocks = columns * plane->h;
    // One more is written to behind a row's last block.
    plane->row_coefficients = (row_blocks + 1) * kBlockSize;
    coefficients[c] =
        take(plane->row_coefficients * plane->v * sizeof(int16_t));
    plane->stride = row_blocks * kBlockSide + 2 * kRowRoom;
    samples[c] = take(plane->stride * 2 * plane->McuRows() + kRowRoom);
  }
  for (size_t& row : wide) {
    row = take(columns * header_.h * kBlockSide + 2 * kRowRoom);
  }
  memory_ = AllocateBuffer(size + kRowRoom);
  if (memory_ == nullptr) return false;
  uint8_t* base = memory_.get();
  base += (kRowRoom - reinterpret_cast<uintptr_t>(base) % kRowRoom) % kRowRoom;
  for (uint32_t c = 0; c < header_.components; ++c) {
    planes_[c].coefficients =
        reinterpret_cast<int16_t*>(base + coefficients[c]);
    planes_[c].samples = base + samples[c] + kRowRoom;
  }
  for (int i = 0; i < 2; ++i) wide_[i] = base + wide[i];
  return true;
}

bool Decoder::BuildTables() {
  const uint32_t components = header_.components;
  tables_.reset(new (std::nothrow) HuffmanTables[components]);
  if (tables_ == nullptr) return false;
  for (uint32_t c = 0; c < components; ++c) {
    const BaselineComponent& component = header_.component[c];
    const HuffmanTables* tables = &tables_[c];
    if (c > 0 && component.dc == header_.component[c - 1].dc &&
        component.ac == header_.component[c - 1].ac) {
      tables = outside_.blocks[outside_.count - 1].tables;
    } else if (!BuildHuffmanTables(header_.dc[component.dc],
                                   header_.ac[component.ac], &tables_[c])) {
      return false;
    }
    const Plane& plane = planes_[c];
    for (uint32_t by = 0; by < plane.v; ++by) {
      for (uint32_t bx = 0; bx < plane.h; ++bx) {
        inside_.blocks[inside_.count++] = {
            tables, c,
            plane.coefficients + by * plane.row_coefficients + bx * kBlockSize,
            size_t{plane.h} * kBlockSize};
        outside_.blocks[outside_.count++] = {tables, c, scratch_, 0};
      }
    }
  }
  return true;
}

// The MCUs of the window from this column on.
Mcus Decoder::Inside(uint32_t column) const {
  Mcus mcus = inside_;
  for (uint32_t b = 0; b < mcus.count; ++b) {
    mcus.blocks[b].coefficients +=
        (column - first_column_) * mcus.blocks[b].step;
  }
  return mcus;
}

// Passes over a restart marker, where one is due.
bool Decoder::StartInterval() {
  if (header_.restart_interval == 0 || until_restart_ > 0) return true;
  if (!scan_.Restart(restarts_++ % 8)) return false;
  std::fill_n(dc_, 3, 0);
  until_restart_ = header_.restart_interval;
  return true;
}

// Decodes the next MCUs of the scan.
bool Decoder::Walk(const Mcus& mcus, uint32_t count) {
  Mcus rest = mcus;
  while (count > 0) {
    if (!StartInterval()) return false;
    uint32_t now = count;
    if (header_.restart_interval > 0) {
      now = std::min(now, until_restart_);
      until_restart_ -= now;
    }
    if (!functions_.decode(rest, now, &scan_, dc_)) return false;
    for (uint32_t b = 0; b < rest.count; ++b) {
      rest.blocks[b].coefficients += now * rest.blocks[b].step;
    }
    count -= now;
  }
  return true;
}

bool Decoder::ReadRow() {
  return Walk(outside_, first_column_) &&
         Walk(inside_, end_column_ - first_column_) &&
         Walk(outside_, across_ - end_column_);
}

// Reads a row of the whole image, and adds where its MCUs begin.
bool Decoder::FindRow(const BaselineGrid& grid,
                      std::vector<BaselineEntry>* entries) {
  for (uint32_t column = 0; column < across_; column += grid.spacing) {
    if (!StartInterval()) return false;
    BaselineEntry entry;
    entry.position = 8 * static_cast<uint64_t>(scan_.FileByte() - data_.data) +
                     scan_.position % 8;
    std::copy_n(dc_, 3, entry.dc);
    entries->push_back(entry);
    if (!Walk(Inside(column), std::min(grid.spacing, across_ - column))) {
      return false;
    }
  }
  return true;
}

// Goes to an entry, which is of this MCU, for what is before `end`, if that is
// not null. False for positions that no scan has.
bool Decoder::Enter(const BaselineEntry& entry, const BaselineEntry* end,
                    uint32_t mcu) {
  const auto stuffs = [this](uint64_t byte) {
    return byte > 0 && data_.data[byte] == 0 && data_.data[byte - 1] == 0xff;
  };
  const uint64_t byte = entry.position / 8;
  if (byte >= data_.size || stuffs(byte)) return false;
  uint64_t end_byte = data_.size;
  if (end != nullptr) {
    end_byte = end->position / 8;
    if (end->position <= entry.position || end_byte >= data_.size ||
        stuffs(end_byte)) {
      return false;
    }
    if (end->position % 8 > 0) {
      ++end_byte;
      if (end_byte < data_.size && stuffs(end_byte)) ++end_byte;
    }
  }
  for (uint32_t c = 0; c < 3; ++c) {
    dc_[c] = entry.dc[c];
    if (dc_[c] != static_cast<int16_t>(dc_[c])) return false;
  }
  if (header_.restart_interval > 0) {
    restarts_ = mcu / header_.restart_interval;
    until_restart_ = header_.restart_interval - mcu % header_.restart_interval;
  }
  scan_.Start(ByteSpan(data_.data + byte, end_byte - byte), entry.position % 8);
  return true;
}

// Whether what was entered for this end was read up to it.
bool Decoder::IsAt(const BaselineEntry& end) {
  return StartInterval() && scan_.IsAtEnd((8 - end.position % 8) % 8) &&
         std::equal(dc_, dc_ + header_.components, end.dc);
}

// Reads the window's part of a row, and no more before it than from the last
// entry on. False where the index leads elsewhere.
bool Decoder::ReadRowByIndex(const BaselineIndex& index, uint32_t row) {
  const BaselineGrid& grid = index.grid();
  uint32_t e = first_column_ / grid.spacing;
  BaselineEntry next = index.Find(row, e);
  for (; e * grid.spacing < end_column_; ++e) {
    const BaselineEntry entry = next;
    const uint32_t column = e * grid.spacing;
    const uint32_t next_column = std::min(column + grid.spacing, across_);
    const bool in_row = next_column < across_;
    const bool has_next = in_row || row + 1 < down_;
    if (has_next)
      next = in_row ? index.Find(row, e + 1) : index.Find(row + 1, 0);
    if (!Enter(entry, has_next ? &next : nullptr, row * across_ + column)) {
      return false;
    }
    const uint32_t first = std::max(column, first_column_);
    const uint32_t end = std::min(next_column, end_column_);
    if (!Walk(outside_, first - column) || !Walk(Inside(first), end - first)) {
      return false;
    }
    if (has_next && end == next_column && !IsAt(next)) return false;
  }
  return true;
}

bool Decoder::Invert(uint32_t row) {
  for (uint32_t c = 0; c < header_.components; ++c) {
    const Plane& plane = planes_[c];
    const uint32_t first_y = row * plane.McuRows();
    for (uint32_t by = 0; by < plane.v; ++by) {
      if (functions_.invert(plane.coefficients + by * plane.row_coefficients,
                            plane.quantization,
                            size_t{plane.h} * (end_column_ - first_column_),
                            plane.Row(first_y + by * kBlockSide),
                            plane.stride)) {
        return false;
      }
    }
    if (c == 0 || header_.h != 2) continue;
    // Beside its first and last column, chroma goes on as they are.
    const uint32_t last = chroma_width_ - 1 - first_column_ * kBlockSide;
    for (uint32_t y = first_y; y < first_y + kBlockSide; ++y) {
      uint8_t* samples = plane.Row(y);
      if (first_column_ == 0) samples[-1] = samples[0];
      if (end_column_ == across_) samples[last + 1] = samples[last];
    }
  }
  return true;
}

// Chroma for the pixels of row `y`, in `wide` where it is not as wide as luma
// or lies between rows.
const uint8_t* Decoder::ChromaRow(const Plane& plane, uint32_t y,
                                  uint8_t* wide) const {
  const uint32_t h = header_.h, v = header_.v;
  const uint32_t left = window_.x / h;
  const uint32_t right = (window_.x + window_.width - 1) / h + 1;
  const uint32_t count = right - left;
  const uint32_t skipped = left - first_column_ * kBlockSide;
  const uint32_t near_y = y / v;
  const uint8_t* near = plane.Row(near_y) + skipped;
  if (h == 4) {
    for (uint32_t x = 0; x < count; ++x) std::memset(wide + 4 * x, near[x], 4);
  } else if (v == 2) {
    const bool above = y % 2 == 0;
    const uint32_t far_y = above ? near_y - (near_y > 0)
                                 : std::min(near_y + 1, chroma_height_ - 1);
    const uint8_t* far = plane.Row(far_y) + skipped;
    if (h == 2) {
      functions_.widen_between(near, far, count, wide);
    } else {
      functions_.between(near, far, above ? 1 : 2, count, wide);
    }
  } else if (h == 2) {
    functions_.widen(near, count, wide);
  } else {
    return near;
  }
  return wide + window_.x % h;
}

void Decoder::WriteRow(uint32_t y) {
  uint8_t* out = out_ + (y - window_.y) * row_stride_;
  const uint8_t* luma = planes_[0].Row(y) + window_.x -
                        size_t{first_column_} * kBlockSide * header_.h;
  if (header_.components == 1) {
    std::memcpy(out, luma, window_.width);
    return;
  }
  functions_.to_rgb(luma, ChromaRow(planes_[1], y, wide_[0]),
                    ChromaRow(planes_[2], y, wide_[1]), window_.width, out);
}

// Writes the pixels that the samples up to this row of MCUs are enough for.
void Decoder::WriteRows(uint32_t row) {
  uint32_t end = window_.y + window_.height;
  if (row + 1 < end_row_) {
    const uint32_t below = header_.v == 2 ? 1 : 0;
    end = std::min(end, (row + 1) * kBlockSide * header_.v - below);
  }
  for (; next_y_ < end; ++next_y_) WriteRow(next_y_);
}

BaselineResult Decoder::Decode(const BaselineIndex* index) {
  if (!Allocate() || !BuildTables()) return BaselineResult::kLibrarys;
  const BaselineResult wrong =
      index == nullptr ? BaselineResult::kLibrarys : BaselineResult::kDisagrees;
  if (index == nullptr) {
    scan_.Start(data_, 0);
    if (!Walk(outside_, first_row_ * across_)) return wrong;
  }
  for (uint32_t row = first_row_; row < end_row_; ++row) {
    if (index == nullptr ? !ReadRow() : !ReadRowByIndex(*index, row)) {
      return wrong;
    }
    if (!Invert(row)) return BaselineResult::kLibrarys;
    WriteRows(row);
  }
  const bool whole = window_.y == 0 && window_.x == 0 &&
                     window_.height == header_.height &&
                     window_.width == header_.width;
  return !whole || scan_.Finish() ? BaselineResult::kDecoded : wrong;
}

bool Decoder::FindEntries(const BaselineGrid& grid,
                          std::vector<BaselineEntry>* entries) {
  if (!Allocate() || !BuildTables()) return false;
  entries->reserve(size_t{grid.down} * grid.entries);
  scan_.Start(data_, 0);
  for (uint32_t row = 0; row < down_; ++row) {
    if (!FindRow(grid, entries) || !Invert(row)) return false;
  }
  return scan_.Finish();
}

}  // namespace

ImageInfo BaselineInfo(const BaselineHeader& header) {
  ImageInfo info;
  info.height = header.height;
  info.width = header.width;
  info.channels = static_cast<uint8_t>(header.components);
  return info;
}

BaselineResult DecodeBaseline(ByteSpan jpeg, const BaselineHeader& header,
                              const BaselineIndex* index, const Window& window,
                              uint8_t* out, size_t row_stride) {
  Decoder decoder(ScanOf(jpeg, header), header, window, out, row_stride);
  return decoder.Decode(index);
}

bool FindBaselineEntries(ByteSpan jpeg, const BaselineHeader& header,
                         const BaselineGrid& grid,
                         std::vector<BaselineEntry>* entries) {
  const Window whole = {0, 0, header.height, header.width};
  Decoder decoder(ScanOf(jpeg, header), header, whole, nullptr, 0);
  return decoder.FindEntries(grid, entries);
}

}  // namespace liquid
