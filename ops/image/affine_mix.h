// Pixels of three channels mixed with AVX2, one at a time.
#ifndef LIQUID_OPS_IMAGE_AFFINE_MIX_H_
#define LIQUID_OPS_IMAGE_AFFINE_MIX_H_

#include <cstddef>
#include <cstdint>

#include "ops/image/affine_source.h"

namespace liquid {

#if defined(__x86_64__)

// Pixels `begin` to `end` (excluded) of the row of the result that starts at
// `out`, from 2 or 4 neighbours in each direction. The source must hold all of
// them, and in each row one more behind them.
void BilinearInnerAvx2(const AffineSource<uint8_t, 3>& source,
                       const RowPlaces& places, size_t begin, size_t end,
                       uint8_t* out);
void BicubicInnerAvx2(const AffineSource<uint8_t, 3>& source,
                      const RowPlaces& places, size_t begin, size_t end,
                      uint8_t* out);

#endif

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_AFFINE_MIX_H_
