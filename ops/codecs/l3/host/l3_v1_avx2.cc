// Version 1 of L3 with AVX2 and BMI2: `pdep` spreads 8 pixels over 8 bytes, and
// whatever follows works on 32 pixels at a time.
#include "ops/codecs/l3/host/l3_avx2.h"

#if defined(__x86_64__)

#include "ops/codecs/l3/host/l3_arithmetic.h"

namespace liquid {
namespace l3_avx2 {
namespace {

constexpr uint32_t kV1Row = 1 + 256 + 32;  // a pixel of 0, the row, room

// The predictions of 32 pixels from those above; see L3V1Predict.
LIQUID_L3_AVX2 inline __m256i PredictV1(__m256i a, __m256i b, __m256i c) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i a_over = _mm256_subs_epu8(a, b);
  const __m256i c_over = _mm256_subs_epu8(c, b);
  const __m256i pc = _mm256_or_si256(a_over, _mm256_subs_epu8(b, a));
  const __m256i pa = _mm256_or_si256(c_over, _mm256_subs_epu8(b, c));
  // b lies between a and c or outside: pb is the difference of pa and pc or
  // their sum. Saturation keeps pa <= pb right; pb <= pc is asked for a = 0
  // only, where outside means c <= b, and then c is right either way.
  const __m256i outside = _mm256_cmpeq_epi8(_mm256_cmpeq_epi8(a_over, zero),
                                            _mm256_cmpeq_epi8(c_over, zero));
  const __m256i sum = _mm256_adds_epu8(pa, pc);
  const __m256i difference =
      _mm256_or_si256(_mm256_subs_epu8(pa, pc), _mm256_subs_epu8(pc, pa));
  const __m256i pb = _mm256_blendv_epi8(difference, sum, outside);
  const __m256i a_to_b = _mm256_cmpeq_epi8(_mm256_min_epu8(pa, pb), pa);
  const __m256i a_to_c = _mm256_cmpeq_epi8(_mm256_min_epu8(pa, pc), pa);
  const __m256i b_to_c = _mm256_andnot_si256(
      outside, _mm256_cmpeq_epi8(_mm256_min_epu8(pb, pc), pb));
  const __m256i no_a = _mm256_cmpeq_epi8(a, zero);
  const __m256i no_c = _mm256_cmpeq_epi8(c, zero);
  const __m256i both =
      _mm256_blendv_epi8(c, _mm256_blendv_epi8(b, a, a_to_b), a_to_c);
  const __m256i without_c = _mm256_blendv_epi8(b, a, a_to_b);
  const __m256i without_a = _mm256_blendv_epi8(c, b, b_to_c);
  return _mm256_blendv_epi8(_mm256_blendv_epi8(both, without_c, no_c),
                            without_a, no_a);
}

// Decodes a row of one channel in place of the row above it.
LIQUID_L3_AVX2 L3RowsResult DecodeRowV1(const uint8_t** at, const uint8_t* end,
                                        uint32_t width, bool first,
                                        uint8_t* row) {
  const uint8_t* bytes = *at;
  const size_t left = static_cast<size_t>(end - bytes);
  if (left < 2) return L3RowsResult::kShort;
  const uint32_t bits = bytes[0] & 15;
  if (bits > 8) return L3RowsResult::kBadWidth;
  const uint32_t size = L3V1RowBytes(bits, width);
  if (left < size) return L3RowsResult::kShort;
  const __m256i base =
      _mm256_set1_epi8(static_cast<char>(bytes[0] >> 4 | bytes[1] << 4));
  const uint64_t spread = kSpread[bits];
  const uint8_t* group = bytes + 1;
  __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
  for (uint32_t x = 0; x < width; x += 32) {
    // The deltas begin in the middle of a byte: 8 of them lie in 9 bytes. Past
    // the row's last group there is nothing to read.
    uint64_t deltas[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < 4 && x + 8 * i < width; ++i, group += bits) {
      deltas[i] =
          _pdep_u64(Load64(group) >> 4 | uint64_t{group[8]} << 60, spread);
    }
    __m256i value = _mm256_add_epi8(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(deltas)), base);
    uint8_t* here = row + 1 + x;
    // The next block's top-left, before this block overwrites it.
    const __m256i next_a =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here + 31));
    if (!first) {
      const __m256i b =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here));
      const __m256i c =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(here + 1));
      value = _mm256_add_epi8(value, PredictV1(a, b, c));
    }
    a = next_a;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(here), value);
  }
  row[1 + width] = 0;
  *at = bytes + size;
  return L3RowsResult::kOk;
}

}  // namespace

LIQUID_L3_AVX2 void PredictRowV1(const uint8_t* above, uint32_t width,
                                 uint8_t* predicted) {
  for (uint32_t x = 0; x < width; x += 32) {
    const __m256i* at = reinterpret_cast<const __m256i*>(above + x);
    const __m256i a = _mm256_loadu_si256(at);
    const __m256i b =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(above + x + 1));
    const __m256i c =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(above + x + 2));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(predicted + x),
                        PredictV1(a, b, c));
  }
}

LIQUID_L3_AVX2 L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                                     const uint8_t** stopped) {
  uint8_t planes[3][kV1Row + 32] = {};
  uint8_t joined[3 * 256];
  const uint8_t* at[3] = {patch.begin[0], patch.begin[1], patch.begin[2]};
  const uint32_t pixels = rows.x_end - rows.x_begin;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (int c = 0; c < 3; ++c) {
      const L3RowsResult result =
          DecodeRowV1(&at[c], patch.end[c], patch.width, y == 0, planes[c]);
      if (result != L3RowsResult::kOk) {
        *stopped = at[c];
        return result;
      }
    }
    if (y < rows.row_begin) continue;
    uint8_t* out = rows.out + (y - rows.row_begin) * rows.stride;
    uint32_t x = 0;
    for (; x < pixels; x += 16) {
      const bool whole = x + 16 <= pixels;
      const uint32_t from = 1 + rows.x_begin + x;
      __m128i plane[3];
      for (int c = 0; c < 3; ++c) {
        plane[c] =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(planes[c] + from));
      }
      Interleave3(plane[0], plane[1], plane[2], whole ? out + 3 * x : joined);
      if (!whole) std::memcpy(out + 3 * x, joined, 3 * (pixels - x));
    }
  }
  for (int c = 0; c < 3; ++c) {
    if (rows.row_end == patch.height && at[c] != patch.end[c]) {
      *stopped = at[c];
      return L3RowsResult::kLong;
    }
  }
  return L3RowsResult::kOk;
}

}  // namespace l3_avx2
}  // namespace liquid

#endif  // defined(__x86_64__)
