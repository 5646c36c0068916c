// The element that flows between our Dataset ops: a few records, by reference.
//
// A variant rather than a string tensor, so that a record's bytes are never
// copied between the read and the decoder, and stay alive while anybody needs
// them. Sources emit what they read, the interleave emits one batch of draws.
#ifndef LIQUID_OPS_DATASET_SOURCE_RECORD_BLOCK_H_
#define LIQUID_OPS_DATASET_SOURCE_RECORD_BLOCK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/dataset/stats/epoch_run.h"
#include "ops/reader/record.h"
#include "ops/sampler/mixture.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace liquid {

// Records in one element of a source, at most: they share its cost.
constexpr size_t kBlockRecords = 64;

struct RecordBlock {
  struct Item {
    RecordPtr record;
    uint32_t format = 0;  // position of its format in the plan
    bool load = false;    // costs a read: evicted, or not in memory
    bool memory_hit = false;
    std::shared_ptr<PixelPromise> promise;  // to fulfil; null for most
    bool whole = true;        // the record is this sample and no other
    uint64_t disk_bytes = 0;  // read for it, or for its record
  };

  int64_t epoch = 0;
  uint64_t first_draw = 0;  // position of items[0] in the epoch
  bool last = false;        // the epoch's last block
  bool part = false;  // of a part of the epoch, beside which others are run
  std::vector<Item> items;
  // Of each format whose records hold many samples: those that count for this
  // block. Empty in a block without a run.
  std::vector<BatchPart> turns;
  double read_seconds = 0;          // waited for these records
  double disk_seconds = 0;          // reads were under way since the last block
  uint64_t retries = 0;             // of a source's reads by now; see ReadCount
  std::shared_ptr<BatchCost> cost;  // with a run
  // Whom to tell of the delivery; null in a block that crossed a process.
  std::shared_ptr<EpochRun> run;
};

// What the Variant holds: copies of it share the block. A block that was
// encoded and decoded again, for a checkpoint or another process, has no run.
struct RecordBlockRef {
  std::shared_ptr<const RecordBlock> block;

  std::string TypeName() const { return "liquid::RecordBlock"; }
  std::string DebugString() const { return TypeName(); }
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(tensorflow::VariantTensorData data);
};

// A scalar variant tensor that holds the block.
tensorflow::Tensor ToTensor(RecordBlock block);
// The block in a tensor, or null if it holds something else.
std::shared_ptr<const RecordBlock> BlockOf(const tensorflow::Tensor& tensor);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_RECORD_BLOCK_H_
