#include "ops/codecs/jpeg/baseline/baseline_decode.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_huffman.h"
#include "ops/codecs/jpeg/baseline/baseline_lane.h"
#include "ops/codecs/jpeg/baseline/baseline_scale.h"
#include "ops/codecs/jpeg/baseline/baseline_targets.h"

namespace liquid {
namespace {

ByteSpan ScanOf(ByteSpan jpeg, const BaselineHeader& header) {
  return ByteSpan(jpeg.data + header.scan, jpeg.size - header.scan);
}

uint32_t CountOf(uint32_t samples, uint32_t side) {
  return (samples + side - 1) / side;
}

// The samples of a component: of the window's columns of MCUs, and of two rows
// of MCUs in turn, since chroma needs a row above and a row below.
struct Plane {
  uint32_t h = 1, v = 1;  // blocks of an MCU
  uint32_t log2 = 0;      // of a block's samples a side
  size_t stride = 0;
  uint8_t* samples = nullptr;       // behind kRowRoom bytes
  size_t row_coefficients = 0;      // of a row of blocks
  int16_t* coefficients = nullptr;  // of a row of MCUs, or two
  const uint16_t* quantization = nullptr;
  const HuffmanTables* tables = nullptr;

  uint32_t Side() const { return 1u << log2; }
  uint32_t McuRows() const { return v << log2; }
  // Of a row of blocks of the MCUs that are in a slot.
  int16_t* Coefficients(uint32_t slot, uint32_t block_row) const {
    return coefficients + (slot * v + block_row) * row_coefficients;
  }
  uint8_t* Row(uint32_t y) const {
    return samples + y % (2 * McuRows()) * stride;
  }
};

// Rows of MCUs that are decoded in turn.
constexpr uint32_t kLanes = 2;

class Decoder {
 public:
  // `data` begins where the scan's does and ends where the file does.
  Decoder(ByteSpan data, const BaselineHeader& header,
          const BaselineScale& scale, const Window& window, uint8_t* out,
          size_t row_stride);

  BaselineResult Decode(const BaselineIndex* index);
  bool FindEntries(const BaselineGrid& grid,
                   std::vector<BaselineEntry>* entries);

 private:
  void Place();
  bool Allocate(uint32_t slots);
  bool BuildTables();
  Mcus Blocks(uint32_t slot, uint32_t column) const;
  bool ReadRow();
  bool FindRow(const BaselineGrid& grid, std::vector<BaselineEntry>* entries);
  bool ReadRowsByIndex(const BaselineIndex& index, uint32_t row,
                       uint32_t count);
  bool IsLarge() const;
  bool Invert(uint32_t row, uint32_t slot);
  void WriteRows(uint32_t row);
  void WriteRow(uint32_t y);
  const uint8_t* ChromaRow(const Plane& plane, uint32_t y, uint8_t* wide) const;

  const BaselineHeader& header_;
  const BaselineScale scale_;
  const Window window_;
  uint8_t* const out_;
  const size_t row_stride_;
  const BaselineFunctions& functions_ = CurrentBaselineFunctions();

  uint32_t across_, down_;              // MCUs of the image
  uint32_t first_column_, end_column_;  // of MCUs, of what the window needs
  uint32_t first_row_, end_row_;
  uint32_t next_y_;  // of pixels, to be written

