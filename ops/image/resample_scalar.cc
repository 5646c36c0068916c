// Without vectors: the reference of the others.
#include <algorithm>

#include "ops/image/alpha.h"
#include "ops/image/channels.h"
#include "ops/image/resample_kernels.h"
#include "ops/image/resample_lerp.h"

namespace liquid {
namespace {

constexpr int32_t kHalf = 1 << (kFixedBits - 1);

// Tap t of `fixed`, its halves together again.
inline int32_t Weight(const int16_t* fixed, size_t t) {
  const int16_t* const low = fixed + t / 2 * 4 + t % 2;
  return low[2] * (1 << kFixedLowBits) + low[0];
}

inline uint8_t Round(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFixedBits, 0, 255));
}

template <size_t kChannels>
void Columns(const uint8_t* row, const FilterTaps& taps, uint8_t* out) {
  for (size_t x = 0; x < taps.first.size(); ++x, out += kChannels) {
    const uint8_t* in = row + taps.first[x] * kChannels;
    const int16_t* const fixed = taps.FixedOf(x);
    int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    for (size_t t = 0; t < 2 * taps.pairs(); ++t, in += kChannels) {
      const int32_t weight = Weight(fixed, t);
      for (size_t c = 0; c < kChannels; ++c) sums[c] += in[c] * weight;
    }
    for (size_t c = 0; c < kChannels; ++c) out[c] = Round(sums[c]);
  }
}

void AnyColumns(const uint8_t* const* rows, size_t count, size_t channels,
                const FilterTaps& taps, uint8_t* const* out) {
  ForChannels(channels, [&](auto n) {
    for (size_t i = 0; i < count; ++i) Columns<n>(rows[i], taps, out[i]);
  });
}

void Rows(const uint8_t* const* rows, size_t pairs, const int16_t* fixed,
          size_t size, uint8_t* out) {
  ScalarRows(rows, pairs, fixed, 0, size, out);
}

void ExactRows(const double* const* rows, size_t count, const double* weights,
               size_t size, double* out) {
  ScalarExactRows(rows, count, weights, 0, size, out);
}

}  // namespace

void ScalarRows(const uint8_t* const* rows, size_t pairs, const int16_t* fixed,
                size_t begin, size_t size, uint8_t* out) {
  // As many sums as stay in registers or close by.
  constexpr size_t kBlock = 64;
  for (size_t at = begin; at < size; at += kBlock) {
    const size_t count = std::min(kBlock, size - at);
    int32_t sums[kBlock];
    std::fill_n(sums, kBlock, kHalf);
    for (size_t t = 0; t < 2 * pairs; ++t) {
      const int32_t weight = Weight(fixed, t);
      const uint8_t* const row = rows[t] + at;
      for (size_t i = 0; i < count; ++i) sums[i] += row[i] * weight;
    }
    for (size_t i = 0; i < count; ++i) out[at + i] = Round(sums[i]);
  }
}

void ScalarExactRows(const double* const* rows, size_t count,
                     const double* weights, size_t begin, size_t size,
                     double* out) {
  std::fill(out + begin, out + size, 0.0);
  for (size_t t = 0; t < count; ++t) {
    const double* const row = rows[t];
    const double weight = weights[t];
    for (size_t i = begin; i < size; ++i) out[i] += row[i] * weight;
  }
}

const ResampleKernels kScalarResample = {AnyColumns,    Rows,
                                         ExactRows,     Premultiply,
                                         Unpremultiply, LerpColumns<uint8_t>};

}  // namespace liquid
