// Version 2 of L3 with AVX-512 and VBMI: a row of a patch is one register. A
// byte permutation brings each group's bytes into a quadword of its own, and
// `vpmultishiftqb` takes the eight pixels out of it.
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

#define LIQUID_L3_AVX512 \
  __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace liquid {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;

// By width: the bit where each pixel begins, the bits that are its own, and
// what was added to it.
struct WidthTables {
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

// Which byte of which plane goes where: output byte j is pixel j / channels of
// channel j % channels. Planes 0 and 1 come from one permutation, 2 and 3 from
// another.
template <uint32_t kChannels>
struct JoinTables {
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

constexpr WidthTables kWidthTables = MakeWidthTables();

// The first index is of the register shifted by one byte, the others count.
struct Indices {
  uint8_t before[64] = {}, repeat[64] = {}, count[64] = {};
};

constexpr Indices MakeIndices() {
  Indices indices;
  for (uint32_t j = 0; j < 64; ++j) {
    indices.before[j] = static_cast<uint8_t>(j == 0 ? 0 : j - 1);
    // Within its 16 bytes, the byte that numbers the quadword.
    indices.repeat[j] = static_cast<uint8_t>(j / 8);
    indices.count[j] = static_cast<uint8_t>(j % 8);
  }
  return indices;
}

constexpr Indices kIndices = MakeIndices();

uint64_t Load64(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

LIQUID_L3_AVX512 inline __m512i Load(const void* bytes) {
  return _mm512_loadu_si512(bytes);
}

// Sums of all 64 bytes up to and with each.
LIQUID_L3_AVX512 inline __m512i Sums(__m512i x) {
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 1));
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 2));
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 4));
  x = _mm512_add_epi8(x, _mm512_bslli_epi128(x, 8));
  const __m512i last = _mm512_shuffle_epi8(x, _mm512_set1_epi8(15));
  // The sums of the 16 bytes one, two and three places before.
  const __m512i one = _mm512_maskz_shuffle_i64x2(0xFC, last, last, 0x90);
  const __m512i two = _mm512_maskz_shuffle_i64x2(0xF0, last, last, 0x40);
  const __m512i three = _mm512_maskz_shuffle_i64x2(0xC0, last, last, 0x00);
  return _mm512_add_epi8(_mm512_add_epi8(x, one), _mm512_add_epi8(two, three));
}

// Three quarters of above - above-left; 0 for the first pixel.
LIQUID_L3_AVX512 inline __m512i Slopes(__m512i above) {
  const __m512i slope = _mm512_sub_epi8(
      above, _mm512_permutexvar_epi8(Load(kIndices.before), above));
  const __m512i sign = _mm512_set1_epi8(0x20);
  const __m512i quarter = _mm512_sub_epi8(
      _mm512_xor_si512(
          _mm512_and_si512(_mm512_srli_epi16(slope, 2), _mm512_set1_epi8(0x3F)),
          sign),
      sign);
  return _mm512_sub_epi8(slope, quarter);
}

// The first byte, everywhere.
LIQUID_L3_AVX512 inline __m512i First(__m512i x) {
  return _mm512_broadcastb_epi8(_mm512_castsi512_si128(x));
}

