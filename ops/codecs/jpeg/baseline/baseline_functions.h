// From a scan to pixels: what each set of instructions has of its own.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_FUNCTIONS_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/jpeg/baseline/baseline_arithmetic.h"
#include "ops/codecs/jpeg/baseline/baseline_blocks.h"

namespace liquid {

// Functions that read or write a row of samples may do so for up to kRowRoom
// bytes past what they were asked for.
inline constexpr size_t kRowRoom = 64;

struct BaselineFunctions {
  // Decodes a run to its end. False for what libjpeg-turbo would warn of, and
  // for what no encoder writes.
  bool (*decode)(McuRun* run);
  // Decodes two runs in turn, up to the end of one of them. Takes less time
  // than one after the other.
  bool (*decode_both)(McuRun* first, McuRun* second);
  // The inverse DCT of `count` blocks of 64 coefficients, one behind the other,
  // into samples side by side, rows `stride` apart: 1, 2, 4 or 8 of a block in
  // either direction. Returns whether any coefficient of a block's first row is
  // so large that libjpeg-turbo's own ways differ; then samples mean nothing.
  bool (*invert[4])(const int16_t* blocks, const uint16_t* quantization,
                    size_t count, uint8_t* out, size_t stride);
  // What `invert` returns for 8 samples a side, without samples.
  bool (*is_large)(const int16_t* blocks, const uint16_t* quantization,
                   size_t count);
  // Twice as many samples. `in` has a sample more at either side.
  void (*widen)(const uint8_t* in, size_t count, uint8_t* out);
  // The same of a row between two: `near` counts three times `far`.
  void (*widen_between)(const uint8_t* near, const uint8_t* far, size_t count,
                        uint8_t* out);
  // As many samples between two rows. `bias` is 1 above `near` and 2 below.
  void (*between)(const uint8_t* near, const uint8_t* far, uint32_t bias,
                  size_t count, uint8_t* out);
  // RGB, 3 * count bytes and not one more.
  void (*to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr,
                 size_t count, uint8_t* out);
};

extern const BaselineFunctions kBaselineScalar;
#if defined(__x86_64__)
extern const BaselineFunctions kBaselineAvx2;
extern const BaselineFunctions kBaselineAvx512;
#elif defined(__aarch64__)
extern const BaselineFunctions kBaselineNeon;
#endif

// As kLargeCoefficient, of a DC, where a block gives one sample.
inline constexpr int32_t kLargeDc = 4088;
// And of what is between the dimensions, where it gives 2 x 2.
inline constexpr int32_t kLargeNarrowed = 32767;

// More constants of the slow integer DCT, where a block gives fewer samples.
inline constexpr int32_t kFix0_211164243 = 1730;
inline constexpr int32_t kFix0_509795579 = 4176;
inline constexpr int32_t kFix0_601344887 = 4926;
inline constexpr int32_t kFix0_720959822 = 5906;
inline constexpr int32_t kFix0_850430095 = 6967;
inline constexpr int32_t kFix1_061594337 = 8697;
inline constexpr int32_t kFix1_272758580 = 10426;
inline constexpr int32_t kFix1_451774981 = 11893;
inline constexpr int32_t kFix2_172734803 = 17799;
inline constexpr int32_t kFix3_624509785 = 29692;

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_FUNCTIONS_H_