  Plane planes_[3];
  Buffer memory_;
  uint8_t* wide_[2] = {};  // rows of chroma as wide as luma
  std::unique_ptr<HuffmanTables[]> tables_;
  BaselineLane lanes_[kLanes];
};

Decoder::Decoder(ByteSpan data, const BaselineHeader& header,
                 const BaselineScale& scale, const Window& window, uint8_t* out,
                 size_t row_stride)
    : header_(header),
      scale_(scale),
      window_(window),
      out_(out),
      row_stride_(row_stride),
      across_(CountOf(header.width, kBlockSide * header.h)),
      down_(CountOf(header.height, kBlockSide * header.v)),
      next_y_(window.y),
      lanes_{{data, header}, {data, header}} {
  Place();
}

void Decoder::Place() {
  const McuRange range = FindMcus(scale_, window_);
  first_column_ = range.first_column;
  end_column_ = range.end_column;
  first_row_ = range.first_row;
  end_row_ = range.end_row;
}

bool Decoder::Allocate(uint32_t slots) {
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
    plane->log2 = c == 0 ? scale_.luma_log2 : scale_.chroma_log2;
    plane->quantization =
        header_.quantization[header_.component[c].quantization];
    const size_t row_blocks = columns * plane->h;
    // One more is written to behind a row's last block.
    plane->row_coefficients = (row_blocks + 1) * kBlockSize;
    coefficients[c] =
        take(slots * plane->row_coefficients * plane->v * sizeof(int16_t));
    plane->stride = row_blocks * plane->Side() + 2 * kRowRoom;
    samples[c] = take(plane->stride * 2 * plane->McuRows() + kRowRoom);
  }
  for (size_t& row : wide) {
    row = take((columns * header_.h << scale_.luma_log2) + 2 * kRowRoom);
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
    Plane* plane = &planes_[c];
    if (c > 0 && component.dc == header_.component[c - 1].dc &&
        component.ac == header_.component[c - 1].ac) {
      plane->tables = planes_[c - 1].tables;
    } else if (BuildHuffmanTables(header_.dc[component.dc],
                                  header_.ac[component.ac], &tables_[c])) {
      plane->tables = &tables_[c];
    } else {
      return false;
    }
    for (uint32_t b = 0; b < plane->h * plane->v; ++b) {
      for (BaselineLane& lane : lanes_) lane.AddBlock(plane->tables, c);
    }
  }
  return true;
}

// The blocks of the MCU of a column of the window.
Mcus Decoder::Blocks(uint32_t slot, uint32_t column) const {
  Mcus mcus = {};
  for (uint32_t c = 0; c < header_.components; ++c) {
    const Plane& plane = planes_[c];
    const size_t step = size_t{plane.h} * kBlockSize;
    for (uint32_t by = 0; by < plane.v; ++by) {
      int16_t* row =
          plane.Coefficients(slot, by) + (column - first_column_) * step;
      for (uint32_t bx = 0; bx < plane.h; ++bx) {
        mcus.blocks[mcus.count++] = {plane.tables, c, row + bx * kBlockSize,
                                     step};
      }
    }
  }
  return mcus;
}

bool Decoder::ReadRow() {
  BaselineLane& lane = lanes_[0];
  return lane.Skip(first_column_) &&
         lane.Walk(Blocks(0, first_column_), end_column_ - first_column_) &&
         lane.Skip(across_ - end_column_);
}

// Reads a row of the whole image, and adds where its MCUs begin.
bool Decoder::FindRow(const BaselineGrid& grid,
                      std::vector<BaselineEntry>* entries) {
  for (uint32_t column = 0; column < across_; column += grid.spacing) {
    BaselineEntry entry;
    if (!lanes_[0].Where(&entry)) return false;
    entries->push_back(entry);
    if (!lanes_[0].Walk(Blocks(0, column),
                        std::min(grid.spacing, across_ - column))) {
      return false;
    }
  }
  return true;
}

// Reads the window's part of one row or of two, in turn.
bool Decoder::ReadRowsByIndex(const BaselineIndex& index, uint32_t row,
                              uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    lanes_[i].EnterRow(&index, row + i, {first_column_, end_column_},
                       Blocks(i, first_column_));
  }
  McuRun* first = lanes_[0].run();
  McuRun* second = lanes_[1].run();
  while (count == kLanes) {
    if (!lanes_[0].Advance() || !lanes_[1].Advance()) return false;
    if (first->count == 0 || second->count == 0) break;
    if (!functions_.decode_both(first, second)) return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    for (;;) {
      if (!lanes_[i].Advance()) return false;
      if (lanes_[i].run()->count == 0) break;
      if (!functions_.decode(lanes_[i].run())) return false;
    }
  }
  return true;
}

// Whether a row has coefficients for which Invert leaves an image to the
// library.
bool Decoder::IsLarge() const {
  bool large = false;
  for (uint32_t c = 0; c < header_.components; ++c) {
    const Plane& plane = planes_[c];
    for (uint32_t by = 0; by < plane.v; ++by) {
      large |=
          functions_.is_large(plane.Coefficients(0, by), plane.quantization,
                              size_t{plane.h} * (end_column_ - first_column_));
    }
  }
  return large;
}

