// Filters with 8 bits: two passes of integer sums, each rounded.
#include <algorithm>
#include <cstring>

#include "ops/image/alpha.h"
#include "ops/image/resample.h"
#include "ops/image/resample_kernels.h"
#include "ops/image/resample_targets.h"

namespace liquid {
namespace {

using Use = ResampleScratch::Use;

// Makes rows of another width, up to kColumnRows at a time. Rows of which the
// loop would read past the memory's end are copied first.
class ColumnPass {
 public:
  // Rows have `size` bytes; none may be read from `end` on.
  ColumnPass(const FilterTaps& taps, size_t channels, size_t size,
             const uint8_t* end, ResampleScratch* scratch)
      : taps_(taps),
        channels_(channels),
        size_(size),
        reach_(ColumnReach(taps, channels)),
        end_(end),
        edge_stride_(std::max(reach_, size)),
        edge_(scratch->Get<uint8_t>(Use::kEdge, kColumnRows * edge_stride_)) {}

  // Replaces pointers in `rows` by those of copies.
  void Run(const uint8_t** rows, size_t count, uint8_t* const* out) const {
    for (size_t i = 0; i < count; ++i) {
      if (static_cast<size_t>(end_ - rows[i]) >= reach_) continue;
      uint8_t* const copy = edge_ + i * edge_stride_;
      std::memcpy(copy, rows[i], size_);
      rows[i] = copy;
    }
    kernels_.columns(rows, count, channels_, taps_, out);
  }

 private:
  const ResampleKernels& kernels_ = CurrentResampleKernels();
  const FilterTaps& taps_;
  const size_t channels_, size_, reach_;
  const uint8_t* const end_;
  const size_t edge_stride_;
  uint8_t* const edge_;
};

// Makes one row of many.
class RowPass {
 public:
  // Of rows of `size` bytes, `height` of them.
  RowPass(const FilterTaps& taps, size_t height, size_t size,
          ResampleScratch* scratch)
      : taps_(taps),
        height_(height),
        size_(size),
        rows_(scratch->Get<const uint8_t*>(Use::kPointers,
                                           size_t{2} * taps.pairs())) {}

  // The result's row `y`; `row_at` tells where a row of the input is.
  template <typename RowAt>
  void Run(size_t y, const RowAt& row_at, uint8_t* out) const {
    // Past the image's end, and of an odd tap's pair, taps weigh nothing.
    const size_t first = taps_.first[y];
    for (size_t t = 0; t < 2 * taps_.pairs(); ++t) {
      rows_[t] = row_at(
          std::min(first + std::min<size_t>(t, taps_.taps - 1), height_ - 1));
    }
    kernels_.rows(rows_, taps_.pairs(), taps_.FixedOf(y), size_, out);
  }

 private:
  const ResampleKernels& kernels_ = CurrentResampleKernels();
  const FilterTaps& taps_;
  const size_t height_, size_;
  const uint8_t** const rows_;
};

}  // namespace

void Resampler::Filter(Source<uint8_t> in, RowWriter<uint8_t>* writer,
                       ResampleScratch* scratch) const {
  if (HasAlpha(in.channels)) {
    const size_t size = needed_.width * in.channels;
    uint8_t* const weighed =
        scratch->Get<uint8_t>(Use::kSource, needed_.height * size);
    for (size_t y = 0; y < needed_.height; ++y) {
      CurrentResampleKernels().premultiply(in.Row(y), needed_.width,
                                           in.channels, weighed + y * size);
    }
    in = {weighed, size, in.channels};
  }
  if (same_height_ || same_width_ || rows_first_) {
    FilterRowsFirst(in, writer, scratch);
  } else {
    FilterColumnsFirst(in, writer, scratch);
  }
}

void Resampler::FilterColumnsFirst(const Source<uint8_t>& in,
                                   RowWriter<uint8_t>* writer,
                                   ResampleScratch* scratch) const {
  const size_t size = needed_.width * in.channels;
  const size_t out_size = spec_.part.width * in.channels;
  const ColumnPass columns(columns_, in.channels, size,
                           in.Row(needed_.height - 1) + size, scratch);
  const RowPass rows(rows_, needed_.height, out_size, scratch);
  // A ring of rows at the result's width: those that one of its rows is made
  // of, and those that come about together with the last of them.
  const size_t ring_rows = rows_.taps + kColumnRows;
  const size_t ring_stride = out_size + kColumnSlack;
  uint8_t* const ring =
      scratch->Get<uint8_t>(Use::kBetween, ring_rows * ring_stride);
  const auto row_at = [=](size_t y) {
    return ring + y % ring_rows * ring_stride;
  };
  uint8_t* const result = scratch->Get<uint8_t>(Use::kResult, out_size);
  size_t made = 0;
  for (uint32_t y = 0; y < spec_.part.height; ++y) {
    const size_t last =
        std::min<size_t>(rows_.first[y] + rows_.taps, needed_.height);
    while (made < last) {
      const size_t count = std::min<size_t>(kColumnRows, needed_.height - made);
      const uint8_t* from[kColumnRows];
      uint8_t* to[kColumnRows];
      for (size_t i = 0; i < count; ++i) {
        from[i] = in.Row(made + i);
        to[i] = row_at(made + i);
      }
      columns.Run(from, count, to);
      made += count;
    }
    rows.Run(y, row_at, result);
    if (HasAlpha(in.channels)) {
      CurrentResampleKernels().unpremultiply(result, spec_.part.width,
                                             in.channels);
    }
    writer->Row(y, result);
  }
}

// Also where only one of the sides changes.
void Resampler::FilterRowsFirst(const Source<uint8_t>& in,
                                RowWriter<uint8_t>* writer,
                                ResampleScratch* scratch) const {
  const size_t size = needed_.width * in.channels;
  const size_t between_stride =
      same_width_ ? size : std::max(size, ColumnReach(columns_, in.channels));
  const size_t out_stride = spec_.part.width * in.channels + kColumnSlack;
  uint8_t* const between =
      scratch->Get<uint8_t>(Use::kBetween, kColumnRows * between_stride);
  uint8_t* const result =
      scratch->Get<uint8_t>(Use::kResult, kColumnRows * out_stride);
  for (uint32_t y = 0; y < spec_.part.height; y += kColumnRows) {
    const size_t count = std::min<size_t>(kColumnRows, spec_.part.height - y);
    const uint8_t* from[kColumnRows];
    uint8_t* to[kColumnRows];
    for (size_t i = 0; i < count; ++i) {
      from[i] = same_height_ ? in.Row(y + i) : between + i * between_stride;
      to[i] =
          same_width_ ? between + i * between_stride : result + i * out_stride;
    }
    if (!same_height_) {
      const RowPass rows(rows_, needed_.height, size, scratch);
      for (size_t i = 0; i < count; ++i) {
        rows.Run(
            y + i, [&](size_t row) { return in.Row(row); },
            between + i * between_stride);
      }
    }
    if (!same_width_) {
      const uint8_t* const end = same_height_
                                     ? in.Row(needed_.height - 1) + size
                                     : between + kColumnRows * between_stride;
      ColumnPass(columns_, in.channels, size, end, scratch)
          .Run(from, count, to);
    }
    for (size_t i = 0; i < count; ++i) {
      if (HasAlpha(in.channels)) {
        CurrentResampleKernels().unpremultiply(to[i], spec_.part.width,
                                               in.channels);
      }
      writer->Row(y + i, to[i]);
    }
  }
}

}  // namespace liquid
