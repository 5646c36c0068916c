// Version 2 of L3 with AVX2 and BMI2: `pdep` spreads a group of 8 pixels over 8
// bytes, and whatever follows works on 32 pixels at a time.
#include "ops/codecs/l3/host/l3_avx2.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_ones.h"
#include "ops/codecs/l3/host/l3_wide.h"

#if defined(__x86_64__)

#define LIQUID_L3_TARGET LIQUID_L3_AVX2

namespace liquid {
namespace {

using l3_avx2::Codes;
using l3_avx2::CodesOf;
using l3_avx2::kSpread;
using l3_avx2::Load64;
using l3_avx2::Widths;

// Verbs of l3_row_loops.h.

struct Row {
  __m256i low, high;  // pixels 0 to 31, 32 to 63
};

LIQUID_L3_TARGET inline Row Load(const void* bytes) {
  const __m256i* from = static_cast<const __m256i*>(bytes);
  return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}

LIQUID_L3_TARGET inline void Store(const Row& row, uint8_t* bytes) {
  __m256i* to = reinterpret_cast<__m256i*>(bytes);
  _mm256_storeu_si256(to, row.low);
  _mm256_storeu_si256(to + 1, row.high);
}

LIQUID_L3_TARGET inline Row Fill(uint8_t byte) {
  const __m256i all = _mm256_set1_epi8(static_cast<char>(byte));
  return {all, all};
}

LIQUID_L3_TARGET inline Row Add(const Row& a, const Row& b) {
  return {_mm256_add_epi8(a.low, b.low), _mm256_add_epi8(a.high, b.high)};
}

LIQUID_L3_TARGET inline Row Sub(const Row& a, const Row& b) {
  return {_mm256_sub_epi8(a.low, b.low), _mm256_sub_epi8(a.high, b.high)};
}

LIQUID_L3_TARGET inline Row And(const Row& a, const Row& b) {
  return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}

LIQUID_L3_TARGET inline Row Or(const Row& a, const Row& b) {
  return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}

LIQUID_L3_TARGET inline Row Xor(const Row& a, const Row& b) {
  return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}

// Bits of bytes move to those below; whatever comes from the next byte stays.
template <int kBits>
LIQUID_L3_TARGET inline Row ShiftDown(const Row& row) {
  return And(
      {_mm256_srli_epi16(row.low, kBits), _mm256_srli_epi16(row.high, kBits)},
      Fill(0xFF >> kBits));
}

LIQUID_L3_TARGET inline Row Average(const Row& a, const Row& b) {
  return {_mm256_avg_epu8(a.low, b.low), _mm256_avg_epu8(a.high, b.high)};
}

LIQUID_L3_TARGET inline Row First(const Row& row) {
  const __m256i first = _mm256_broadcastb_epi8(_mm256_castsi256_si128(row.low));
  return {first, first};
}

// Sums of every 16 bytes up to and with each.
LIQUID_L3_TARGET inline __m256i LaneSums(__m256i x) {
  x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 1));
  x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 2));
  x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 4));
  return _mm256_add_epi8(x, _mm256_bslli_epi128(x, 8));
}

LIQUID_L3_TARGET inline Row Sums(Row row, const Row& left) {
  const __m256i last = _mm256_set1_epi8(15);
  row.low = LaneSums(row.low);
  row.high = LaneSums(row.high);
  const __m256i low = _mm256_shuffle_epi8(row.low, last);
  const __m256i high = _mm256_shuffle_epi8(row.high, last);
  row.low = _mm256_add_epi8(row.low, _mm256_permute2x128_si256(low, low, 0x08));
  row.high =
      _mm256_add_epi8(row.high, _mm256_permute2x128_si256(high, high, 0x08));
  const __m256i carry = _mm256_add_epi8(
      low, _mm256_permute2x128_si256(low, low, 0x01));  // all of low
  row.high = _mm256_add_epi8(row.high, carry);
  return Add(row, left);
}

// Each byte's neighbours; `beyond` is the one that an end lacks.
LIQUID_L3_TARGET inline Row Before(const Row& row, __m256i beyond) {
  return {
      _mm256_alignr_epi8(row.low,
                         _mm256_permute2x128_si256(beyond, row.low, 0x20), 15),
      _mm256_alignr_epi8(
          row.high, _mm256_permute2x128_si256(row.low, row.high, 0x21), 15)};
}

LIQUID_L3_TARGET inline Row After(const Row& row, __m256i beyond) {
  return {_mm256_alignr_epi8(_mm256_permute2x128_si256(row.low, row.high, 0x21),
                             row.low, 1),
          _mm256_alignr_epi8(_mm256_permute2x128_si256(row.high, beyond, 0x21),
                             row.high, 1)};
}

LIQUID_L3_TARGET inline Row Slopes(const Row& above) {
  return Sub(above, Before(above, First(above).low));
}

LIQUID_L3_TARGET inline Row ThreeQuarters(const Row& slopes) {
  const Row sign = Fill(0x20);
  return Sub(slopes, Sub(Xor(ShiftDown<2>(slopes), sign), sign));
}

