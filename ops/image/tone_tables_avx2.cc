// Tables of 256 values with AVX2, for 32 values at a time.
#include "ops/image/tone_tables.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define LIQUID_AVX2 __attribute__((target("avx2")))

namespace liquid {
namespace {

// Of 16 parts of a table, each is asked for the low four bits of all values;
// then the high four choose, from the lowest of them on, half of what is left.
struct Parts {
  __m256i part[16];
};

LIQUID_AVX2 inline __m256i Choose(__m256i low, __m256i high, __m256i by) {
  return _mm256_blendv_epi8(low, high, by);
}

LIQUID_AVX2 inline __m256i Found(const Parts& parts, __m256i values) {
  const __m256i low = _mm256_and_si256(values, _mm256_set1_epi8(15));
  // A choice is made by the highest bit of a byte.
  const __m256i by[] = {_mm256_slli_epi16(values, 3),
                        _mm256_slli_epi16(values, 2),
                        _mm256_slli_epi16(values, 1), values};
  __m256i found[8];
  for (int i = 0; i < 8; ++i) {
    found[i] = Choose(_mm256_shuffle_epi8(parts.part[2 * i], low),
                      _mm256_shuffle_epi8(parts.part[2 * i + 1], low), by[0]);
  }
  for (int i = 0; i < 4; ++i) {
    found[i] = Choose(found[2 * i], found[2 * i + 1], by[1]);
  }
  for (int i = 0; i < 2; ++i) {
    found[i] = Choose(found[2 * i], found[2 * i + 1], by[2]);
  }
  return Choose(found[0], found[1], by[3]);
}

}  // namespace

LIQUID_AVX2 void LookUpAvx2(const ToneTable& table, size_t count,
                            uint8_t* values) {
  Parts parts;
  for (int i = 0; i < 16; ++i) {
    parts.part[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128(
        reinterpret_cast<const __m128i*>(table.data() + 16 * i)));
  }
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    auto* const at = reinterpret_cast<__m256i*>(values + i);
    _mm256_storeu_si256(at, Found(parts, _mm256_loadu_si256(at)));
  }
  for (; i < count; ++i) values[i] = table[values[i]];
}

}  // namespace liquid

#endif  // defined(__x86_64__)
