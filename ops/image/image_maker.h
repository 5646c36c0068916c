// From a stored image to its place in a batch, by a plan.
#ifndef LIQUID_OPS_IMAGE_IMAGE_MAKER_H_
#define LIQUID_OPS_IMAGE_IMAGE_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/image/finish.h"
#include "ops/image/recipe.h"
#include "ops/image/resample.h"

namespace liquid {

// An image that can be decoded.
class StoredImage {
 public:
  virtual ~StoredImage() = default;
  virtual const ImageInfo& info() const = 0;
  // By how much it is decoded smaller than it is, where `most` would do: 1, 2,
  // 4 or 8, see DecodeDraft of ops/codecs/codec.h.
  virtual uint32_t Draft(uint32_t most) const = 0;
  // Writes the pixels of a window of that draft, in rows that are `row_stride`
  // bytes apart.
  virtual Status Decode(uint32_t draft, const Window& window, uint8_t* out,
                        size_t row_stride) = 0;
  // Where these pixels are, if they need not be decoded; else null.
  virtual const uint8_t* Find(const Window&, size_t* /*row_stride*/) const {
    return nullptr;
  }
};

// Memory that one thread uses for one image after the other. Grows to what the
// largest needs, and is given back when it goes.
class MakerScratch {
 public:
  enum Use {
    kDecoded,
    kTurned,
    kRow,
    kFinish,
    kCanvas,
    kOther,
    kErased,
    kUses
  };

  // At least so many bytes, of any content, aligned to 16. Error: Unavailable.
  Status Get(Use use, size_t bytes, uint8_t** data);
  // That all uses have.
  size_t bytes() const;

  Resampler resampler;
  ResampleScratch resample;

 private:
  struct Part {
    std::unique_ptr<uint8_t[]> data;
    size_t size = 0;
  };
  Part parts_[kUses];
};

// Makes images by a recipe. Immutable, and so thread-safe.
class ImageMaker {
 public:
  // `mask`: values are no quantities: resized by the nearest, and not coloured.
  ImageMaker(const Recipe& recipe, Finisher finisher, bool mask)
      : recipe_(recipe), finisher_(std::move(finisher)), mask_(mask) {}

  const Finisher& finisher() const { return finisher_; }

  // Decodes what `plan` needs of `image`, which has the channels and depth of
  // the finisher, and writes finisher().ImageBytes(plan.part) bytes to `out`.
  // Errors: those of Decode; InvalidArgument for a mean image of another size;
  // Unavailable.
  Status Make(const SamplePlan& plan, StoredImage* image, MakerScratch* scratch,
              uint8_t* out) const;

  // By how much Make has an image decoded smaller than it is: 1, 2, 4 or 8.
  uint32_t DraftOf(const SamplePlan& plan, const StoredImage& image) const;
  // A part of the stored image, or of its draft, that holds all that Make
  // decodes of it; empty where that is nothing.
  Window NeededOf(const SamplePlan& plan, const ImageInfo& info,
                  uint32_t draft) const;

 private:
  template <typename T>
  class Rows;
  template <typename T>
  Status MakeOf(const SamplePlan& plan, StoredImage* image,
                MakerScratch* scratch, uint8_t* out) const;
  // Decodes `wanted` of the turned image, or of its draft; its rows are
  // `*stride` bytes apart.
  Status DecodeTurned(uint8_t orientation, uint32_t draft, const Window& wanted,
                      StoredImage* image, MakerScratch* scratch,
                      const uint8_t** pixels, size_t* stride) const;
  // Decodes into the batch itself.
  Status MakeDirectly(const SamplePlan& plan, StoredImage* image,
                      MakerScratch* scratch, uint8_t* out) const;
  // Steps that need all of the result's pixels at once.
  template <typename T>
  Status ChangeCanvas(const SamplePlan& plan, MakerScratch* scratch, T* canvas,
                      uint8_t* out) const;
  // Of an image that is finished.
  Status Erase(const SamplePlan& plan, MakerScratch* scratch,
               uint8_t* out) const;

  // Whether the canvas is needed.
  bool Changes(const SamplePlan& plan) const {
    return plan.rotated ||
           (!mask_ && (plan.jittered || plan.gray || !plan.policy.empty() ||
                       !plan.last.empty()));
  }

  const Recipe recipe_;
  const Finisher finisher_;
  const bool mask_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_IMAGE_MAKER_H_