// Writes 64 pixels of `kChannels`, 16 at a time.
template <uint32_t kChannels>
LIQUID_L3_TARGET inline void Join(const Row plane[kChannels], uint8_t* out) {
  for (uint32_t i = 0; i < 4; ++i, out += 16 * kChannels) {
    __m128i block[kChannels];
    for (uint32_t c = 0; c < kChannels; ++c) {
      const __m256i half = i < 2 ? plane[c].low : plane[c].high;
      block[c] = i % 2 == 0 ? _mm256_castsi256_si128(half)
                            : _mm256_extracti128_si256(half, 1);
    }
    __m128i* const to = reinterpret_cast<__m128i*>(out);
    if constexpr (kChannels == 1) {
      _mm_storeu_si128(to, block[0]);
    } else if constexpr (kChannels == 3) {
      l3_avx2::Interleave3(block[0], block[1], block[2], out);
    } else {
      const __m128i low = _mm_unpacklo_epi8(block[0], block[1]);
      const __m128i high = _mm_unpackhi_epi8(block[0], block[1]);
      if constexpr (kChannels == 2) {
        _mm_storeu_si128(to, low);
        _mm_storeu_si128(to + 1, high);
      } else {
        const __m128i other_low = _mm_unpacklo_epi8(block[2], block[3]);
        const __m128i other_high = _mm_unpackhi_epi8(block[2], block[3]);
        _mm_storeu_si128(to, _mm_unpacklo_epi16(low, other_low));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low, other_low));
        _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high, other_high));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high, other_high));
      }
    }
  }
}

// Verbs of l3_v2_loops.h.

// Byte g of `bytes` eight times, for each g.
LIQUID_L3_TARGET inline Row Repeat(__m128i bytes) {
  const __m256i pattern =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                       2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i all = _mm256_broadcastsi128_si256(bytes);
  return {
      _mm256_shuffle_epi8(all, pattern),
      _mm256_shuffle_epi8(all, _mm256_or_si256(pattern, _mm256_set1_epi8(4)))};
}

LIQUID_L3_TARGET inline Row Bias(uint64_t widths) {
  const __m128i biases =
      _mm_setr_epi8(0, 1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0);
  return Repeat(_mm_shuffle_epi8(
      biases, _mm_cvtsi64_si128(static_cast<int64_t>(widths))));
}

LIQUID_L3_TARGET inline Row Fields(const uint8_t* bytes, uint64_t widths,
                                   uint64_t begins) {
  const auto group = [=](uint32_t g) LIQUID_L3_TARGET {
    return static_cast<int64_t>(
        _pdep_u64(Load64(bytes + (begins >> 8 * g & 0xFF)),
                  kSpread[widths >> 8 * g & 0xFF]));
  };
  // Not by way of memory: what was just stored in parts loads slowly.
  return {_mm256_setr_epi64x(group(0), group(1), group(2), group(3)),
          _mm256_setr_epi64x(group(4), group(5), group(6), group(7))};
}

// Verbs of l3_rice_loops.h.

using Groups = __m256i;  // of 32 bits

LIQUID_L3_TARGET inline Row Smooth(const Row& slopes) {
  // Averages of unsigned bytes: 128 is 0.
  const Row zero = Fill(0x80);
  const Row at = Xor(slopes, zero);
  return Xor(Average(Average(Before(at, zero.low), After(at, zero.low)), at),
             zero);
}

LIQUID_L3_TARGET inline Groups Magnitudes(const Row& folded) {
  const __m256i zero = _mm256_setzero_si256();
  const Row sizes = Average(folded, Fill(0));
  // Groups 0 1 4 5 2 3 6 7.
  const __m256i sums = _mm256_packus_epi32(_mm256_sad_epu8(sizes.low, zero),
                                           _mm256_sad_epu8(sizes.high, zero));
  return _mm256_permutevar8x32_epi32(sums,
                                     _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7));
}

LIQUID_L3_TARGET inline uint64_t Ks(Groups sums, const L3RiceChannel& channel) {
  // Less one for each threshold above the sum.
  __m256i k = _mm256_set1_epi8(7);
  for (uint32_t j = 0; j < 7; ++j) {
    const __m256i threshold =
        _mm256_set1_epi32(static_cast<int>(channel.thresholds[j]));
    k = _mm256_add_epi32(k, _mm256_cmpgt_epi32(threshold, sums));
  }
  const __m256i each = _mm256_shuffle_epi8(
      k, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                          -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1,
                          -1, -1, -1, -1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_or_si128(
      _mm256_castsi256_si128(each), _mm256_extracti128_si256(each, 1))));
}

LIQUID_L3_TARGET inline uint32_t Below(Groups sums, uint32_t limit) {
  const __m256i below =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(limit)), sums);
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(below)));
}

