// The loops of a resize that differ between processors.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_KERNELS_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ops/image/resample_taps.h"

namespace liquid {

// Rows that `columns` takes at once, at most.
inline constexpr size_t kColumnRows = 8;

// Bytes from a row's begin on that `columns` may read: taps in fours, by
// vectors of 16 bytes. What lies past the last tap has no effect on the result.
inline size_t ColumnReach(const FilterTaps& taps, size_t channels) {
  return (taps.first.back() + (size_t{taps.pairs()} + 1) / 2 * 4) * channels +
         16;
}

// Bytes past a row's end that `columns` may write.
inline constexpr size_t kColumnSlack = 16;

// All give the same values on every processor.
struct ResampleKernels {
  // 8 bits, along rows: `count` rows, 1 to kColumnRows, become as many rows of
  // taps.first.size() pixels.
  void (*columns)(const uint8_t* const* rows, size_t count, size_t channels,
                  const FilterTaps& taps, uint8_t* const* out);
  // 8 bits, across rows: 2 * `pairs` rows of `size` values become one. `fixed`
  // is as in FilterTaps. Reads and writes nothing past the values.
  void (*rows)(const uint8_t* const* rows, size_t pairs, const int16_t* fixed,
               size_t size, uint8_t* out);
  // 16 bits, across rows: the sum of `count` rows of `size` values, weighted,
  // from the first to the last.
  void (*exact_rows)(const double* const* rows, size_t count,
                     const double* weights, size_t size, double* out);
  // 8 bits, 2 or 4 channels: as in alpha.h.
  void (*premultiply)(const uint8_t* in, size_t pixels, size_t channels,
                      uint8_t* out);
  void (*unpremultiply)(uint8_t* row, size_t pixels, size_t channels);
  // 8 bits, along a row, as LerpColumns. Reads and writes nothing past the
  // pixel of the last tap, which is the row's last.
  void (*lerp_columns)(const uint8_t* row, size_t channels, const LerpTap* taps,
                       size_t count, float* out);
};

extern const ResampleKernels kScalarResample;
#if defined(__x86_64__)
extern const ResampleKernels kAvx2Resample;
#elif defined(__aarch64__)
extern const ResampleKernels kNeonResample;
#endif

// For what is left over beside vectors: values [begin, size).
void ScalarRows(const uint8_t* const* rows, size_t pairs, const int16_t* fixed,
                size_t begin, size_t size, uint8_t* out);
void ScalarExactRows(const double* const* rows, size_t count,
                     const double* weights, size_t begin, size_t size,
                     double* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_KERNELS_H_
