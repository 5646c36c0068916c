// Recipes for a device: what is decoded of each image, where it lies in scratch
// memory, and the tables of its resize.
#ifndef LIQUID_OPS_IMAGE_DEVICE_IMAGE_PLAN_H_
#define LIQUID_OPS_IMAGE_DEVICE_IMAGE_PLAN_H_

#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/image/device/image_device.h"
#include "ops/image/recipe.h"

namespace liquid {

// A stored image, and what is to become of a view of it. The plan must outlast
// the call.
struct ImageDeviceInput {
  const SamplePlan* plan;
  uint32_t height, width;  // as stored
};

// Images that are in scratch memory at once, each in a place of `height` x
// `width` pixels, one after the other.
struct ImageDeviceChunk {
  uint32_t first, count;  // of the samples
  uint32_t height, width;
  // Of the operations; each round has one for each image.
  uint32_t operations = 0, rounds = 0;
};

// Of the scratch memory, unless a single image needs more.
constexpr uint64_t kImageScratchBytes = 32 << 20;

// Of a view.
struct ImageDeviceBatch {
  uint32_t height = 0, width = 0;  // of the result
  std::vector<Window> windows;     // of each stored image, that is decoded
  std::vector<ImageDeviceSample> samples;
  std::vector<ImageDeviceChunk> chunks;
  std::vector<uint32_t> tables;
  uint64_t scratch_bytes = 0;
  // Where in the scratch sums for means begin, a number for each tile of a
  // chunk; 0 where no image needs its mean.
  uint64_t luma = 0;

  // Where some image needs canvases, the samples are those from what is decoded
  // to a canvas of the stored type, with numbers of a chunk's images; then come
  // the operations; and these samples, which are read where canvases begin,
  // lead to the batch.
  std::vector<ImageDeviceOperation> operations;
  std::vector<ImageDeviceSample> finished;
  // Of the scratch: where canvases begin, and what is found in them,
  // kImageFoundBytes for each image of a chunk. 0 where there are none.
  uint64_t canvases = 0, found = 0;

  std::vector<ImageDeviceErasure> erasures;  // after all that
  // After those of all views, of all images of the array: of the first view
  // alone, and none where no image is mixed with another one. The kernels
  // before then make floats.
  std::vector<ImageDeviceBlend> blends;
};

// Whether a device has to do more with the image than decode its window.
bool NeedsDeviceRecipe(const SamplePlan& plan);

// Plans a batch of at least one image, whose samples have `bits`, for views by
// these recipes. Of an image, one input for each of them follows the other; it
// is decoded once, for all of them. The images of a view become of one size;
// where `stacked`, those of all views do, and lie in the result image by image,
// each view by view. `batches`: of each view. All have the same windows, and
// the same images in their chunks; each begins where the one before has ended,
// so that they use the same scratch memory. Errors: those of Resampler::Reset;
// Unimplemented for places that a device does not find; `failed` is then the
// number of the stored image.
Status PlanImageDevice(const std::vector<const Recipe*>& views, bool stacked,
                       const std::vector<ImageDeviceInput>& inputs,
                       uint32_t channels, uint32_t bits,
                       std::vector<ImageDeviceBatch>* batches, size_t* failed);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_IMAGE_PLAN_H_
