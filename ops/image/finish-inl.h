// Bodies of the loops of ops/image/finish_kernels.h, for a source that defines
// LIQUID_FINISH_TARGET, the attribute of functions for one set of instructions,
// and, where that has them, LIQUID_FINISH_F16C. All is in an unnamed namespace,
// so that no two such sources share code.
#ifndef LIQUID_OPS_IMAGE_FINISH_INL_H_
#define LIQUID_OPS_IMAGE_FINISH_INL_H_

#include <cstring>

#include "ops/image/finish_kernels.h"

namespace liquid {
namespace {

LIQUID_FINISH_TARGET inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

LIQUID_FINISH_TARGET inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Numbers here are no NaN: means are finite and deviations above 0.
LIQUID_FINISH_TARGET inline void Round(float value, float* out) {
  *out = value;
}

LIQUID_FINISH_TARGET inline void Round(float value, Brain* out) {
  const uint32_t bits = BitsOf(value);
  out->bits = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

LIQUID_FINISH_TARGET inline void Round(float value, Half* out) {
#if defined(__aarch64__)
  const __fp16 half = static_cast<__fp16>(value);
  std::memcpy(&out->bits, &half, sizeof(half));
#else
  const uint32_t sign = BitsOf(value) >> 16 & 0x8000;
  const uint32_t size = BitsOf(value) & 0x7fffffff;
  uint32_t half;
  if (size >= 0x477ff000) {  // rounds to 2^16 and more
    half = 0x7c00;
  } else if (size < 0x38800000) {  // below 2^-14: a multiple of 2^-24
    // The sum's last bit is 2^-24, and the addition rounds to even.
    half = BitsOf(FloatOf(size) + 0.5f) - BitsOf(0.5f);
  } else {
    half = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  }
  out->bits = static_cast<uint16_t>(sign | half);
#endif
}

// Blocks have a known length, so that the compiler unrolls them into vectors.
template <typename Out>
LIQUID_FINISH_TARGET inline void RoundBlock(const float* __restrict values,
                                            Out* __restrict out) {
  for (size_t i = 0; i < kFinishPeriod; ++i) Round(values[i], &out[i]);
}

#if defined(LIQUID_FINISH_F16C)
LIQUID_FINISH_TARGET inline void RoundBlock(const float* __restrict values,
                                            Half* __restrict out) {
  for (size_t i = 0; i < kFinishPeriod; i += 8) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), halves);
  }
}

// The compiler narrows 32 bits to 16 by many shuffles; this takes two.
LIQUID_FINISH_TARGET inline void RoundBlock(const float* __restrict values,
                                            Brain* __restrict out) {
  uint32_t rounded[kFinishPeriod];
  for (size_t i = 0; i < kFinishPeriod; ++i) {
    const uint32_t bits = BitsOf(values[i]);
    rounded[i] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  for (size_t i = 0; i < kFinishPeriod; i += 16) {
    const auto* halves = reinterpret_cast<const __m256i*>(rounded + i);
    const __m256i packed = _mm256_packus_epi32(_mm256_loadu_si256(halves),
                                               _mm256_loadu_si256(halves + 1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_permute4x64_epi64(packed, 0xd8));
  }
}
#endif

template <typename In, typename Out>
LIQUID_FINISH_TARGET inline void Block(const In* __restrict in,
                                       const float* __restrict mean,
                                       const float* __restrict std,
                                       Out* __restrict out) {
  float values[kFinishPeriod];
  for (size_t i = 0; i < kFinishPeriod; ++i) {
    values[i] = (static_cast<float>(in[i]) - mean[i]) / std[i];
  }
  RoundBlock(values, out);
}

template <typename In, typename Out>
LIQUID_FINISH_TARGET void Loop(const In* in, size_t n, const float* mean,
                               size_t mean_step, const float* std, Out* out) {
  size_t i = 0;
  for (; i + kFinishPeriod <= n; i += kFinishPeriod, mean += mean_step) {
    Block(in + i, mean, std, out + i);
  }
  for (size_t k = 0; i < n; ++i, ++k) {
    Round((static_cast<float>(in[i]) - mean[k]) / std[k], &out[i]);
  }
}

template <typename Out>
LIQUID_FINISH_TARGET void RoundAll(const float* in, size_t n, Out* out) {
  size_t i = 0;
  for (; i + kFinishPeriod <= n; i += kFinishPeriod) {
    RoundBlock(in + i, out + i);
  }
  for (; i < n; ++i) Round(in[i], &out[i]);
}

template <typename Out>
LIQUID_FINISH_TARGET void MixAll(const float* a, const float* b, float share,
                                 float rest, size_t n, Out* out) {
  size_t i = 0;
  for (; i + kFinishPeriod <= n; i += kFinishPeriod) {
    float values[kFinishPeriod];
    for (size_t k = 0; k < kFinishPeriod; ++k) {
      values[k] = a[i + k] * share + b[i + k] * rest;
    }
    RoundBlock(values, out + i);
  }
  for (; i < n; ++i) Round(a[i] * share + b[i] * rest, &out[i]);
}

template <size_t kChannels, typename In>
LIQUID_FINISH_TARGET void SplitPixels(const In* __restrict in, size_t pixels,
                                      In* __restrict out) {
  for (size_t c = 0; c < kChannels; ++c, out += pixels) {
    for (size_t x = 0; x < pixels; ++x) out[x] = in[x * kChannels + c];
  }
}

template <typename In>
LIQUID_FINISH_TARGET void Split(const In* in, size_t pixels, size_t channels,
                                In* out) {
  switch (channels) {
    case 1:
      return SplitPixels<1>(in, pixels, out);
    case 2:
      return SplitPixels<2>(in, pixels, out);
    case 3:
      return SplitPixels<3>(in, pixels, out);
    default:
      return SplitPixels<4>(in, pixels, out);
  }
}

template <typename In>
constexpr FinishLoops<In> LoopsOf() {
  return {Loop<In, float>, Loop<In, Half>, Loop<In, Brain>, Split<In>};
}

constexpr FinishKernels KernelsOf() {
  return {LoopsOf<uint8_t>(), LoopsOf<uint16_t>(), RoundAll<Half>,
          RoundAll<Brain>,    MixAll<float>,       MixAll<Half>,
          MixAll<Brain>};
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_FINISH_INL_H_
