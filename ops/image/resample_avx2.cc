// With AVX2: products of 16 bits, two taps at a time, of each half of a weight.
// The halves' sums are joined at the end, so nothing is rounded but there.
#include "ops/image/resample_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "ops/image/alpha.h"
#include "ops/image/channels.h"
#include "ops/image/resample_lanes.h"
#include "ops/image/resample_lerp.h"

#define LIQUID_AVX2 __attribute__((target("avx2")))

namespace liquid {
namespace {

LIQUID_AVX2 inline __m256i Broadcast(const int16_t* pair) {
  int32_t both;
  std::memcpy(&both, pair, sizeof both);
  return _mm256_set1_epi32(both);
}

// The sums of a weight's lower and upper halves.
struct Sums {
  __m256i low, high;
};

LIQUID_AVX2 inline Sums Half() {
  return {_mm256_set1_epi32(1 << (kFixedBits - 1)), _mm256_setzero_si256()};
}

// Adds two taps: 8 pairs of values of 16 bits, times a pair of weights.
LIQUID_AVX2 inline void Add(__m256i values, __m256i low, __m256i high,
                            Sums* sums) {
  sums->low = _mm256_add_epi32(sums->low, _mm256_madd_epi16(values, low));
  sums->high = _mm256_add_epi32(sums->high, _mm256_madd_epi16(values, high));
}

LIQUID_AVX2 inline __m256i Join(const Sums& sums) {
  return _mm256_srai_epi32(
      _mm256_add_epi32(sums.low, _mm256_slli_epi32(sums.high, kFixedLowBits)),
      kFixedBits);
}

// 32 values of four times 8, cut to 8 bits, in the order of the lanes.
LIQUID_AVX2 inline __m256i Pack(const __m256i sums[4]) {
  return _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]),
                             _mm256_packs_epi32(sums[2], sums[3]));
}

// Four pixels of each row of a lane.
template <size_t kChannels>
LIQUID_AVX2 inline __m128i Load(const uint8_t* const* rows, size_t at) {
  if constexpr (kChannels >= 3) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[0] + at));
  } else if constexpr (kChannels == 2) {
    return _mm_unpacklo_epi64(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[0] + at)),
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[1] + at)));
  } else {
    int32_t four[4];
    for (size_t i = 0; i < 4; ++i) std::memcpy(four + i, rows[i] + at, 4);
    return _mm_setr_epi32(four[0], four[1], four[2], four[3]);
  }
}

// Pixels `first` and `first` + 1 of four, value by value, as 16 bits.
template <size_t kChannels>
constexpr LanePattern PairPattern(size_t first) {
  LanePattern pattern = {};
  for (size_t value = 0; value < 4; ++value) {
    for (size_t i = 0; i < 2; ++i) {
      uint8_t* const word = pattern.bytes + 4 * value + 2 * i;
      word[0] = LanePlace<kChannels>(4, first + i, value);
      word[1] = kNoByte;
    }
  }
  return pattern;
}

template <size_t kChannels>
LIQUID_AVX2 inline void Store(__m128i pixels, uint8_t* const* rows, size_t at) {
  __m128i* const first = reinterpret_cast<__m128i*>(rows[0] + at);
  if constexpr (kChannels >= 3) {
    _mm_storeu_si128(first, pixels);
  } else if constexpr (kChannels == 2) {
    _mm_storel_epi64(first, pixels);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(rows[1] + at),
                     _mm_unpackhi_epi64(pixels, pixels));
  } else {
    alignas(16) uint8_t four[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(four), pixels);
    for (size_t i = 0; i < 4; ++i) std::memcpy(rows[i] + at, four + 4 * i, 4);
  }
}

LIQUID_AVX2 inline __m256i BothLanes(const LanePattern& pattern) {
  return _mm256_broadcastsi128_si256(
      _mm_load_si128(reinterpret_cast<const __m128i*>(pattern.bytes)));
}

