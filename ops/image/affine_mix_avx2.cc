#include "ops/image/affine_mix.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define LIQUID_AVX2 __attribute__((target("avx2")))

namespace liquid {
namespace {

// The channels of a pixel, and one value that does not matter.
LIQUID_AVX2 inline __m128i Load(const uint8_t* pixel) {
  int32_t bytes;
  std::memcpy(&bytes, pixel, sizeof(bytes));
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
}

LIQUID_AVX2 inline __m256d Real(__m128i values) {
  return _mm256_cvtepi32_pd(values);
}

// The same operations in the same order as for one value.

LIQUID_AVX2 inline __m256d Line(__m256d from, __m256d to, __m256d part) {
  return _mm256_add_pd(from, _mm256_mul_pd(_mm256_sub_pd(to, from), part));
}

LIQUID_AVX2 inline __m256d Curve(__m256d from, __m256d slope, __m256d bend,
                                 __m256d twist, __m256d part) {
  const __m256d bent = _mm256_add_pd(bend, _mm256_mul_pd(part, twist));
  const __m256d sloping = _mm256_add_pd(slope, _mm256_mul_pd(part, bent));
  return _mm256_add_pd(from, _mm256_mul_pd(part, sloping));
}

// Pixels next to each other in a row of the source.
template <size_t kSide>
LIQUID_AVX2 inline __m256d AcrossRow(const uint8_t* first, __m256d part) {
  if constexpr (kSide == 2) {
    return Line(Real(Load(first)), Real(Load(first + 3)), part);
  } else {
    const __m128i v0 = Load(first), v1 = Load(first + 3);
    const __m128i v2 = Load(first + 6), v3 = Load(first + 9);
    // Integers, which are exact in any order.
    const __m128i before = _mm_sub_epi32(v0, v1);
    const __m128i both = _mm_add_epi32(before, _mm_sub_epi32(v2, v3));
    return Curve(Real(v1), Real(_mm_sub_epi32(v2, v0)),
                 Real(_mm_add_epi32(before, both)),
                 Real(_mm_sub_epi32(_mm_setzero_si128(), both)), part);
  }
}

template <size_t kSide>
LIQUID_AVX2 inline __m256d AcrossRows(const uint8_t* first, size_t stride,
                                      __m256d right, __m256d down) {
  const __m256d r0 = AcrossRow<kSide>(first, right);
  const __m256d r1 = AcrossRow<kSide>(first + stride, right);
  if constexpr (kSide == 2) {
    return Line(r0, r1, down);
  } else {
    const __m256d r2 = AcrossRow<kSide>(first + 2 * stride, right);
    const __m256d r3 = AcrossRow<kSide>(first + 3 * stride, right);
    const __m256d before = _mm256_sub_pd(r0, r1);
    const __m256d bend =
        _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(before, before), r2), r3);
    const __m256d twist =
        _mm256_add_pd(_mm256_sub_pd(_mm256_sub_pd(r1, r0), r2), r3);
    const __m256d mixed = Curve(r1, _mm256_sub_pd(r2, r0), bend, twist, down);
    return _mm256_min_pd(_mm256_max_pd(mixed, _mm256_setzero_pd()),
                         _mm256_set1_pd(255));
  }
}

template <size_t kSide>
LIQUID_AVX2 inline void MixInner(const AffineSource<uint8_t, 3> source,
                                 const RowPlaces places, size_t begin,
                                 size_t end, uint8_t* out) {
  constexpr ptrdiff_t kBefore = kSide / 2 - 1;
  for (size_t i = begin; i < end; ++i) {
    const double x = places.X(i) - 0.5, y = places.Y(i) - 0.5;
    const auto left = static_cast<ptrdiff_t>(x);
    const auto top = static_cast<ptrdiff_t>(y);
    const __m256d mixed = AcrossRows<kSide>(
        source.At(top - kBefore, left - kBefore), source.width * 3,
        _mm256_set1_pd(x - static_cast<double>(left)),
        _mm256_set1_pd(y - static_cast<double>(top)));
    __m128i settled = _mm256_cvttpd_epi32(mixed);
    settled = _mm_packus_epi32(settled, settled);
    settled = _mm_packus_epi16(settled, settled);
    const int32_t bytes = _mm_cvtsi128_si32(settled);
    // Four bytes at once where the next pixel overwrites the last of them.
    if (i + 1 < end) {
      std::memcpy(out + 3 * i, &bytes, 4);
    } else {
      std::memcpy(out + 3 * i, &bytes, 3);
    }
  }
}

}  // namespace

LIQUID_AVX2 void BilinearInnerAvx2(const AffineSource<uint8_t, 3>& source,
                                   const RowPlaces& places, size_t begin,
                                   size_t end, uint8_t* out) {
  MixInner<2>(source, places, begin, end, out);
}

LIQUID_AVX2 void BicubicInnerAvx2(const AffineSource<uint8_t, 3>& source,
                                  const RowPlaces& places, size_t begin,
                                  size_t end, uint8_t* out) {
  MixInner<4>(source, places, begin, end, out);
}

}  // namespace liquid

#endif  // defined(__x86_64__)
