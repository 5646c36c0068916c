// Filters with 16 bits: sums in doubles, rounded once, at the end.
#include <algorithm>

#include "ops/image/alpha.h"
#include "ops/image/channels.h"
#include "ops/image/resample.h"
#include "ops/image/resample_kernels.h"
#include "ops/image/resample_targets.h"

namespace liquid {
namespace {

using Use = ResampleScratch::Use;

template <size_t kChannels>
void Columns(const double* row, const FilterTaps& taps, double* out) {
  for (size_t x = 0; x < taps.first.size(); ++x, out += kChannels) {
    const double* in = row + taps.first[x] * kChannels;
    const double* const weights = taps.ExactOf(x);
    double sums[kChannels] = {};
    for (size_t t = 0; t < taps.taps; ++t, in += kChannels) {
      for (size_t c = 0; c < kChannels; ++c) sums[c] += in[c] * weights[t];
    }
    for (size_t c = 0; c < kChannels; ++c) out[c] = sums[c];
  }
}

}  // namespace

void Resampler::Filter(const Source<uint16_t>& in, RowWriter<uint16_t>* writer,
                       ResampleScratch* scratch) const {
  const size_t channels = in.channels;
  const size_t size = needed_.width * channels;
  const size_t out_size = spec_.part.width * channels;
  // An input row in doubles, with zeros where taps pass its end.
  const size_t wide_size =
      same_width_
          ? size
          : std::max(size, (columns_.first.back() + columns_.taps) * channels);
  double* const wide = scratch->Get<double>(Use::kSource, wide_size);
  std::fill(wide + size, wide + wide_size, 0.0);
  const size_t taps = same_height_ ? 1 : rows_.taps;
  double* const ring = scratch->Get<double>(Use::kBetween, taps * out_size);
  const double** const rows = scratch->Get<const double*>(Use::kPointers, taps);
  double* const sums = scratch->Get<double>(Use::kEdge, out_size);
  uint16_t* const result = scratch->Get<uint16_t>(Use::kResult, out_size);
  const ResampleKernels& kernels = CurrentResampleKernels();

  const auto make = [&](size_t y) {
    double* const to = ring + y % taps * out_size;
    double* const from = same_width_ ? to : wide;
    if (HasAlpha(channels)) {
      Premultiply(in.Row(y), needed_.width, channels, from);
    } else {
      std::copy_n(in.Row(y), size, from);
    }
    if (!same_width_) {
      ForChannels(channels, [&](auto n) { Columns<n>(wide, columns_, to); });
    }
  };

  size_t made = 0;
  for (uint32_t y = 0; y < spec_.part.height; ++y) {
    const size_t first = same_height_ ? y : rows_.first[y];
    const size_t last = std::min<size_t>(first + taps, needed_.height);
    for (; made < last; ++made) make(made);
    for (size_t row = first; row < last; ++row) {
      rows[row - first] = ring + row % taps * out_size;
    }
    if (same_height_) {
      std::copy_n(rows[0], out_size, sums);
    } else {
      kernels.exact_rows(rows, last - first, rows_.ExactOf(y), out_size, sums);
    }
    if (HasAlpha(channels)) Unpremultiply(sums, spec_.part.width, channels);
    for (size_t i = 0; i < out_size; ++i) {
      result[i] = static_cast<uint16_t>(
          static_cast<int32_t>(std::clamp(sums[i], 0.0, 65535.0) + 0.5));
    }
    writer->Row(y, result);
  }
}

}  // namespace liquid