// kPairs is the pairs of taps if they are few, else 0.
template <size_t kChannels, size_t kPairs, size_t kVectors>
LIQUID_AVX2 void ColumnsOf(const uint8_t* const* rows, const FilterTaps& taps,
                           uint8_t* const* out) {
  constexpr size_t kRows = kLaneRows<kChannels>;
  static constexpr LanePattern kFirst = PairPattern<kChannels>(0);
  static constexpr LanePattern kSecond = PairPattern<kChannels>(2);
  static constexpr LanePattern kStore = LaneStorePattern<kChannels>();
  const __m256i first_pair = BothLanes(kFirst);
  const __m256i second_pair = BothLanes(kSecond);
  const __m256i store = BothLanes(kStore);
  const size_t width = taps.first.size();
  const size_t pairs = kPairs == 0 ? taps.pairs() : kPairs;
  const int16_t* fixed = taps.fixed.data();
  for (size_t x = 0; x < width; x += 4) {
    __m256i joined[kVectors][4];
    // Past the row's end the last pixel is made again.
    for (size_t i = 0; i < 4; ++i) {
      const size_t pixel = std::min(x + i, width - 1);
      size_t at = taps.first[pixel] * kChannels;
      const int16_t* weights = fixed + pixel * 4 * pairs;
      Sums sums[kVectors];
      for (size_t v = 0; v < kVectors; ++v) sums[v] = Half();
      for (size_t p = 0; p < pairs; p += 2) {
        __m256i values[kVectors];  // four taps
        const __m256i low = Broadcast(weights), high = Broadcast(weights + 2);
        for (size_t v = 0; v < kVectors; ++v) {
          values[v] = _mm256_inserti128_si256(
              _mm256_castsi128_si256(Load<kChannels>(rows + 2 * v * kRows, at)),
              Load<kChannels>(rows + (2 * v + 1) * kRows, at), 1);
          Add(_mm256_shuffle_epi8(values[v], first_pair), low, high, &sums[v]);
        }
        if (p + 1 < pairs) {
          const __m256i low2 = Broadcast(weights + 4);
          const __m256i high2 = Broadcast(weights + 6);
          for (size_t v = 0; v < kVectors; ++v) {
            Add(_mm256_shuffle_epi8(values[v], second_pair), low2, high2,
                &sums[v]);
          }
        }
        at += 4 * kChannels;
        weights += 8;
      }
      for (size_t v = 0; v < kVectors; ++v) joined[v][i] = Join(sums[v]);
    }
    for (size_t v = 0; v < kVectors; ++v) {
      const __m256i packed = _mm256_shuffle_epi8(Pack(joined[v]), store);
      Store<kChannels>(_mm256_castsi256_si128(packed), out + 2 * v * kRows,
                       x * kChannels);
      Store<kChannels>(_mm256_extracti128_si256(packed, 1),
                       out + (2 * v + 1) * kRows, x * kChannels);
    }
  }
}

template <size_t kChannels>
LIQUID_AVX2 void Columns(const uint8_t* const* rows, size_t count,
                         const FilterTaps& taps, uint8_t* const* out) {
  constexpr size_t kVectors = kChannels == 1 ? 1 : 2;
  constexpr size_t kStep = 2 * kVectors * kLaneRows<kChannels>;
  for (size_t i = 0; i < count; i += kStep) {
    // Where rows are missing, the last one is made more than once.
    const uint8_t* from[kStep];
    uint8_t* to[kStep];
    for (size_t k = 0; k < kStep; ++k) {
      from[k] = rows[std::min(i + k, count - 1)];
      to[k] = out[std::min(i + k, count - 1)];
    }
    switch (taps.pairs()) {
      case 1:
        ColumnsOf<kChannels, 1, kVectors>(from, taps, to);
        break;
      case 2:
        ColumnsOf<kChannels, 2, kVectors>(from, taps, to);
        break;
      case 3:
        ColumnsOf<kChannels, 3, kVectors>(from, taps, to);
        break;
      default:
        ColumnsOf<kChannels, 0, kVectors>(from, taps, to);
        break;
    }
  }
}

