// Four blocks, or 32 pixels, at a time, with AVX-512.
#if defined(__x86_64__)

// GCC 12 takes its own undefined registers for a mistake of the caller.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced.h"
#include "ops/codecs/l3/host/l3_avx2.h"

#define LIQUID_BASELINE_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2")))

namespace liquid {
namespace {

using V = __m512i;
constexpr size_t kLanes = 32;
constexpr size_t kBlocks = kLanes / 8;

LIQUID_BASELINE_TARGET inline V Add(V a, V b) { return _mm512_add_epi16(a, b); }
LIQUID_BASELINE_TARGET inline V Sub(V a, V b) { return _mm512_sub_epi16(a, b); }
LIQUID_BASELINE_TARGET inline V Mul(V a, V b) {
  return _mm512_mullo_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V MulHigh(V a, V b) {
  return _mm512_mulhi_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Max(V a, V b) { return _mm512_max_epu16(a, b); }
LIQUID_BASELINE_TARGET inline V Or(V a, V b) { return _mm512_or_si512(a, b); }
LIQUID_BASELINE_TARGET inline V Xor(V a, V b) { return _mm512_xor_si512(a, b); }
LIQUID_BASELINE_TARGET inline V Add32(V a, V b) {
  return _mm512_add_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V Sub32(V a, V b) {
  return _mm512_sub_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V MulPairs(V a, V b) {
  return _mm512_madd_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Low8(V a, V b) {
  return _mm512_unpacklo_epi8(a, b);
}
LIQUID_BASELINE_TARGET inline V High8(V a, V b) {
  return _mm512_unpackhi_epi8(a, b);
}
LIQUID_BASELINE_TARGET inline V Low16(V a, V b) {
  return _mm512_unpacklo_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V High16(V a, V b) {
  return _mm512_unpackhi_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Low32(V a, V b) {
  return _mm512_unpacklo_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V High32(V a, V b) {
  return _mm512_unpackhi_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V Low64(V a, V b) {
  return _mm512_unpacklo_epi64(a, b);
}
LIQUID_BASELINE_TARGET inline V High64(V a, V b) {
  return _mm512_unpackhi_epi64(a, b);
}
LIQUID_BASELINE_TARGET inline V Narrow32(V a, V b) {
  return _mm512_packs_epi32(a, b);
}
LIQUID_BASELINE_TARGET inline V Narrow16(V a, V b) {
  return _mm512_packs_epi16(a, b);
}
LIQUID_BASELINE_TARGET inline V Abs(V a) { return _mm512_abs_epi16(a); }
template <int kShift>
LIQUID_BASELINE_TARGET inline V Up(V a) {
  return _mm512_slli_epi16(a, kShift);
}
template <int kShift>
LIQUID_BASELINE_TARGET inline V Down(V a) {
  return _mm512_srai_epi16(a, kShift);
}
template <int kShift>
LIQUID_BASELINE_TARGET inline V Down32(V a) {
  return _mm512_srai_epi32(a, kShift);
}
LIQUID_BASELINE_TARGET inline V Set(int16_t a) { return _mm512_set1_epi16(a); }
LIQUID_BASELINE_TARGET inline V Set32(int32_t a) {
  return _mm512_set1_epi32(a);
}
LIQUID_BASELINE_TARGET inline V SetPair(int32_t a, int32_t b) {
  return Set32(static_cast<int32_t>(static_cast<uint32_t>(b) << 16 |
                                    (static_cast<uint32_t>(a) & 0xffff)));
}
LIQUID_BASELINE_TARGET inline V First(V a) {
  return _mm512_shuffle_epi8(a, Set(0x0100));
}
LIQUID_BASELINE_TARGET inline V WithoutFirst(V a) {
  return _mm512_maskz_mov_epi16(0xfefefefe, a);
}
LIQUID_BASELINE_TARGET inline bool IsZero(V a) {
  return _mm512_test_epi16_mask(a, a) == 0;
}
LIQUID_BASELINE_TARGET inline bool AnyAtLeast(V a, int32_t limit) {
  return _mm512_cmpge_epu16_mask(a, Set(static_cast<int16_t>(limit))) != 0;
}
LIQUID_BASELINE_TARGET inline V Load(const int16_t* p) {
  return _mm512_loadu_si512(p);
}
LIQUID_BASELINE_TARGET inline void Store(int16_t* p, V a) {
  _mm512_storeu_si512(p, a);
}
LIQUID_BASELINE_TARGET inline V LoadRows(const int16_t* p) {
  const __m256i low =
      _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(p + 64),
                          reinterpret_cast<const __m128i*>(p));
  const __m256i high =
      _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(p + 192),
                          reinterpret_cast<const __m128i*>(p + 128));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
LIQUID_BASELINE_TARGET inline V LoadBytes(const uint8_t* p) {
  return _mm512_cvtepu8_epi16(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
LIQUID_BASELINE_TARGET inline void StoreBytes(uint8_t* p, V a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi16_epi8(a));
}
LIQUID_BASELINE_TARGET inline void StoreRows(uint8_t* p, size_t stride, V a) {
  const V order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const V rows = _mm512_permutexvar_epi64(order, a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_castsi512_si256(rows));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + stride),
                      _mm512_extracti64x4_epi64(rows, 1));
}
// 32 bytes of numbers, clamped.
LIQUID_BASELINE_TARGET inline __m256i ToBytes(V a) {
  return _mm512_cvtusepi16_epi8(_mm512_max_epi16(a, Set(0)));
}
LIQUID_BASELINE_TARGET inline void Interleave3(V r, V g, V b, uint8_t* p) {
  const __m256i red = ToBytes(r), green = ToBytes(g), blue = ToBytes(b);
  l3_avx2::Interleave3(_mm256_castsi256_si128(red),
                       _mm256_castsi256_si128(green),
                       _mm256_castsi256_si128(blue), p);
  l3_avx2::Interleave3(_mm256_extracti128_si256(red, 1),
                       _mm256_extracti128_si256(green, 1),
                       _mm256_extracti128_si256(blue, 1), p + 48);
}

LIQUID_BASELINE_TARGET inline uint32_t LowBits(uint64_t word, uint32_t count) {
  return static_cast<uint32_t>(_bzhi_u64(word, count));
}

#include "ops/codecs/jpeg/baseline/baseline_blocks_loops.h"
#include "ops/codecs/jpeg/baseline/baseline_loops.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced_loops.h"

}  // namespace

const BaselineFunctions kBaselineAvx512 = {
    Decode,  DecodeBoth, {InvertTo1, Reduce<2>, Reduce<4>, Invert},
    IsLarge, Widen,      WidenBetween,
    Between, ToRgb};

}  // namespace liquid

#endif  // defined(__x86_64__)
