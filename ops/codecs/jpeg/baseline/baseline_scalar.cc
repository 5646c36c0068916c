// The reference: what each function gives, in plain steps.
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

bool IsLarge(const int16_t* blocks, const uint16_t* quantization,
             size_t count) {
  bool large = false;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 8; ++k) {
      large |= std::abs(JpegDequantized(blocks[64 * i + k], quantization[k])) >=
               kLargeCoefficient;
    }
  }
  return large;
}

void InvertBlock(const int16_t* block, const uint16_t* quantization,
                 uint8_t* out, size_t stride) {
  int32_t values[64], columns[64], rows[64];
  for (size_t k = 0; k < 64; ++k) {
    values[k] = JpegDequantized(block[k], quantization[k]);
  }
  for (size_t x = 0; x < 8; ++x) {
    JpegInvert8(values + x, 8, kDctBits - kFirstPassBits, columns + x);
  }
  for (size_t y = 0; y < 8; ++y) {
    JpegInvert8(columns + 8 * y, 1, kDctBits + kFirstPassBits + 3,
                rows + 8 * y);
    for (size_t x = 0; x < 8; ++x) {
      out[y * stride + x] = JpegSample(rows[8 * y + x]);
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
    out[2 * k] = static_cast<uint8_t>(JpegBeside(in[k], in[k - 1], false));
    out[2 * k + 1] = static_cast<uint8_t>(JpegBeside(in[k], in[k + 1], true));
  }
}

void WidenBetween(const uint8_t* near, const uint8_t* far, size_t count,
                  uint8_t* out) {
  const auto sum = [near, far](ptrdiff_t k) {
    return JpegWeighted(near[k], far[k]);
  };
  for (ptrdiff_t k = 0; k < static_cast<ptrdiff_t>(count); ++k) {
    out[2 * k] = static_cast<uint8_t>(JpegBetween(sum(k), sum(k - 1), false));
    out[2 * k + 1] =
        static_cast<uint8_t>(JpegBetween(sum(k), sum(k + 1), true));
  }
}

void Between(const uint8_t* near, const uint8_t* far, uint32_t bias,
             size_t count, uint8_t* out) {
  for (size_t k = 0; k < count; ++k) {
    out[k] = static_cast<uint8_t>(JpegBeside(near[k], far[k], bias == 2));
  }
}

void ToRgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t count,
           uint8_t* out) {
  for (size_t k = 0; k < count; ++k) {
    const JpegRgb pixel = JpegToRgb(y[k], cb[k], cr[k]);
    out[3 * k] = pixel.red;
    out[3 * k + 1] = pixel.green;
    out[3 * k + 2] = pixel.blue;
  }
}

}  // namespace

const BaselineFunctions kBaselineScalar = {
    Decode,  DecodeBoth, {InvertTo1, InvertTo2, InvertTo4, Invert},
    IsLarge, Widen,      WidenBetween,
    Between, ToRgb};

}  // namespace liquid
