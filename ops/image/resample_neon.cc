// With NEON: products of 16 bits, one tap at a time, of each half of a weight.
// The halves' sums are joined at the end, so nothing is rounded but there.
#include "ops/image/resample_kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "ops/image/alpha.h"
#include "ops/image/channels.h"
#include "ops/image/resample_lanes.h"
#include "ops/image/resample_lerp.h"

namespace liquid {
namespace {

// The sums of a weight's lower and upper halves.
struct Sums {
  int32x4_t low, high;
};

inline Sums Half() {
  return {vdupq_n_s32(1 << (kFixedBits - 1)), vdupq_n_s32(0)};
}

// Adds a pair of taps. `weights` is low, low, high, high.
inline void Add(int16x4_t first, int16x4_t second, int16x4_t weights,
                Sums* sums) {
  sums->low = vmlal_lane_s16(sums->low, first, weights, 0);
  sums->low = vmlal_lane_s16(sums->low, second, weights, 1);
  sums->high = vmlal_lane_s16(sums->high, first, weights, 2);
  sums->high = vmlal_lane_s16(sums->high, second, weights, 3);
}

inline int16x4_t Join(const Sums& sums) {
  return vqmovn_s32(vshrq_n_s32(
      vaddq_s32(sums.low, vshlq_n_s32(sums.high, kFixedLowBits)), kFixedBits));
}

// Eight values cut to 8 bits.
inline uint8x8_t Cut(int16x4_t low, int16x4_t high) {
  return vqmovun_s16(vcombine_s16(low, high));
}

// Two pixels of each row of a lane.
template <size_t kChannels>
inline uint8x8_t Load(const uint8_t* const* rows, size_t at) {
  if constexpr (kChannels >= 3) {
    return vld1_u8(rows[0] + at);
  } else {
    constexpr size_t kBytes = 2 * kChannels;
    uint8_t two[8];
    for (size_t i = 0; i < kLaneRows<kChannels>; ++i) {
      std::memcpy(two + kBytes * i, rows[i] + at, kBytes);
    }
    return vld1_u8(two);
  }
}

// The four values of both.
template <size_t kChannels>
constexpr LanePattern PairPattern() {
  LanePattern pattern = {};
  for (size_t i = 0; i < 8; ++i) {
    pattern.bytes[i] = LanePlace<kChannels>(2, i / 4, i % 4);
  }
  return pattern;
}

template <size_t kChannels>
inline void Store(uint8x16_t pixels, uint8_t* const* rows, size_t at) {
  if constexpr (kChannels >= 3) {
    vst1q_u8(rows[0] + at, pixels);
  } else {
    constexpr size_t kBytes = 4 * kChannels;
    uint8_t all[16];
    vst1q_u8(all, pixels);
    for (size_t i = 0; i < kLaneRows<kChannels>; ++i) {
      std::memcpy(rows[i] + at, all + kBytes * i, kBytes);
    }
  }
}

template <size_t kChannels>
void ColumnsOf(const uint8_t* const* rows, const FilterTaps& taps,
               uint8_t* const* out) {
  static constexpr LanePattern kPair = PairPattern<kChannels>();
  static constexpr LanePattern kStore = LaneStorePattern<kChannels>();
  const uint8x8_t pair = vld1_u8(kPair.bytes);
  const uint8x16_t store = vld1q_u8(kStore.bytes);
  const size_t width = taps.first.size();
  const size_t pairs = taps.pairs();
  for (size_t x = 0; x < width; x += 4) {
    int16x4_t pixels[4];
    // Past the row's end the last pixel is made again.
    for (size_t i = 0; i < 4; ++i) {
      const size_t pixel = std::min(x + i, width - 1);
      size_t at = taps.first[pixel] * kChannels;
      const int16_t* weights = taps.FixedOf(pixel);
      Sums sums = Half();
      for (size_t p = 0; p < pairs; ++p) {
        const int16x8_t values = vreinterpretq_s16_u16(
            vmovl_u8(vtbl1_u8(Load<kChannels>(rows, at), pair)));
        Add(vget_low_s16(values), vget_high_s16(values), vld1_s16(weights),
            &sums);
        at += 2 * kChannels;
        weights += 4;
      }
      pixels[i] = Join(sums);
    }
    Store<kChannels>(vqtbl1q_u8(vcombine_u8(Cut(pixels[0], pixels[1]),
                                            Cut(pixels[2], pixels[3])),
                                store),
                     out, x * kChannels);
  }
}

void Columns(const uint8_t* const* rows, size_t count, size_t channels,
             const FilterTaps& taps, uint8_t* const* out) {
  ForChannels(channels, [&](auto n) {
    constexpr size_t kRows = kLaneRows<n>;
    for (size_t i = 0; i < count; i += kRows) {
      // Where rows are missing, the last one is made more than once.
      const uint8_t* from[kRows];
      uint8_t* to[kRows];
      for (size_t k = 0; k < kRows; ++k) {
        from[k] = rows[std::min(i + k, count - 1)];
        to[k] = out[std::min(i + k, count - 1)];
      }
      ColumnsOf<n>(from, taps, to);
    }
  });
}

// 16 values from `at` on.
inline void Rows16(const uint8_t* const* rows, size_t pairs,
                   const int16_t* fixed, size_t at, uint8_t* out) {
  Sums sums[4] = {Half(), Half(), Half(), Half()};
  for (size_t p = 0; p < pairs; ++p) {
    const int16x4_t weights = vld1_s16(fixed + 4 * p);
    const uint8x16_t a = vld1q_u8(rows[2 * p] + at);
    const uint8x16_t b = vld1q_u8(rows[2 * p + 1] + at);
    const int16x8_t a_low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a)));
    const int16x8_t b_low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(b)));
    const int16x8_t a_high = vreinterpretq_s16_u16(vmovl_high_u8(a));
    const int16x8_t b_high = vreinterpretq_s16_u16(vmovl_high_u8(b));
    Add(vget_low_s16(a_low), vget_low_s16(b_low), weights, &sums[0]);
    Add(vget_high_s16(a_low), vget_high_s16(b_low), weights, &sums[1]);
    Add(vget_low_s16(a_high), vget_low_s16(b_high), weights, &sums[2]);
    Add(vget_high_s16(a_high), vget_high_s16(b_high), weights, &sums[3]);
  }
  vst1q_u8(out + at, vcombine_u8(Cut(Join(sums[0]), Join(sums[1])),
                                 Cut(Join(sums[2]), Join(sums[3]))));
}

void Rows(const uint8_t* const* rows, size_t pairs, const int16_t* fixed,
          size_t size, uint8_t* out) {
  if (size < 16) return ScalarRows(rows, pairs, fixed, 0, size, out);
  for (size_t at = 0; at + 16 <= size; at += 16) {
    Rows16(rows, pairs, fixed, at, out);
  }
  // What is left, and some values once more.
  if (size % 16 != 0) Rows16(rows, pairs, fixed, size - 16, out);
}

// A compiler finds the lanes.
void ExactRows(const double* const* rows, size_t count, const double* weights,
               size_t size, double* out) {
  ScalarExactRows(rows, count, weights, 0, size, out);
}

}  // namespace

const ResampleKernels kNeonResample = {
    Columns, Rows, ExactRows, Premultiply, Unpremultiply, LerpColumns<uint8_t>};

}  // namespace liquid

#endif  // defined(__aarch64__)
