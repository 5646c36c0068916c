// One decode of an image that several results are made of.
#ifndef LIQUID_OPS_IMAGE_SHARED_IMAGE_H_
#define LIQUID_OPS_IMAGE_SHARED_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/image/image_maker.h"
#include "ops/image/recipe.h"

namespace liquid {

// The rectangle that bounds all that some results need of an image, decoded. It
// lies in the scratch that Load was given, from which each result may be made,
// until another image is made by that.
class SharedImage : public StoredImage {
 public:
  // A result that Load is to be enough for.
  struct View {
    const ImageMaker* maker;
    const SamplePlan* plan;
  };

  // `image` must outlive it.
  explicit SharedImage(StoredImage* image) : image_(image) {}

  // Decodes the image once: where all views may be made of a draft, that which
  // the most demanding one needs. Errors: those of Decode; DataLoss where the
  // rectangle has more than `max_pixels`; Unavailable.
  Status Load(const std::vector<View>& views, uint64_t max_pixels,
              MakerScratch* scratch);

  const ImageInfo& info() const override { return image_->info(); }
  uint32_t Draft(uint32_t) const override { return draft_; }
  // Copies. Error: Internal where the window is not in the rectangle.
  Status Decode(uint32_t draft, const Window& window, uint8_t* out,
                size_t row_stride) override;
  const uint8_t* Find(const Window& window, size_t* row_stride) const override;

 private:
  StoredImage* const image_;
  uint32_t draft_ = 1;
  Window window_;  // of the stored image, or its draft
  uint8_t* pixels_ = nullptr;
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_SHARED_IMAGE_H_