template <uint32_t kChannels>
LIQUID_L3_AVX512 L3RowsResult DecodeV2(const L3V2Patch& patch,
                                       const L3Rows& rows,
                                       const uint8_t** stopped) {
  static constexpr JoinTables<kChannels> kJoin = MakeJoinTables<kChannels>();
  const __m512i shifts_low = Load(kWidthTables.shifts);
  const __m512i shifts_high = Load(kWidthTables.shifts + 8);
  const __m512i masks_low = Load(kWidthTables.masks);
  const __m512i masks_high = Load(kWidthTables.masks + 8);
  const __m512i biases_low = Load(kWidthTables.biases);
  const __m512i biases_high = Load(kWidthTables.biases + 8);
  const __m512i repeat = Load(kIndices.repeat);
  const __m512i count = Load(kIndices.count);

  __m512i above[kChannels];
  __m128i tables[kChannels];
  const uint8_t* codes[kChannels];
  uint64_t spread[kChannels];
  for (uint32_t c = 0; c < kChannels; ++c) {
    const L3Channel& channel = patch.channel[c];
    above[c] = _mm512_set1_epi8(static_cast<char>(channel.base));
    tables[c] =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(channel.widths));
    codes[c] = channel.codes;
    spread[c] = kOnes * ((uint64_t{1} << channel.code_bits) - 1);
  }
  const uint32_t groups = (patch.width + kL3Group - 1) / kL3Group;
  const uint64_t groups_mask = ~uint64_t{0} >> (64 - 8 * groups);
  const uint8_t* payload = patch.payload;
  const uint32_t pixels = rows.x_end - rows.x_begin;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      const L3Channel& channel = patch.channel[c];
      const __m128i code_bytes = _mm_cvtsi64_si128(
          static_cast<int64_t>(_pdep_u64(Load64(codes[c]), spread[c])));
      codes[c] += channel.code_bits;
      const uint64_t widths = static_cast<uint64_t>(_mm_cvtsi128_si64(
                                  _mm_shuffle_epi8(tables[c], code_bytes))) &
                              groups_mask;
      // Byte g: where group g ends. At most 64, so no byte overflows.
      const uint64_t ends = widths * kOnes;
      const size_t size = ends >> 56;
      if (static_cast<size_t>(patch.end - payload) < size) {
        *stopped = payload;
        return L3RowsResult::kShort;
      }
      const __m512i at = _mm512_add_epi8(
          _mm512_shuffle_epi8(
              _mm512_set1_epi64(static_cast<int64_t>(ends << 8)), repeat),
          count);
      const __m512i width =
          _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<int64_t>(widths)));
      const __m512i groups_bytes = _mm512_permutexvar_epi8(at, Load(payload));
      payload += size;
      __m512i row = _mm512_multishift_epi64_epi8(
          _mm512_permutex2var_epi64(shifts_low, width, shifts_high),
          groups_bytes);
      row = _mm512_and_si512(
          row, _mm512_permutex2var_epi64(masks_low, width, masks_high));
      row = _mm512_sub_epi8(
          row, _mm512_permutex2var_epi64(biases_low, width, biases_high));
      const L3Predictor predictor =
          y == 0 ? L3Predictor::kLeft : channel.predictor;
      switch (predictor) {
        case L3Predictor::kTop:
          above[c] = _mm512_add_epi8(above[c], row);
          break;
        case L3Predictor::kLeft:
          above[c] = _mm512_add_epi8(First(above[c]), Sums(row));
          break;
        case L3Predictor::kGradient:
          above[c] = _mm512_add_epi8(above[c], Sums(row));
          break;
        case L3Predictor::kThreeQuarter:
          row = _mm512_add_epi8(row, Slopes(above[c]));
          above[c] = _mm512_add_epi8(First(above[c]), Sums(row));
          break;
      }
    }
    if (y < rows.row_begin) continue;
    constexpr uint32_t kGreen = kChannels >= 3 ? 1 : 0;
    constexpr uint32_t kBlue = kChannels >= 3 ? 2 : 0;
    __m512i plane[kChannels];
    for (uint32_t c = 0; c < kChannels; ++c) plane[c] = above[c];
    if (kChannels >= 3) {
      if (patch.channel[0].colour == L3Colour::kLessGreen) {
        plane[0] = _mm512_add_epi8(plane[0], plane[kGreen]);
      }
      if (patch.channel[kBlue].colour == L3Colour::kLessGreen) {
        plane[kBlue] = _mm512_add_epi8(plane[kBlue], plane[kGreen]);
      } else if (patch.channel[kBlue].colour == L3Colour::kLessMean) {
        plane[kBlue] = _mm512_add_epi8(
            plane[kBlue], _mm512_avg_epu8(plane[0], plane[kGreen]));
      }
    }
    // A row that is whole goes straight to where it belongs.
    uint8_t* const out = rows.out + (y - rows.row_begin) * rows.stride;
    uint8_t part[kChannels * kL3V2Patch];
    uint8_t* const to = pixels == kL3V2Patch ? out : part;
    for (uint32_t block = 0; block < kChannels; ++block) {
      __m512i joined = plane[0];
      if (kChannels > 1) {
        joined = _mm512_permutex2var_epi8(plane[0], Load(kJoin.first[block]),
                                          plane[kChannels > 1 ? 1 : 0]);
      }
      if (kChannels > 2) {
        joined = _mm512_mask_blend_epi8(
            kJoin.from_second[block], joined,
            _mm512_permutex2var_epi8(plane[kBlue], Load(kJoin.second[block]),
                                     plane[kChannels - 1]));
      }
      _mm512_storeu_si512(to + 64 * block, joined);
    }
    if (pixels != kL3V2Patch) {
      std::memcpy(out, part + kChannels * rows.x_begin, kChannels * pixels);
    }
  }
  *stopped = payload;
  return rows.row_end == patch.height && payload != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

L3RowsResult DecodeAnyV2(const L3V2Patch& patch, const L3Rows& rows,
                         const uint8_t** stopped) {
  switch (patch.channels) {
    case 1:
      return DecodeV2<1>(patch, rows, stopped);
    case 2:
      return DecodeV2<2>(patch, rows, stopped);
    case 3:
      return DecodeV2<3>(patch, rows, stopped);
    default:
      return DecodeV2<4>(patch, rows, stopped);
  }
}

// What gains nothing from wider registers.
L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped) {
  return kL3Avx2Decoders.v1(patch, rows, stopped);
}

void PredictV1(const uint8_t* above, uint32_t width, uint8_t* predicted) {
  kL3Avx2Decoders.predict_v1(above, width, predicted);
}

}  // namespace

const L3RowDecoders kL3Avx512Decoders = {DecodeV1, DecodeAnyV2, DecodeL3Wide,
                                         PredictV1};

}  // namespace liquid

#endif  // defined(__x86_64__)
