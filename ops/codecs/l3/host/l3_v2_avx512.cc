// Version 2 of L3 with AVX-512 and VBMI: a row of a patch is one register. A
// byte permutation brings each group's bytes into a quadword of its own, and
// `vpmultishiftqb` takes the eight pixels out of it.
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_rows.h"
#include "ops/codecs/l3/host/l3_wide.h"

#if defined(__x86_64__)

// GCC 12 takes its own undefined registers for a mistake of the caller.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <cstring>

#include "ops/codecs/l3/host/l3_avx2.h"

#define LIQUID_L3_TARGET                                   \
  __attribute__((                                          \
      target("avx2,bmi2,popcnt,avx512f,avx512bw,avx512vl," \
             "avx512vbmi,avx512vbmi2")))

namespace liquid {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;

// By width: the bit where each pixel begins, the bits that are its own, and
// what was added to it.
struct alignas(64) WidthTables {
  uint64_t shifts[16] = {}, masks[16] = {}, biases[16] = {};
};

constexpr WidthTables MakeWidthTables() {
  WidthTables tables;
  for (uint64_t n = 1; n <= 8; ++n) {
    for (uint64_t k = 0; k < 8; ++k) tables.shifts[n] |= n * k << (8 * k);
    tables.masks[n] = kOnes * ((uint64_t{1} << n) - 1);
    tables.biases[n] = kOnes * (uint64_t{1} << (n - 1));
  }
  return tables;
}

constexpr WidthTables kWidthTables = MakeWidthTables();

// Which byte of which plane goes where: output byte j is pixel j / channels of
// channel j % channels. Planes 0 and 1 come from one permutation, 2 and 3 from
// another.
template <uint32_t kChannels>
struct alignas(64) JoinTables {
  uint8_t first[kChannels][64] = {}, second[kChannels][64] = {};
  uint64_t from_second[kChannels] = {};
};

template <uint32_t kChannels>
constexpr JoinTables<kChannels> MakeJoinTables() {
  JoinTables<kChannels> tables;
  for (uint32_t j = 0; j < 64 * kChannels; ++j) {
    const uint32_t block = j / 64, pixel = j / kChannels, c = j % kChannels;
    const uint8_t index = static_cast<uint8_t>(pixel + 64 * (c % 2));
    if (c < 2) {
      tables.first[block][j % 64] = index;
    } else {
      tables.second[block][j % 64] = index;
      tables.from_second[block] |= uint64_t{1} << (j % 64);
    }
  }
  return tables;
}

struct alignas(64) Indices {
  uint8_t count[64] = {};                   // 0, 1, 2 ...
  uint8_t before[64] = {}, after[64] = {};  // the neighbours of each byte
  uint8_t in_group[64] = {};                // 0 to 7, again and again
  // Within its 16 bytes, the byte that numbers the quadword.
  uint8_t repeat[64] = {};
};

constexpr Indices MakeIndices() {
  Indices indices;
  for (uint32_t j = 0; j < 64; ++j) {
    indices.count[j] = static_cast<uint8_t>(j);
    indices.before[j] = static_cast<uint8_t>(j == 0 ? 0 : j - 1);
    indices.after[j] = static_cast<uint8_t>(j == 63 ? 63 : j + 1);
    indices.in_group[j] = static_cast<uint8_t>(j % 8);
    indices.repeat[j] = static_cast<uint8_t>(j / 8);
  }
  return indices;
}

constexpr Indices kIndices = MakeIndices();

// Verbs of l3_row_loops.h.

using Row = __m512i;

LIQUID_L3_TARGET inline Row Load(const void* bytes) {
  return _mm512_loadu_si512(bytes);
}

LIQUID_L3_TARGET inline void Store(Row row, uint8_t* bytes) {
  _mm512_storeu_si512(bytes, row);
}

LIQUID_L3_TARGET inline Row Fill(uint8_t byte) {
  return _mm512_set1_epi8(static_cast<char>(byte));
}

LIQUID_L3_TARGET inline Row Add(Row a, Row b) { return _mm512_add_epi8(a, b); }

LIQUID_L3_TARGET inline Row Sub(Row a, Row b) { return _mm512_sub_epi8(a, b); }

LIQUID_L3_TARGET inline Row And(Row a, Row b) { return _mm512_and_si512(a, b); }

LIQUID_L3_TARGET inline Row Average(Row a, Row b) {
  return _mm512_avg_epu8(a, b);
}

LIQUID_L3_TARGET inline Row First(Row row) {
  return _mm512_broadcastb_epi8(_mm512_castsi512_si128(row));
}

LIQUID_L3_TARGET inline Row Sums(Row x, Row left) {
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 1));
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 2));
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 4));
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 8));
  const Row last = _mm512_shuffle_epi8(x, _mm512_set1_epi8(15));
  // The sums of the 16 bytes one, two and three places before.
  const Row one = _mm512_maskz_shuffle_i64x2(0xFC, last, last, 0x90);
  const Row two = _mm512_maskz_shuffle_i64x2(0xF0, last, last, 0x40);
  const Row three = _mm512_maskz_shuffle_i64x2(0xC0, last, last, 0x00);
  x = _mm512_add_epi8(x, left);
  return _mm512_add_epi8(_mm512_add_epi8(x, one), _mm512_add_epi8(two, three));
}

