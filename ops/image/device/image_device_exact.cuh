// Arithmetic that rounds on a device as on every processor.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_EXACT_CUH_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_EXACT_CUH_

#include "ops/codecs/l3/device/l3_device_team.cuh"
#include "ops/image/device/image_device.h"

namespace liquid {

// A product and a sum, each rounded: no compiler makes one operation of them.
// Quotients and roots are rounded right by themselves.
LIQUID_DEVICE inline float ImageProduct(float a, float b) {
#if defined(__CUDACC__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
LIQUID_DEVICE inline float ImageSum(float a, float b) {
#if defined(__CUDACC__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
LIQUID_DEVICE inline double ImageProduct(double a, double b) {
#if defined(__CUDACC__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
LIQUID_DEVICE inline double ImageSum(double a, double b) {
#if defined(__CUDACC__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

LIQUID_DEVICE inline double ImageRoot(double a) {
#if defined(__CUDACC__)
  return __dsqrt_rn(a);
#else
  return __builtin_sqrt(a);
#endif
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_DEVICE_EXACT_CUH_