LIQUID_L3_TARGET inline bool Runs(const uint8_t* bytes, uint32_t first,
                                  uint32_t count, Row* runs, uint32_t* end) {
  uint8_t ends[1 + kL3OnesRoom];  // of the codes, after that of the one before
  ends[0] = static_cast<uint8_t>(first - 1);
  if (!FindL3Ones<kL3RowBytes>(bytes, first, count, ends + 1)) return false;
  *runs = Sub(Load(ends + 1), Add(Load(ends), Fill(1)));
  *end = ends[count] + 1u;
  return true;
}

LIQUID_L3_TARGET inline Row Expand(const Row& row, uint32_t groups) {
  if (groups == 0xFF) return row;
  uint8_t bytes[kL3V2Patch];
  uint64_t expanded[kL3Groups];
  Store(row, bytes);
  const uint8_t* from = bytes;
  for (uint32_t g = 0; g < kL3Groups; ++g) {
    const uint64_t has = groups >> g & 1;
    expanded[g] = Load64(from) & (0 - has);
    from += g < kL3Groups - 1 ? 8 * has : 0;
  }
  return Load(expanded);
}

LIQUID_L3_TARGET inline Row Fold(const Row& runs, uint64_t widths,
                                 const Row& fields) {
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<int64_t>(widths));
  // What a shift does not move out of its byte.
  const __m128i kept =
      _mm_setr_epi8(-1, 127, 63, 31, 15, 7, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const Row kept_runs = And(runs, Repeat(_mm_shuffle_epi8(kept, bytes)));
  const __m256i low = _mm256_cvtepu8_epi64(bytes);
  const __m256i high = _mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4));
  return Or(fields, {_mm256_sllv_epi64(kept_runs.low, low),
                     _mm256_sllv_epi64(kept_runs.high, high)});
}

LIQUID_L3_TARGET inline Row Unfold(const Row& folded) {
  return Xor(ShiftDown<1>(folded), Sub(Fill(0), And(folded, Fill(1))));
}

LIQUID_L3_TARGET inline bool AnyFrom(const Row& row, uint8_t least) {
  const __m256i largest = _mm256_max_epu8(row.low, row.high);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(
             largest,
             _mm256_max_epu8(largest,
                             _mm256_set1_epi8(static_cast<char>(least))))) != 0;
}

LIQUID_L3_TARGET inline uint64_t Deposit(uint64_t bits, uint64_t mask) {
  return _pdep_u64(bits, mask);
}
LIQUID_L3_TARGET inline uint64_t From(const Row& row, uint8_t least) {
  const __m256i all = _mm256_set1_epi8(static_cast<char>(least));
  const uint32_t low = static_cast<uint32_t>(_mm256_movemask_epi8(
      _mm256_cmpeq_epi8(row.low, _mm256_max_epu8(row.low, all))));
  const uint32_t high = static_cast<uint32_t>(_mm256_movemask_epi8(
      _mm256_cmpeq_epi8(row.high, _mm256_max_epu8(row.high, all))));
  return low | uint64_t{high} << 32;
}

LIQUID_L3_TARGET inline Row Mask(uint64_t mask) {
  const __m256i bits =
      _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const Row bytes = Repeat(_mm_cvtsi64_si128(static_cast<int64_t>(mask)));
  return {_mm256_cmpeq_epi8(_mm256_and_si256(bytes.low, bits), bits),
          _mm256_cmpeq_epi8(_mm256_and_si256(bytes.high, bits), bits)};
}

LIQUID_L3_TARGET inline Row Select(uint64_t mask, const Row& a, const Row& b) {
  const Row bytes = Mask(mask);
  return {_mm256_blendv_epi8(b.low, a.low, bytes.low),
          _mm256_blendv_epi8(b.high, a.high, bytes.high)};
}

LIQUID_L3_TARGET inline Row Place(const uint8_t* bytes, uint64_t mask) {
  uint8_t placed[kL3V2Patch] = {};
  for (; mask != 0; mask &= mask - 1) placed[__builtin_ctzll(mask)] = *bytes++;
  return Load(placed);
}

// Verbs of l3_flat_loops.h.

using l3_avx2::Planes;

LIQUID_L3_TARGET inline Row Look(const uint8_t* palette, uint32_t colours,
                                 const Row& row) {
  if (colours <= 16) {
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(palette)));
    return {_mm256_shuffle_epi8(table, row.low),
            _mm256_shuffle_epi8(table, row.high)};
  }
  uint8_t bytes[kL3V2Patch];
  Store(row, bytes);
  for (uint8_t& byte : bytes) byte = palette[byte];
  return Load(bytes);
}

}  // namespace
}  // namespace liquid

#include "ops/codecs/l3/host/l3_flat_loops.h"
#include "ops/codecs/l3/host/l3_rice_loops.h"
#include "ops/codecs/l3/host/l3_v2_loops.h"

namespace liquid {

const L3RowDecoders kL3Avx2Decoders = {
    l3_avx2::DecodeV1, DecodeAnyV2,   DecodeL3Wide,
    DecodeAnyRice,     DecodeAnyFlat, l3_avx2::PredictRowV1};

}  // namespace liquid

#endif  // defined(__x86_64__)
