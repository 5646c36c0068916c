// A rectangle of a finished image that is erased by chance (Zhong et al.,
// "Random erasing data augmentation", AAAI 2020).
#ifndef LIQUID_OPS_IMAGE_ERASE_H_
#define LIQUID_OPS_IMAGE_ERASE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/rng.h"
#include "ops/image/crop.h"

namespace liquid {

struct ErasingStep {
  RandomSize size;            // its aspect is height over width
  bool noise = false;         // in place of `values`
  std::vector<float> values;  // one, or one for each channel
};

// Of one image.
struct Erasure {
  Window window;       // of what comes out; without rows or columns: nothing
  PhiloxKey key = {};  // of the noise

  bool any() const { return window.height > 0 && window.width > 0; }
};

// The rectangle of a draw, as torchvision's RandomErasing takes it: one that is
// not smaller than the image in both directions is drawn again, up to ten
// times; then nothing is erased. Pure, by words of RngPurpose::kErasing.
Erasure DrawErasure(const ErasingStep& step, uint64_t seed, int64_t epoch,
                    uint64_t draw, uint32_t height, uint32_t width);

// What row `row` of the rectangle becomes: the values of its pixels, channels
// last.
void FillErased(const ErasingStep& step, const Erasure& erasure, uint32_t row,
                size_t channels, float* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_ERASE_H_
