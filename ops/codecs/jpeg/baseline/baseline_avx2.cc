// Two blocks, or 16 pixels, at a time, with AVX2 and BMI2.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced.h"
#include "ops/codecs/l3/host/l3_avx2.h"

#define LIQUID_BASELINE_TARGET __attribute__((target("avx2,bmi,bmi2")))

namespace liquid {
namespace {

using V = __m256i;
constexpr size_t kLanes = 16;
constexpr size_t kBlocks = kLanes / 8;

LIQUID_BASELINE_TARGET inline V Add(V a, V b) { return _mm256_add_epi16(a, b); }
LIQUID_BASELINE_TARGET inline V Sub(V a, V b) { return _mm256_sub_epi16(a, b); }
LIQUID_BASELINE_TARGET inline V Mul(V a, V b) {
  return _mm256_mullo_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V MulHigh(V a, V b) {
  return _mm256_mulhi_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Max(V a, V b) { return _mm256_max_epu16(a, b); }
LIQUID_BASELINE_TARGET inline V Or(V a, V b) { return _mm256_or_si256(a, b); }
LIQUID_BASELINE_TARGET inline V Xor(V a, V b) { return _mm256_xor_si256(a, b); }
LIQUID_BASELINE_TARGET inline V Add32(V a, V b) {
  return _mm256_add_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V Sub32(V a, V b) {
  return _mm256_sub_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V MulPairs(V a, V b) {
  return _mm256_madd_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Low8(V a, V b) {
  return _mm256_unpacklo_epi8(a, b);
}
LIQUID_BASELINE_TARGET inline V High8(V a, V b) {
  return _mm256_unpackhi_epi8(a, b);
}
LIQUID_BASELINE_TARGET inline V Low16(V a, V b) {
  return _mm256_unpacklo_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V High16(V a, V b) {
  return _mm256_unpackhi_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Low32(V a, V b) {
  return _mm256_unpacklo_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V High32(V a, V b) {
  return _mm256_unpackhi_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V Low64(V a, V b) {
  return _mm256_unpacklo_epi64(a, b);
}
LIQUID_BASELINE_TARGET inline V High64(V a, V b) {
  return _mm256_unpackhi_epi64(a, b);
}
LIQUID_BASELINE_TARGET inline V Narrow32(V a, V b) {
  return _mm256_packs_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V Narrow16(V a, V b) {
  return _mm256_packs_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Abs(V a) { return _mm256_abs_epi16(a); }
template <int kShift>
LIQUID_BASELINE_TARGET inline V Up(V a) {
  return _mm256_slli_epi16(a, kShift);
}
template <int kShift>
LIQUID_BASELINE_TARGET inline V Down(V a) {
  return _mm256_srai_epi16(a, kShift);
}
template <int kShift>
LIQUID_BASELINE_TARGET inline V Down32(V a) {
  return _mm256_srai_epi32(a, kShift);
}
LIQUID_BASELINE_TARGET inline V Set(int16_t a) { return _mm256_set1_epi16(a); }
LIQUID_BASELINE_TARGET inline V Set32(int32_t a) {
  return _mm256_set1_epi32(a);
}
LIQUID_BASELINE_TARGET inline V SetPair(int32_t a, int32_t b) {
  return Set32(static_cast<int32_t>(static_cast<uint32_t>(b) << 16 |
                                    (static_cast<uint32_t>(a) & 0xffff)));
}
LIQUID_BASELINE_TARGET inline V First(V a) {
  return _mm256_shuffle_epi8(a, Set(0x0100));
}
LIQUID_BASELINE_TARGET inline V WithoutFirst(V a) {
  return _mm256_blend_epi16(a, Set(0), 1);
}
LIQUID_BASELINE_TARGET inline bool IsZero(V a) {
  return _mm256_testz_si256(a, a) != 0;
}
LIQUID_BASELINE_TARGET inline bool AnyAtLeast(V a, int32_t limit) {
  const V least = Set(static_cast<int16_t>(limit));
  return !IsZero(_mm256_cmpeq_epi16(Max(a, least), a));
}
LIQUID_BASELINE_TARGET inline V Load(const int16_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const V*>(p));
}
LIQUID_BASELINE_TARGET inline void Store(int16_t* p, V a) {
  _mm256_storeu_si256(reinterpret_cast<V*>(p), a);
}
LIQUID_BASELINE_TARGET inline V LoadRows(const int16_t* p) {
  return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(p + 64),
                             reinterpret_cast<const __m128i*>(p));
}
LIQUID_BASELINE_TARGET inline V LoadBytes(const uint8_t* p) {
  return _mm256_cvtepu8_epi16(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
// 16 bytes of numbers, clamped.
LIQUID_BASELINE_TARGET inline __m128i ToBytes(V a) {
  return _mm_packus_epi16(_mm256_castsi256_si128(a),
                          _mm256_extracti128_si256(a, 1));
}
LIQUID_BASELINE_TARGET inline void StoreBytes(uint8_t* p, V a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), ToBytes(a));
}
LIQUID_BASELINE_TARGET inline void StoreRows(uint8_t* p, size_t stride, V a) {
  const V rows = _mm256_permute4x64_epi64(a, 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + stride),
                   _mm256_extracti128_si256(rows, 1));
}
LIQUID_BASELINE_TARGET inline void Interleave3(V r, V g, V b, uint8_t* p) {
  l3_avx2::Interleave3(ToBytes(r), ToBytes(g), ToBytes(b), p);
}

LIQUID_BASELINE_TARGET inline uint32_t LowBits(uint64_t word, uint32_t count) {
  return static_cast<uint32_t>(_bzhi_u64(word, count));
}

#include "ops/codecs/jpeg/baseline/baseline_blocks_loops.h"
#include "ops/codecs/jpeg/baseline/baseline_loops.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced_loops.h"

}  // namespace

const BaselineFunctions kBaselineAvx2 = {
    Decode,  DecodeBoth, {InvertTo1, Reduce<2>, Reduce<4>, Invert},
    IsLarge, Widen,      WidenBetween,
    Between, ToRgb};

}  // namespace liquid

#endif  // defined(__x86_64__)