bool Decoder::Invert(uint32_t row, uint32_t slot) {
  for (uint32_t c = 0; c < header_.components; ++c) {
    const Plane& plane = planes_[c];
    const auto invert = functions_.invert[plane.log2];
    const uint32_t first_y = row * plane.McuRows();
    for (uint32_t by = 0; by < plane.v; ++by) {
      if (invert(plane.Coefficients(slot, by), plane.quantization,
                 size_t{plane.h} * (end_column_ - first_column_),
                 plane.Row(first_y + by * plane.Side()), plane.stride)) {
        return false;
      }
    }
    if (c == 0 || scale_.h != 2) continue;
    // Beside its first and last column, chroma goes on as they are.
    const uint32_t last =
        scale_.chroma_width - 1 - (first_column_ << plane.log2);
    for (uint32_t y = first_y; y < first_y + plane.Side(); ++y) {
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
  const uint32_t h = scale_.h, v = scale_.v;
  const uint32_t left = window_.x / h;
  const uint32_t right = (window_.x + window_.width - 1) / h + 1;
  const uint32_t count = right - left;
  const uint32_t skipped = left - (first_column_ << plane.log2);
  const uint32_t near_y = y / v;
  const uint8_t* near = plane.Row(near_y) + skipped;
  if (h == 4 || (h == 2 && !scale_.smooth)) {
    for (uint32_t x = 0; x < count; ++x) std::memset(wide + h * x, near[x], h);
  } else if (!scale_.smooth) {
    return near;
  } else if (v == 2) {
    const bool above = y % 2 == 0;
    const uint32_t far_y = above
                               ? near_y - (near_y > 0)
                               : std::min(near_y + 1, scale_.chroma_height - 1);
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
                        (size_t{first_column_} * header_.h << scale_.luma_log2);
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
    const uint32_t below = scale_.smooth && scale_.v == 2 ? 1 : 0;
    end = std::min(end, (row + 1) * planes_[0].McuRows() - below);
  }
  for (; next_y_ < end; ++next_y_) WriteRow(next_y_);
}

BaselineResult Decoder::Decode(const BaselineIndex* index) {
  const uint32_t slots = index == nullptr ? 1 : kLanes;
  if (!Allocate(slots) || !BuildTables()) return BaselineResult::kLibrarys;
  const BaselineResult wrong =
      index == nullptr ? BaselineResult::kLibrarys : BaselineResult::kDisagrees;
  if (index == nullptr) {
    lanes_[0].Start();
    if (!lanes_[0].Skip(first_row_ * across_)) return wrong;
  }
  uint32_t count = 0;
  for (uint32_t row = first_row_; row < end_row_; row += count) {
    count = std::min(slots, end_row_ - row);
    if (index == nullptr ? !ReadRow() : !ReadRowsByIndex(*index, row, count)) {
      return wrong;
    }
    for (uint32_t slot = 0; slot < count; ++slot) {
      if (!Invert(row + slot, slot)) return BaselineResult::kLibrarys;
      WriteRows(row + slot);
    }
  }
  const bool whole = window_.y == 0 && window_.x == 0 &&
                     window_.height == scale_.height &&
                     window_.width == scale_.width;
  return !whole || lanes_[count - 1].Finish() ? BaselineResult::kDecoded
                                              : wrong;
}

bool Decoder::FindEntries(const BaselineGrid& grid,
                          std::vector<BaselineEntry>* entries) {
  if (!Allocate(1) || !BuildTables()) return false;
  entries->reserve(size_t{grid.down} * grid.entries);
  lanes_[0].Start();
  for (uint32_t row = 0; row < down_; ++row) {
    if (!FindRow(grid, entries) || IsLarge()) return false;
  }
  return lanes_[0].Finish();
}

}  // namespace

ImageInfo BaselineInfo(const BaselineHeader& header, uint32_t denominator) {
  const BaselineScale scale(header, denominator);
  ImageInfo info;
  info.height = scale.height;
  info.width = scale.width;
  info.channels = static_cast<uint8_t>(header.components);
  return info;
}

BaselineResult DecodeBaseline(ByteSpan jpeg, const BaselineHeader& header,
                              const BaselineIndex* index, uint32_t denominator,
                              const Window& window, uint8_t* out,
                              size_t row_stride) {
  const BaselineScale scale(header, denominator);
  // As in the header, of planes that have become so narrow.
  if (scale.smooth && scale.h == 2 && scale.chroma_width <= 2) {
    return BaselineResult::kLibrarys;
  }
  Decoder decoder(ScanOf(jpeg, header), header, scale, window, out, row_stride);
  return decoder.Decode(index);
}

bool FindBaselineEntries(ByteSpan jpeg, const BaselineHeader& header,
                         const BaselineGrid& grid,
                         std::vector<BaselineEntry>* entries) {
  const Window whole = {0, 0, header.height, header.width};
  Decoder decoder(ScanOf(jpeg, header), header, BaselineScale(header, 1), whole,
                  nullptr, 0);
  return decoder.FindEntries(grid, entries);
}

}  // namespace liquid