LIQUID_L3_TARGET inline Row Slopes(Row above) {
  return _mm512_sub_epi8(above,
                         _mm512_permutexvar_epi8(Load(kIndices.before), above));
}

LIQUID_L3_TARGET inline Row ThreeQuarters(Row slope) {
  const Row sign = Fill(0x20);
  const Row quarter = _mm512_sub_epi8(
      _mm512_xor_si512(
          _mm512_and_si512(_mm512_srli_epi16(slope, 2), Fill(0x3F)), sign),
      sign);
  return _mm512_sub_epi8(slope, quarter);
}

LIQUID_L3_TARGET inline Row Smooth(Row slopes) {
  // Averages of unsigned bytes: 128 is 0.
  const Row zero = Fill(0x80);
  const Row at = _mm512_xor_si512(slopes, zero);
  const Row before =
      _mm512_mask_permutexvar_epi8(zero, ~1ull, Load(kIndices.before), at);
  const Row after =
      _mm512_mask_permutexvar_epi8(zero, ~0ull >> 1, Load(kIndices.after), at);
  return _mm512_xor_si512(Average(Average(before, after), at), zero);
}

template <uint32_t kChannels>
LIQUID_L3_TARGET inline void Join(const Row plane[kChannels], uint8_t* out) {
  static constexpr JoinTables<kChannels> kJoin = MakeJoinTables<kChannels>();
  for (uint32_t block = 0; block < kChannels; ++block) {
    Row joined = plane[0];
    if constexpr (kChannels > 1) {
      joined = _mm512_permutex2var_epi8(plane[0], Load(kJoin.first[block]),
                                        plane[1]);
    }
    if constexpr (kChannels > 2) {
      joined = _mm512_mask_blend_epi8(
          kJoin.from_second[block], joined,
          _mm512_permutex2var_epi8(plane[2], Load(kJoin.second[block]),
                                   plane[kChannels - 1]));
    }
    Store(joined, out + 64 * block);
  }
}

// Verbs of l3_v2_loops.h.

using l3_avx2::Codes;
using l3_avx2::CodesOf;
using l3_avx2::Widths;

// The width of each group as a number of 64 bits.
LIQUID_L3_TARGET inline Row Wide(uint64_t widths) {
  return _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<int64_t>(widths)));
}

LIQUID_L3_TARGET inline Row ByWidth(const uint64_t table[16], Row wide) {
  return _mm512_permutex2var_epi64(Load(table), wide, Load(table + 8));
}

LIQUID_L3_TARGET inline Row Bias(uint64_t widths) {
  return ByWidth(kWidthTables.biases, Wide(widths));
}

LIQUID_L3_TARGET inline Row Fields(const uint8_t* bytes, uint64_t widths,
                                   uint64_t begins) {
  const Row wide = Wide(widths);
  const Row at = _mm512_add_epi8(
      _mm512_shuffle_epi8(_mm512_set1_epi64(static_cast<int64_t>(begins)),
                          Load(kIndices.repeat)),
      Load(kIndices.in_group));
  const Row groups = _mm512_permutexvar_epi8(at, Load(bytes));
  return _mm512_and_si512(
      _mm512_multishift_epi64_epi8(ByWidth(kWidthTables.shifts, wide), groups),
      ByWidth(kWidthTables.masks, wide));
}

// Verbs of l3_rice_loops.h.

using Groups = __m512i;  // of 64 bits

LIQUID_L3_TARGET inline Groups Magnitudes(Row folded) {
  const Row zero = _mm512_setzero_si512();
  return _mm512_sad_epu8(_mm512_avg_epu8(folded, zero), zero);
}

LIQUID_L3_TARGET inline uint64_t Ks(Groups sums, const L3RiceChannel& channel) {
  const Row index = _mm512_min_epu64(
      sums,
      _mm512_add_epi64(_mm512_srli_epi64(sums, 4), _mm512_set1_epi64(60)));
  const uint8_t* table = kL3KTables.k[channel.map];
  const Row k = _mm512_permutex2var_epi8(Load(table), index, Load(table + 64));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(k)));
}

LIQUID_L3_TARGET inline uint32_t Below(Groups sums, uint32_t limit) {
  return _mm512_cmplt_epu64_mask(sums, _mm512_set1_epi64(limit));
}