void AnyColumns(const uint8_t* const* rows, size_t count, size_t channels,
                const FilterTaps& taps, uint8_t* const* out) {
  ForChannels(channels, [&](auto n) { Columns<n>(rows, count, taps, out); });
}

// 32 values from `at` on.
LIQUID_AVX2 inline void Rows32(const uint8_t* const* rows, size_t pairs,
                               const int16_t* fixed, size_t at, uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  Sums sums[4] = {Half(), Half(), Half(), Half()};
  for (size_t p = 0; p < pairs; ++p) {
    const __m256i low = Broadcast(fixed + 4 * p);
    const __m256i high = Broadcast(fixed + 4 * p + 2);
    const __m256i a =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[2 * p] + at));
    const __m256i b = _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(rows[2 * p + 1] + at));
    const __m256i lower = _mm256_unpacklo_epi8(a, b);
    const __m256i upper = _mm256_unpackhi_epi8(a, b);
    Add(_mm256_unpacklo_epi8(lower, zero), low, high, &sums[0]);
    Add(_mm256_unpackhi_epi8(lower, zero), low, high, &sums[1]);
    Add(_mm256_unpacklo_epi8(upper, zero), low, high, &sums[2]);
    Add(_mm256_unpackhi_epi8(upper, zero), low, high, &sums[3]);
  }
  const __m256i joined[4] = {Join(sums[0]), Join(sums[1]), Join(sums[2]),
                             Join(sums[3])};
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), Pack(joined));
}

LIQUID_AVX2 void Rows(const uint8_t* const* rows, size_t pairs,
                      const int16_t* fixed, size_t size, uint8_t* out) {
  if (size < 32) return ScalarRows(rows, pairs, fixed, 0, size, out);
  for (size_t at = 0; at + 32 <= size; at += 32) {
    Rows32(rows, pairs, fixed, at, out);
  }
  // What is left, and some values once more.
  if (size % 32 != 0) Rows32(rows, pairs, fixed, size - 32, out);
}

LIQUID_AVX2 void ExactRows(const double* const* rows, size_t count,
                           const double* weights, size_t size, double* out) {
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    __m256d low = _mm256_setzero_pd(), high = low;
    for (size_t t = 0; t < count; ++t) {
      const __m256d weight = _mm256_set1_pd(weights[t]);
      low = _mm256_add_pd(low,
                          _mm256_mul_pd(_mm256_loadu_pd(rows[t] + at), weight));
      high = _mm256_add_pd(
          high, _mm256_mul_pd(_mm256_loadu_pd(rows[t] + at + 4), weight));
    }
    _mm256_storeu_pd(out + at, low);
    _mm256_storeu_pd(out + at + 4, high);
  }
  ScalarExactRows(rows, count, weights, at, size, out);
}

// Four values as floats.
LIQUID_AVX2 inline __m128 Floats(const uint8_t* pixel) {
  int32_t values;
  std::memcpy(&values, pixel, sizeof values);
  return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(values)));
}

LIQUID_AVX2 void Lerp(const uint8_t* row, size_t channels, const LerpTap* taps,
                      size_t count, float* out) {
  size_t x = 0;
  if (channels >= 3) {
    // Of three channels the fourth value is another pixel's: there is none past
    // the last, and the one written is overwritten.
    const size_t last = taps[count - 1].upper;
    for (; x < count && (channels == 4 || taps[x].upper < last); ++x) {
      const __m128 from = Floats(row + taps[x].lower * channels);
      const __m128 to = Floats(row + taps[x].upper * channels);
      _mm_storeu_ps(out + x * channels,
                    _mm_add_ps(from, _mm_mul_ps(_mm_sub_ps(to, from),
                                                _mm_set1_ps(taps[x].part))));
    }
  }
  LerpColumns(row, channels, taps + x, count - x, out + x * channels);
}

}  // namespace

const ResampleKernels kAvx2Resample = {
    AnyColumns, Rows, ExactRows, PremultiplyAvx2, UnpremultiplyAvx2, Lerp};

}  // namespace liquid

#endif  // defined(__x86_64__)
