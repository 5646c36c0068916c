// The samples of a batch mixed in pairs, once it is known which they are.
//
// Images come here as they were decoded, in their stored type: they are
// normalised, erased, mixed in float32 and rounded once on the way into the
// batch, each read once for itself and its partner.
#ifndef LIQUID_OPS_ENGINE_BATCH_MIXER_H_
#define LIQUID_OPS_ENGINE_BATCH_MIXER_H_

#include <cstdint>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/array.h"
#include "ops/engine/batch_decoder.h"
#include "ops/image/erase.h"
#include "ops/image/finish.h"
#include "ops/image/mix.h"

namespace liquid {

struct MixerConfig {
  MixStep step;
  uint64_t seed = 0;
  // The image, where step.mixes(), unless whoever gets the records makes it:
  // `shape` is then empty, and images are of the size that their plans say.
  size_t pixel = 0;  // index of the feature in DecodeConfig::pixels
  int64_t height = 0;
  int64_t width = 0;
  DType dtype = DType::kFloat32;  // that comes out
  std::vector<int64_t> shape;     // likewise, of a sample
  FinishSpec finish;              // likewise
  ErasingStep erasing;
  size_t views = 1;  // of a slot, which are samples of the batch
};

// Immutable, and so thread-safe.
class BatchMixer {
 public:
  // Error: that of Finisher::Create, or of a mean image of another size.
  static Status Create(MixerConfig config, BatchMixer* mixer);

  bool mixes() const { return config_.step.mixes(); }
  // Whether images are mixed here.
  bool mixes_here() const { return mixes() && !config_.shape.empty(); }

  // Says of every sample what becomes of it, and makes room for the images.
  // `items` are what Mix is to be called with: none where images are not mixed
  // here. Error: Unavailable, and nothing is changed.
  Status Begin(BatchAllocator* allocator, PendingBatch* batch,
               std::vector<uint32_t>* items) const;
  // Makes the images of an item and of its partner; different items in
  // parallel.
  void Mix(uint32_t item, PendingBatch* batch) const;
  // Gives back the memory of the images as they were decoded, once Mix has
  // returned for all items.
  void End(PendingBatch* batch) const;

 private:
  class Rows;
  std::vector<Blend> Pairs(const PendingBatch& batch) const;
  // Writes row y of what a sample becomes.
  void Write(const Blend& blend, size_t y, Rows* own, Rows* other,
             uint8_t* image) const;

  MixerConfig config_;
  Finisher floats_;  // to float32
  Finisher finisher_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BATCH_MIXER_H_
