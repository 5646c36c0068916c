// Opacity with AVX2, 32 values at a time.
#include "ops/image/alpha.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define LIQUID_AVX2 __attribute__((target("avx2")))

namespace liquid {
namespace {

LIQUID_AVX2 inline __m256i Load(const uint8_t* values) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
}

LIQUID_AVX2 inline void Store(__m256i vector, uint8_t* values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), vector);
}

// The bytes that are opacities.
template <size_t kChannels>
LIQUID_AVX2 inline __m256i AlphaBytes() {
  return kChannels == 2 ? _mm256_set1_epi16(static_cast<int16_t>(0xFF00))
                        : _mm256_set1_epi32(static_cast<int32_t>(0xFF000000));
}

// Each value's pixel's opacity.
template <size_t kChannels>
LIQUID_AVX2 inline __m256i OpacityOfEach(__m256i values) {
  return _mm256_shuffle_epi8(
      values, _mm256_broadcastsi128_si256(
                  kChannels == 2 ? _mm_setr_epi8(1, 1, 3, 3, 5, 5, 7, 7, 9, 9,
                                                 11, 11, 13, 13, 15, 15)
                                 : _mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11,
                                                 11, 11, 15, 15, 15, 15)));
}

// 16 values times `factors` / 255, to the nearest.
LIQUID_AVX2 inline __m256i Times(__m256i values, __m256i factors) {
  const __m256i product = _mm256_add_epi16(_mm256_mullo_epi16(values, factors),
                                           _mm256_set1_epi16(128));
  return _mm256_srli_epi16(
      _mm256_add_epi16(product, _mm256_srli_epi16(product, 8)), 8);
}

template <size_t kChannels>
LIQUID_AVX2 size_t PremultiplyMost(const uint8_t* in, size_t size,
                                   uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    const __m256i values = Load(in + at);
    // The opacity itself is multiplied by 255 / 255.
    const __m256i factors = _mm256_or_si256(OpacityOfEach<kChannels>(values),
                                            AlphaBytes<kChannels>());
    Store(_mm256_packus_epi16(Times(_mm256_unpacklo_epi8(values, zero),
                                    _mm256_unpacklo_epi8(factors, zero)),
                              Times(_mm256_unpackhi_epi8(values, zero),
                                    _mm256_unpackhi_epi8(factors, zero))),
          out + at);
  }
  return at;
}

// 255 times each of 8 values, by their pixels' opacities. Quotients are at
// least 1/255 from the next whole number or whole, and up to 2^16 the rounding
// of a float is half of that: the whole part is exact. Without opacity,
// anything.
template <size_t kChannels>
LIQUID_AVX2 inline __m256i Quotients(const uint8_t* values) {
  const __m256i wide = _mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values)));
  const __m256i opacity =
      _mm256_shuffle_epi32(wide, kChannels == 2 ? 0xF5 : 0xFF);
  const __m256 quotient = _mm256_div_ps(
      _mm256_cvtepi32_ps(_mm256_mullo_epi32(wide, _mm256_set1_epi32(255))),
      _mm256_cvtepi32_ps(opacity));
  return _mm256_cvttps_epi32(quotient);
}

template <size_t kChannels>
LIQUID_AVX2 size_t UnpremultiplyMost(uint8_t* row, size_t size) {
  const __m256i alpha_bytes = AlphaBytes<kChannels>();
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    const __m256i values = Load(row + at);
    const __m256i alpha = OpacityOfEach<kChannels>(values);
    // Opaque pixels, most of them, stay as they are, as do those with none.
    if (_mm256_testc_si256(alpha, _mm256_set1_epi8(-1))) continue;
    const __m256i kept = _mm256_or_si256(
        alpha_bytes, _mm256_cmpeq_epi8(alpha, _mm256_setzero_si256()));
    const __m256i quotients = _mm256_permutevar8x32_epi32(
        _mm256_packus_epi16(
            _mm256_packs_epi32(Quotients<kChannels>(row + at),
                               Quotients<kChannels>(row + at + 8)),
            _mm256_packs_epi32(Quotients<kChannels>(row + at + 16),
                               Quotients<kChannels>(row + at + 24))),
        in_order);
    Store(_mm256_blendv_epi8(quotients, values, kept), row + at);
  }
  return at;
}

}  // namespace

void PremultiplyAvx2(const uint8_t* in, size_t pixels, size_t channels,
                     uint8_t* out) {
  const size_t size = pixels * channels;
  const size_t done = channels == 2 ? PremultiplyMost<2>(in, size, out)
                                    : PremultiplyMost<4>(in, size, out);
  Premultiply(in + done, (size - done) / channels, channels, out + done);
}

void UnpremultiplyAvx2(uint8_t* row, size_t pixels, size_t channels) {
  const size_t size = pixels * channels;
  const size_t done = channels == 2 ? UnpremultiplyMost<2>(row, size)
                                    : UnpremultiplyMost<4>(row, size);
  Unpremultiply(row + done, (size - done) / channels, channels);
}

}  // namespace liquid

#endif  // defined(__x86_64__)
