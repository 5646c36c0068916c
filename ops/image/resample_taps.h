// Which pixels of the input make a pixel of the result, along one axis, and by
// how much. Both axes of every resize are made of these.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_TAPS_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_TAPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace liquid {

// One axis of a resize from `in` to `out` pixels, of which `count` from `begin`
// on are computed. Requires 1 <= in, out < 2^24, count >= 1 and
// begin + count <= out.
struct ResampleAxis {
  uint32_t in = 0;
  uint32_t out = 0;
  uint32_t begin = 0;
  uint32_t count = 0;
};

// Pixels of the input, [begin, end).
struct ResampleSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// Filters that get wider as the image gets smaller. Every output pixel has as
// many taps: those that the filter does not reach weigh nothing.
struct FilterTaps {
  uint32_t taps = 0;
  // By output pixel: its first tap, counted from the first of the span.
  std::vector<uint32_t> first;
  // For 8 bits: weights in units of 2^-22, `taps` rounded up to even, each
  // split into 2^15 * high + low, 0 <= low < 2^15, so that both halves are
  // operands of 16-bit products. Pair by pair: low, low, high, high.
  std::vector<int16_t> fixed;
  // For 16 bits: `taps` weights for each output pixel.
  std::vector<double> exact;

  uint32_t pairs() const { return (taps + 1) / 2; }
  const int16_t* FixedOf(size_t i) const {
    return fixed.data() + i * 4 * pairs();
  }
  const double* ExactOf(size_t i) const { return exact.data() + i * taps; }
};

// Bits of the fraction of a fixed weight, and of its lower half.
inline constexpr int kFixedBits = 22;
inline constexpr int kFixedLowBits = 15;

enum class ResampleFilter { kTriangle, kCubic };

// Fills `taps->fixed` or, with `exact`, `taps->exact`. The weights are those of
// Pillow, to the bit. Time: O(count * taps).
ResampleSpan MakeFilterTaps(const ResampleAxis& axis, ResampleFilter filter,
                            bool exact, FilterTaps* taps);

// Between the centres of two pixels, counted from the first of the span.
struct LerpTap {
  uint32_t lower, upper;
  float part;  // 0: at the lower one
};

// The places of tf.image.resize without antialias.
ResampleSpan MakeLerpTaps(const ResampleAxis& axis, std::vector<LerpTap>* taps);

// One pixel each, counted from the first of the span: that of Pillow, whose
// places are running sums, or that of tf.image.resize. Pillow's takes
// O(begin + count).
ResampleSpan MakeNearestTaps(const ResampleAxis& axis, bool running_sum,
                             std::vector<uint32_t>* taps);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_TAPS_H_
