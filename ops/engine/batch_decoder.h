// Turns the records of a batch into pixels, in parallel, in place.
#ifndef LIQUID_OPS_ENGINE_BATCH_DECODER_H_
#define LIQUID_OPS_ENGINE_BATCH_DECODER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/engine/array.h"
#include "ops/engine/record_block.h"
#include "ops/engine/sample_boxes.h"
#include "ops/image/image_maker.h"
#include "ops/image/mix.h"
#include "ops/image/recipe.h"

namespace liquid {

class BatchMixer;

// An output made of pixels: the image, or a mask kept in the record's Example.
struct PixelFeature {
  std::string example_key;      // empty: the image itself
  DType dtype = DType::kUint8;  // that it is decoded to
  std::vector<int64_t> shape;   // of every sample; [channels] where ragged
  int64_t height = 0;           // likewise; 0 where sizes differ (ragged)
  int64_t width = 0;
  size_t view = 0;  // of the image
  std::shared_ptr<const ImageMaker> maker;

  const FinishSpec& spec() const { return maker->finisher().spec(); }
  uint8_t bits() const { return spec().stored == PixelType::kUint16 ? 16 : 8; }
};

struct DecodeConfig {
  std::vector<PixelFeature> pixels;
  BoxConfig boxes;
  bool bytes = false;  // the stored image is an output
  bool ragged = false;
  bool stacked = false;  // all pixels are one array, [n, views, h, w, c]
  Recipe recipe;
  // Of views 1, 2, ... of the image. Then the pixels are all views, and no
  // masks.
  std::vector<Recipe> more_views;
  DecodeLimits limits;
  std::shared_ptr<const BatchMixer> mixer;  // null: samples stay as they are
};

// One sample of a batch on its way.
struct Slot {
  const RecordBlock::Item* item = nullptr;  // of one of the batch's blocks
  uint64_t draw = 0;
  SamplePlan plan;
  std::vector<SamplePlan> more_views;  // their plans
  Status status;
  bool taken = false;       // it fills a gap of an earlier batch
  bool decoded = false;     // its pixels were not in memory
  bool by_library = false;  // libjpeg-turbo decoded some of them
  double decode_seconds = 0;
  std::vector<Array> ragged;  // [h * w, c] per pixel feature
  SampleBoxes boxes;
  std::shared_ptr<Blob> bytes;  // the stored image, where it is an output
  RecordPtr substitute;         // decoded in place of the item's; null for most

  const RecordPtr& shared_record() const {
    return substitute != nullptr ? substitute : item->record;
  }
  const Record& record() const { return *shared_record(); }
  const SamplePlan& PlanOf(size_t view) const {
    return view == 0 ? plan : more_views[view - 1];
  }
};

struct PendingBatch {
  int64_t epoch = 0;
  uint64_t first_draw = 0;
  bool last = false;
  bool part = false;  // see RecordBlock
  bool full = false;
  std::shared_ptr<EpochRun> run;
  std::shared_ptr<const BatchCost> cost;
  double read_seconds = 0;
  double disk_seconds = 0;
  std::vector<BatchPart> turns;  // see RecordBlock
  // Whose records the slots have: its own, and those of batches that filled
  // its gaps.
  std::vector<std::shared_ptr<const RecordBlock>> blocks;
  std::vector<Slot> slots;
  std::vector<Array> pixels;  // [n, h, w, c]; none where ragged
  // Of each slot, or of each of its stacked views, once a mixer has chosen it;
  // and the images that come out.
  std::vector<Blend> blends;
  Array mixed;
  int64_t pixel_bytes = 0;  // of all slots, and of their stored images
  std::atomic<int64_t> decode_nanos{0};
  bool done = false;    // decoded; guarded by the queue
  Status input_status;  // of the input instead of a block
  bool end_of_sequence = false;
  // Where the input stands behind the block, as the one knows it who reads it.
  std::shared_ptr<void> token;
};

// Thread-safe.
class BatchDecoder {
 public:
  // The allocator must outlive the decoder and all of its batches.
  BatchDecoder(DecodeConfig config, BatchAllocator* allocator)
      : config_(std::move(config)), allocator_(allocator) {}
  const DecodeConfig& config() const { return config_; }
  BatchAllocator* allocator() const { return allocator_; }

  // Makes the batch of a block: slots with their windows, and room for the
  // pixels. `costs` says of each slot about how long it takes to decode, as the
  // bytes that could be copied meanwhile. Error: Unavailable.
  Status Prepare(std::shared_ptr<const RecordBlock> block, PendingBatch* batch,
                 std::vector<uint64_t>* costs) const;
  // Gives some slots their status and pixels; different slots in parallel.
  // Returns the nanoseconds that it took.
  int64_t Decode(const uint32_t* slots, size_t count,
                 PendingBatch* batch) const;

 private:
  // Where the image of a feature is, and how it is to be decoded.
  class Source;
  // Plans all views of the slot's sample.
  Status Plan(int64_t epoch, Slot* slot) const;
  // Error: DataLoss for more pixels than are decoded.
  Status CheckWindow(const Window& window) const;
  void DecodeSlot(size_t index, PendingBatch* batch,
                  MakerScratch* scratch) const;
  // Decodes the slot's sample from `record`.
  Status DecodeRecord(size_t index, RecordPtr record, PendingBatch* batch,
                      MakerScratch* scratch) const;
  Status DecodeBoxes(const Record& record, Slot* slot) const;
  // Where the pixels of a feature go, for which there is then room.
  Status Place(size_t feature, size_t index, PendingBatch* batch,
               uint8_t** out) const;
  Status DecodePixels(size_t feature, size_t index, const Record& record,
                      PendingBatch* batch, MakerScratch* scratch) const;
  // Decodes once what all views of the image need.
  Status DecodeViews(size_t index, const Record& record, PendingBatch* batch,
                     MakerScratch* scratch) const;
  // All pixels of a record, to be kept.
  Status DecodeWhole(const Record& record, RecordPtr* whole) const;
  std::unique_ptr<MakerScratch> TakeScratch() const;
  void GiveBack(std::unique_ptr<MakerScratch> scratch) const;

  const DecodeConfig config_;
  BatchAllocator* const allocator_;
  mutable std::mutex mu_;
  // One for each thread that has decoded at once; guarded by mu_.
  mutable std::vector<std::unique_ptr<MakerScratch>> scratch_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BATCH_DECODER_H_
