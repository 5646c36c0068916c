// The inner loops of ops/image/finish.h, once for each set of instructions.
#ifndef LIQUID_OPS_IMAGE_FINISH_KERNELS_H_
#define LIQUID_OPS_IMAGE_FINISH_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// Means and deviations repeat after so many values: a multiple of 1 to 4
// channels, and of every vector's length.
constexpr size_t kFinishPeriod = 48;

// out[i] = (in[i] - mean[i]) / std[i], in float32, then rounded to even.
// `std` has kFinishPeriod numbers that repeat, and so has `mean` unless
// `mean_step` is kFinishPeriod: it then has one for each of n. `out` and `in`
// must not overlap.
template <typename In, typename Out>
using FinishLoop = void (*)(const In* in, size_t n, const float* mean,
                            size_t mean_step, const float* std, Out* out);

// Types of 16 bits are their bits.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

// out[i] = in[i], rounded to even.
template <typename Out>
using RoundLoop = void (*)(const float* in, size_t n, Out* out);

// out[i] = a[i] * share + b[i] * rest, each rounded to float32; then to even.
template <typename Out>
using MixLoop = void (*)(const float* a, const float* b, float share,
                         float rest, size_t n, Out* out);

template <typename In>
struct FinishLoops {
  FinishLoop<In, float> to_float;
  FinishLoop<In, Half> to_half;
  FinishLoop<In, Brain> to_brain;
  // Channel by channel, each of `pixels` values.
  void (*split)(const In* in, size_t pixels, size_t channels, In* out);
};

struct FinishKernels {
  FinishLoops<uint8_t> bytes;
  FinishLoops<uint16_t> words;
  RoundLoop<Half> round_to_half;
  RoundLoop<Brain> round_to_brain;
  MixLoop<float> mix_to_float;
  MixLoop<Half> mix_to_half;
  MixLoop<Brain> mix_to_brain;
};

extern const FinishKernels kFinishPlain;
#if defined(__x86_64__)
extern const FinishKernels kFinishAvx2;
#endif

// The fastest ones that run here.
const FinishKernels& BestFinishKernels();

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_FINISH_KERNELS_H_
