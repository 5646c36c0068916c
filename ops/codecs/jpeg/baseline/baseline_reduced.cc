#include "ops/codecs/jpeg/baseline/baseline_reduced.h"

#include <algorithm>
#include <cstdlib>

#include "ops/codecs/jpeg/baseline/baseline_functions.h"

namespace liquid {
namespace {

int32_t Dequantized(const int16_t* block, const uint16_t* quantization,
                    size_t k) {
  return static_cast<int16_t>(static_cast<uint32_t>(block[k]) *
                              quantization[k]);
}

bool IsLarge(const int16_t* block, const uint16_t* quantization) {
  for (size_t k = 0; k < 8; ++k) {
    if (std::abs(Dequantized(block, quantization, k)) >= kLargeCoefficient) {
      return true;
    }
  }
  return false;
}

// One dimension: 8 of `in`, each `in_step` apart, to 4 of `out`. The fifth is
// not looked at.
void Invert8To4(const int32_t* in, size_t in_step, int shift, int32_t* out,
                size_t out_step) {
  const auto at = [in, in_step](size_t k) { return in[k * in_step]; };
  const uint32_t dc = JpegTimes(at(0), 1 << (kDctBits + 1));
  const uint32_t even =
      JpegTimes(at(2), kFix1_847759065) - JpegTimes(at(6), kFix0_765366865);
  const uint32_t inner =
      JpegTimes(at(1), kFix1_061594337) - JpegTimes(at(3), kFix2_172734803) +
      JpegTimes(at(5), kFix1_451774981) - JpegTimes(at(7), kFix0_211164243);
  const uint32_t outer =
      JpegTimes(at(1), kFix2_562915447) + JpegTimes(at(3), kFix0_899976223) -
      JpegTimes(at(5), kFix0_601344887) - JpegTimes(at(7), kFix0_509795579);
  out[0] = JpegNarrow(dc + even + outer, shift + 1);
  out[out_step] = JpegNarrow(dc - even + inner, shift + 1);
  out[2 * out_step] = JpegNarrow(dc - even - inner, shift + 1);
  out[3 * out_step] = JpegNarrow(dc + even - outer, shift + 1);
}

// The same to 2 of `out`. Of the even ones, only the first is looked at.
void Invert8To2(const int32_t* in, size_t in_step, int shift, int32_t* out,
                size_t out_step) {
  const auto at = [in, in_step](size_t k) { return in[k * in_step]; };
  const uint32_t dc = JpegTimes(at(0), 1 << (kDctBits + 2));
  const uint32_t odd =
      JpegTimes(at(1), kFix3_624509785) - JpegTimes(at(3), kFix1_272758580) +
      JpegTimes(at(5), kFix0_850430095) - JpegTimes(at(7), kFix0_720959822);
  out[0] = JpegNarrow(dc + odd, shift + 2);
  out[out_step] = JpegNarrow(dc - odd, shift + 2);
}

template <size_t kSide, decltype(&Invert8To4) kInvert>
bool InvertTo(const int16_t* blocks, const uint16_t* quantization, size_t count,
              uint8_t* out, size_t stride) {
  bool large = false;
  for (size_t i = 0; i < count; ++i, blocks += 64, out += kSide) {
    int32_t values[64], columns[8 * kSide], row[kSide];
    for (size_t k = 0; k < 64; ++k) {
      values[k] = Dequantized(blocks, quantization, k);
    }
    for (size_t x = 0; x < 8; ++x) {
      kInvert(values + x, 8, kDctBits - kFirstPassBits, columns + x, 8);
    }
    // The library narrows them too, but for those of one column.
    for (size_t k = 0; kSide == 2 && k < 8 * kSide; ++k) {
      large |= std::abs(columns[k]) >= kLargeNarrowed;
    }
    for (size_t y = 0; y < kSide; ++y) {
      kInvert(columns + 8 * y, 1, kDctBits + kFirstPassBits + 3, row, 1);
      for (size_t x = 0; x < kSide; ++x)
        out[y * stride + x] = JpegSample(row[x]);
    }
    large |= IsLarge(blocks, quantization);
  }
  return large;
}

}  // namespace

bool InvertTo1(const int16_t* blocks, const uint16_t* quantization,
               size_t count, uint8_t* out, size_t /*stride*/) {
  bool large = false;
  for (size_t i = 0; i < count; ++i) {
    const int32_t value = blocks[64 * i] * int32_t{quantization[0]};
    large |= std::abs(value) >= kLargeDc;
    out[i] = JpegSample((value + 4) >> 3);
  }
  return large;
}

bool InvertTo2(const int16_t* blocks, const uint16_t* quantization,
               size_t count, uint8_t* out, size_t stride) {
  return InvertTo<2, Invert8To2>(blocks, quantization, count, out, stride);
}

bool InvertTo4(const int16_t* blocks, const uint16_t* quantization,
               size_t count, uint8_t* out, size_t stride) {
  return InvertTo<4, Invert8To4>(blocks, quantization, count, out, stride);
}

}  // namespace liquid
