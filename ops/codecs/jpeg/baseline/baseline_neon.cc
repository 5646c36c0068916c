// One block, or 8 pixels, at a time, with NEON.
#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced.h"

#define LIQUID_BASELINE_TARGET

namespace liquid {
namespace {

using V = int16x8_t;
constexpr size_t kLanes = 8;
constexpr size_t kBlocks = 1;

inline int8x16_t To8(V a) { return vreinterpretq_s8_s16(a); }
inline uint16x8_t ToUnsigned(V a) { return vreinterpretq_u16_s16(a); }
inline int32x4_t To32(V a) { return vreinterpretq_s32_s16(a); }
inline int64x2_t To64(V a) { return vreinterpretq_s64_s16(a); }
inline V From8(int8x16_t a) { return vreinterpretq_s16_s8(a); }
inline V From32(int32x4_t a) { return vreinterpretq_s16_s32(a); }
inline V From64(int64x2_t a) { return vreinterpretq_s16_s64(a); }

inline V Add(V a, V b) { return vaddq_s16(a, b); }
inline V Sub(V a, V b) { return vsubq_s16(a, b); }
inline V Mul(V a, V b) { return vmulq_s16(a, b); }
inline V MulHigh(V a, V b) {
  return vuzp2q_s16(From32(vmull_s16(vget_low_s16(a), vget_low_s16(b))),
                    From32(vmull_high_s16(a, b)));
}
inline V Max(V a, V b) {
  return vreinterpretq_s16_u16(vmaxq_u16(ToUnsigned(a), ToUnsigned(b)));
}
inline V Or(V a, V b) { return vorrq_s16(a, b); }
inline V Xor(V a, V b) { return veorq_s16(a, b); }
inline V Abs(V a) { return vabsq_s16(a); }
inline V Add32(V a, V b) { return From32(vaddq_s32(To32(a), To32(b))); }
inline V Sub32(V a, V b) { return From32(vsubq_s32(To32(a), To32(b))); }
inline V MulPairs(V a, V b) {
  return From32(vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)),
                           vmull_high_s16(a, b)));
}
inline V Low8(V a, V b) { return From8(vzip1q_s8(To8(a), To8(b))); }
inline V High8(V a, V b) { return From8(vzip2q_s8(To8(a), To8(b))); }
inline V Low16(V a, V b) { return vzip1q_s16(a, b); }
inline V High16(V a, V b) { return vzip2q_s16(a, b); }
inline V Low32(V a, V b) { return From32(vzip1q_s32(To32(a), To32(b))); }
inline V High32(V a, V b) { return From32(vzip2q_s32(To32(a), To32(b))); }
inline V Low64(V a, V b) { return From64(vzip1q_s64(To64(a), To64(b))); }
inline V High64(V a, V b) { return From64(vzip2q_s64(To64(a), To64(b))); }
inline V Narrow32(V a, V b) {
  return vcombine_s16(vqmovn_s32(To32(a)), vqmovn_s32(To32(b)));
}
inline V Narrow16(V a, V b) {
  return From8(vcombine_s8(vqmovn_s16(a), vqmovn_s16(b)));
}
template <int kShift>
inline V Up(V a) {
  return vshlq_n_s16(a, kShift);
}
template <int kShift>
inline V Down(V a) {
  return vshrq_n_s16(a, kShift);
}
template <int kShift>
inline V Down32(V a) {
  return From32(vshrq_n_s32(To32(a), kShift));
}
inline V Set(int16_t a) { return vdupq_n_s16(a); }
inline V Set32(int32_t a) { return From32(vdupq_n_s32(a)); }
inline V SetPair(int32_t a, int32_t b) {
  return Set32(static_cast<int32_t>(static_cast<uint32_t>(b) << 16 |
                                    (static_cast<uint32_t>(a) & 0xffff)));
}
inline V First(V a) { return vdupq_laneq_s16(a, 0); }
inline V WithoutFirst(V a) { return vsetq_lane_s16(0, a, 0); }
inline bool IsZero(V a) { return vmaxvq_u16(ToUnsigned(a)) == 0; }
inline bool AnyAtLeast(V a, int32_t limit) {
  return vmaxvq_u16(ToUnsigned(a)) >= limit;
}
inline V Load(const int16_t* p) { return vld1q_s16(p); }
inline void Store(int16_t* p, V a) { std::memcpy(p, &a, sizeof(a)); }
inline V LoadRows(const int16_t* p) { return Load(p); }
inline V LoadBytes(const uint8_t* p) {
  return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p)));
}
inline void StoreBytes(uint8_t* p, V a) { vst1_u8(p, vqmovun_s16(a)); }
inline void StoreRows(uint8_t* p, size_t stride, V a) {
  const uint8x16_t rows = vreinterpretq_u8_s16(a);
  vst1_u8(p, vget_low_u8(rows));
  vst1_u8(p + stride, vget_high_u8(rows));
}
inline void Interleave3(V r, V g, V b, uint8_t* p) {
  vst3_u8(p, {{vqmovun_s16(r), vqmovun_s16(g), vqmovun_s16(b)}});
}

inline uint32_t LowBits(uint64_t word, uint32_t count) {
  return static_cast<uint32_t>(word & ((uint64_t{1} << count) - 1));
}

#include "ops/codecs/jpeg/baseline/baseline_blocks_loops.h"
#include "ops/codecs/jpeg/baseline/baseline_loops.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced_loops.h"

}  // namespace

const BaselineFunctions kBaselineNeon = {
    Decode,  DecodeBoth, {InvertTo1, Reduce<2>, Reduce<4>, Invert},
    IsLarge, Widen,      WidenBetween,
    Between, ToRgb};

}  // namespace liquid

#endif  // defined(__aarch64__)
