// What the AVX2 decoders of both versions share.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_AVX2_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_AVX2_H_

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "ops/codecs/l3/host/l3_flat.h"
#include "ops/codecs/l3/host/l3_rows.h"

#define LIQUID_L3_AVX2 __attribute__((target("avx2,bmi2")))

namespace liquid {
namespace l3_avx2 {

inline constexpr uint64_t kOnes = 0x0101010101010101;

inline uint64_t Load64(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

// What `pdep` fills with bytes of n bits, by n.
inline constexpr uint64_t kSpread[9] = {0,          kOnes,       kOnes * 3,
                                        kOnes * 7,  kOnes * 15,  kOnes * 31,
                                        kOnes * 63, kOnes * 127, kOnes * 255};

// What the codes of a channel stand for.
struct Codes {
  __m128i widths;
  uint64_t spread;
};

LIQUID_L3_AVX2 inline Codes CodesOf(const L3Channel& channel) {
  return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(channel.widths)),
          kSpread[channel.code_bits]};
}

// The widths of a row's groups, a byte each.
LIQUID_L3_AVX2 inline uint64_t Widths(const Codes& codes,
                                      const uint8_t* bytes) {
  const __m128i each = _mm_cvtsi64_si128(
      static_cast<int64_t>(_pdep_u64(Load64(bytes), codes.spread)));
  return static_cast<uint64_t>(
      _mm_cvtsi128_si64(_mm_shuffle_epi8(codes.widths, each)));
}

// Writes 16 pixels of three planes interleaved, 48 bytes.
LIQUID_L3_AVX2 inline void Interleave3(__m128i r, __m128i g, __m128i b,
                                       uint8_t* out) {
  const __m128i r0 =
      _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5);
  const __m128i g0 =
      _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1);
  const __m128i b0 =
      _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
  const __m128i r1 =
      _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1);
  const __m128i g1 =
      _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10);
  const __m128i b1 =
      _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1);
  const __m128i r2 = _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14,
                                   -1, -1, 15, -1, -1);
  const __m128i g2 = _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1,
                                   14, -1, -1, 15, -1);
  const __m128i b2 = _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1,
                                   -1, 14, -1, -1, 15);
  __m128i* to = reinterpret_cast<__m128i*>(out);
  _mm_storeu_si128(to, _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, r0),
                                                 _mm_shuffle_epi8(g, g0)),
                                    _mm_shuffle_epi8(b, b0)));
  _mm_storeu_si128(to + 1, _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, r1),
                                                     _mm_shuffle_epi8(g, g1)),
                                        _mm_shuffle_epi8(b, b1)));
  _mm_storeu_si128(to + 2, _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, r2),
                                                     _mm_shuffle_epi8(g, g2)),
                                        _mm_shuffle_epi8(b, b2)));
}

// As DecodeAnyPlanes of l3_flat_planes.h.
bool Planes(const L3FlatPatch& patch, uint32_t row_end, L3FlatSink* sink);
L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped);
void PredictRowV1(const uint8_t* above, uint32_t width, uint8_t* predicted);

}  // namespace l3_avx2
}  // namespace liquid

#endif  // defined(__x86_64__)

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_AVX2_H_