LIQUID_L3_TARGET inline bool Runs(const uint8_t* bytes, uint32_t first,
                                  uint32_t count, Row* runs, uint32_t* end) {
  const uint64_t a = l3_avx2::Load64(bytes) & ~0ull << first;
  const uint64_t b = l3_avx2::Load64(bytes + 8);
  const uint64_t c = l3_avx2::Load64(bytes + 16);
  const uint32_t in_a = static_cast<uint32_t>(_mm_popcnt_u64(a));
  const uint32_t in_ab = in_a + static_cast<uint32_t>(_mm_popcnt_u64(b));
  const uint32_t in_abc = in_ab + static_cast<uint32_t>(_mm_popcnt_u64(c));
  // The places of the ones, one after the other.
  const Row places = Load(kIndices.count);
  Row at = _mm512_maskz_compress_epi8(a, places);
  at = _mm512_mask_expand_epi8(
      at, ~_bzhi_u64(~0ull, in_a),
      _mm512_maskz_compress_epi8(b, Add(places, Fill(64))));
  at = _mm512_mask_expand_epi8(
      at, ~_bzhi_u64(~0ull, in_ab),
      _mm512_maskz_compress_epi8(c, Add(places, Fill(128))));
  if (in_abc < count) {
    const uint64_t d = l3_avx2::Load64(bytes + 24);
    if (in_abc + static_cast<uint32_t>(_mm_popcnt_u64(d)) < count) return false;
    at = _mm512_mask_expand_epi8(
        at, ~_bzhi_u64(~0ull, in_abc),
        _mm512_maskz_compress_epi8(d, Add(places, Fill(192))));
  }
  const Row before = _mm512_mask_permutexvar_epi8(
      Fill(static_cast<uint8_t>(first - 1)), ~1ull, Load(kIndices.before), at);
  *runs = Sub(at, Add(before, Fill(1)));
  const Row last =
      _mm512_permutexvar_epi8(Fill(static_cast<uint8_t>(count - 1)), at);
  *end =
      1 +
      (static_cast<uint32_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(last))) &
       0xFF);
  return true;
}

LIQUID_L3_TARGET inline Row Expand(Row row, uint32_t groups) {
  return _mm512_maskz_expand_epi64(static_cast<__mmask8>(groups), row);
}

LIQUID_L3_TARGET inline Row Fold(Row runs, uint64_t widths, Row fields) {
  const Row wide = Wide(widths);
  const Row kept =
      ByWidth(kWidthTables.masks, _mm512_sub_epi64(_mm512_set1_epi64(8), wide));
  return _mm512_or_si512(fields,
                         _mm512_sllv_epi64(_mm512_and_si512(runs, kept), wide));
}

LIQUID_L3_TARGET inline Row Unfold(Row folded) {
  const Row one = Fill(1);
  const Row sign = _mm512_sub_epi8(_mm512_setzero_si512(), And(folded, one));
  return _mm512_xor_si512(And(_mm512_srli_epi16(folded, 1), Fill(0x7F)), sign);
}

LIQUID_L3_TARGET inline uint64_t Deposit(uint64_t bits, uint64_t mask) {
  return _pdep_u64(bits, mask);
}
LIQUID_L3_TARGET inline uint64_t From(Row row, uint8_t least) {
  return _mm512_cmpge_epu8_mask(row, Fill(least));
}

LIQUID_L3_TARGET inline bool AnyFrom(Row row, uint8_t least) {
  return From(row, least) != 0;
}

LIQUID_L3_TARGET inline Row Select(uint64_t mask, Row a, Row b) {
  return _mm512_mask_blend_epi8(mask, b, a);
}

LIQUID_L3_TARGET inline Row Place(const uint8_t* bytes, uint64_t mask) {
  return _mm512_maskz_expand_epi8(mask, Load(bytes));
}

// Verbs of l3_flat_loops.h.

using l3_avx2::Planes;

LIQUID_L3_TARGET inline Row Look(const uint8_t* palette, uint32_t colours,
                                 Row row) {
  if (colours <= 64) return _mm512_permutexvar_epi8(row, Load(palette));
  const Row low =
      _mm512_permutex2var_epi8(Load(palette), row, Load(palette + 64));
  if (colours <= 128) return low;
  const Row high =
      _mm512_permutex2var_epi8(Load(palette + 128), row, Load(palette + 192));
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(row), low, high);
}

}  // namespace
}  // namespace liquid

#include "ops/codecs/l3/host/l3_flat_loops.h"
#include "ops/codecs/l3/host/l3_rice_loops.h"
#include "ops/codecs/l3/host/l3_v2_loops.h"

namespace liquid {
namespace {

// What gains nothing from wider registers.
L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped) {
  return kL3Avx2Decoders.v1(patch, rows, stopped);
}

void PredictV1(const uint8_t* above, uint32_t width, uint8_t* predicted) {
  kL3Avx2Decoders.predict_v1(above, width, predicted);
}

}  // namespace

const L3RowDecoders kL3Avx512Decoders = {DecodeV1,      DecodeAnyV2,
                                         DecodeL3Wide,  DecodeAnyRice,
                                         DecodeAnyFlat, PredictV1};

}  // namespace liquid

#endif  // defined(__x86_64__)
