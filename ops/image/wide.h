// Loops that are compiled twice, where one binary must run on processors with
// and without wide vectors.
#ifndef LIQUID_OPS_IMAGE_WIDE_H_
#define LIQUID_OPS_IMAGE_WIDE_H_

// What such a loop calls becomes a part of it.
#define LIQUID_INLINE inline __attribute__((always_inline))
// Written before the body of a lambda.
#define LIQUID_INLINED __attribute__((always_inline))

namespace liquid {

#if defined(__x86_64__)
template <typename Loop>
__attribute__((target("avx2"))) void RunWide(const Loop& loop) {
  loop();
}
#endif

// Calls `loop`, a lambda without arguments that is LIQUID_INLINED. Vectors of
// either width give the same bits.
template <typename Loop>
void RunBest(const Loop& loop) {
#if defined(__x86_64__)
  static const bool kHasWide = __builtin_cpu_supports("avx2");
  if (kHasWide) return RunWide(loop);
#endif
  loop();
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_WIDE_H_
