// The reference: what each function gives, in plain steps.
//
// Of coefficients that no encoder writes, libjpeg-turbo's ways for different
// processors make different samples. This takes its way for x86-64: sums of two
// are of 16 bits and wrap, and what is narrowed to 16 or 8 bits saturates.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_reduced.h"

#define LIQUID_BASELINE_TARGET

namespace liquid {
namespace {

inline uint32_t LowBits(uint64_t word, uint32_t count) {
  return static_cast<uint32_t>(word & ((uint64_t{1} << count) - 1));
}

#include "ops/codecs/jpeg/baseline/baseline_blocks_loops.h"

int32_t Wrap(int32_t value) { return static_cast<int16_t>(value); }

int32_t Narrow(uint32_t value, int shift) {
  const int32_t rounded =
      static_cast<int32_t>(value + (uint32_t{1} << (shift - 1))) >> shift;
  return std::clamp(rounded, -32768, 32767);
}

// a * b, for sums that may wrap.
uint32_t Times(int32_t a, int32_t b) { return static_cast<uint32_t>(a * b); }

// One dimension: 8 of `in`, each `step` apart, to 8 of `out`.
void Invert8(const int32_t* in, size_t step, int shift, int32_t* out) {
  const auto at = [in, step](size_t k) { return in[k * step]; };
  const uint32_t even2 = Times(at(2), kFix0_541196100) +
                         Times(at(6), kFix0_541196100 - kFix1_847759065);
  const uint32_t even3 = Times(at(2), kFix0_541196100 + kFix0_765366865) +
                         Times(at(6), kFix0_541196100);
  const uint32_t even0 = static_cast<uint32_t>(Wrap(at(0) + at(4))) << kDctBits;
  const uint32_t even1 = static_cast<uint32_t>(Wrap(at(0) - at(4))) << kDctBits;
  const uint32_t even[4] = {even0 + even3, even1 + even2, even1 - even2,
                            even0 - even3};
  const int32_t sum3 = Wrap(at(3) + at(7)), sum4 = Wrap(at(1) + at(5));
  const uint32_t z3 = Times(sum3, kFix1_175875602 - kFix1_961570560) +
                      Times(sum4, kFix1_175875602);
  const uint32_t z4 = Times(sum3, kFix1_175875602) +
                      Times(sum4, kFix1_175875602 - kFix0_390180644);
  const uint32_t odd[4] = {
      Times(at(7), -kFix0_899976223) +
          Times(at(1), kFix1_501321110 - kFix0_899976223) + z4,
      Times(at(5), -kFix2_562915447) +
          Times(at(3), kFix3_072711026 - kFix2_562915447) + z3,
      Times(at(5), kFix2_053119869 - kFix2_562915447) +
          Times(at(3), -kFix2_562915447) + z4,
      Times(at(7), kFix0_298631336 - kFix0_899976223) +
          Times(at(1), -kFix0_899976223) + z3,
  };
  for (size_t k = 0; k < 4; ++k) {
    out[k * step] = Narrow(even[k] + odd[k], shift);
    out[(7 - k) * step] = Narrow(even[k] - odd[k], shift);
  }
}

int32_t Dequantized(int16_t coefficient, uint16_t quantization) {
  return Wrap(static_cast<int32_t>(
      Times(coefficient, static_cast<int16_t>(quantization))));
}

bool IsLarge(const int16_t* blocks, const uint16_t* quantization,
             size_t count) {
  bool large = false;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) {
      large |= std::abs(Dequantized(blocks[64 * i + k], quantization[k])) >=
               kLargeCoefficient;
    }
  }
  return large;
}

void InvertBlock(const int16_t* block, const uint16_t* quantization,
                 uint8_t* out, size_t stride) {
  int32_t values[64], columns[64], rows[64];
  for (size_t k = 0; k < 64; ++k) {
    values[k] = Dequantized(block[k], quantization[k]);
  }
  for (size_t x = 0; x < 8; ++x) {
    Invert8(values + x, 8, kDctBits - kFirstPassBits, columns + x);
  }
  for (size_t y = 0; y < 8; ++y) {
    Invert8(columns + 8 * y, 1, kDctBits + kFirstPassBits + 3, rows + 8 * y);
    for (size_t x = 0; x < 8; ++x) {
      out[y * stride + x] =
          static_cast<uint8_t>(std::clamp(rows[8 * y + x], -128, 127) + 128);
    }
  }
}

bool Invert(const int16_t* blocks, const uint16_t* quantization, size_t count,
            uint8_t* out, size_t stride) {
  for (size_t i = 0; i < count; ++i) {
    InvertBlock(blocks + 64 * i, quantization, out + 8 * i, stride);
  }
  return IsLarge(blocks, quantization, count);
}

// Signed numbers: what comes before the first is read too.
void Widen(const uint8_t* in, size_t count, uint8_t* out) {
  for (ptrdiff_t k = 0; k < static_cast<ptrdiff_t>(count); ++k) {
    const uint32_t three = 3u * in[k];
    out[2 * k] = static_cast<uint8_t>((three + in[k - 1] + 1) >> 2);
    out[2 * k + 1] = static_cast<uint8_t>((three + in[k + 1] + 2) >> 2);
  }
}

void WidenBetween(const uint8_t* near, const uint8_t* far, size_t count,
                  uint8_t* out) {
  const auto sum = [near, far](ptrdiff_t k) { return 3u * near[k] + far[k]; };
  for (ptrdiff_t k = 0; k < static_cast<ptrdiff_t>(count); ++k) {
    const uint32_t three = 3 * sum(k);
    out[2 * k] = static_cast<uint8_t>((three + sum(k - 1) + 8) >> 4);
    out[2 * k + 1] = static_cast<uint8_t>((three + sum(k + 1) + 7) >> 4);
  }
}

void Between(const uint8_t* near, const uint8_t* far, uint32_t bias,
             size_t count, uint8_t* out) {
  for (size_t k = 0; k < count; ++k) {
    out[k] = static_cast<uint8_t>((3u * near[k] + far[k] + bias) >> 2);
  }
}

uint8_t Clamp(int32_t value) {
  return static_cast<uint8_t>(std::clamp(value, 0, 255));
}

void ToRgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t count,
           uint8_t* out) {
  constexpr int32_t kHalf = 1 << 15;
  for (size_t k = 0; k < count; ++k) {
    const int32_t blue = cb[k] - 128, red = cr[k] - 128;
    out[3 * k] = Clamp(y[k] + ((kRedOfCr * red + kHalf) >> 16));
    out[3 * k + 1] =
        Clamp(y[k] + ((-kGreenOfCb * blue - kGreenOfCr * red + kHalf) >> 16));
    out[3 * k + 2] = Clamp(y[k] + ((kBlueOfCb * blue + kHalf) >> 16));
  }
}

}  // namespace

const BaselineFunctions kBaselineScalar = {
    Decode,  DecodeBoth, {InvertTo1, InvertTo2, InvertTo4, Invert},
    IsLarge, Widen,      WidenBetween,
    Between, ToRgb};

}  // namespace liquid
