// The element that flows between our Dataset ops: a few records, by reference.
//
// A variant rather than a string tensor, so that a record's bytes are never
// copied between the read and the decoder, and stay alive while anybody needs
// them. Sources emit what they read, the interleave emits one batch of draws.
#ifndef LIQUID_OPS_DATASET_SOURCE_RECORD_BLOCK_H_
#define LIQUID_OPS_DATASET_SOURCE_RECORD_BLOCK_H_

#include <memory>
#include <string>

#include "ops/engine/record_block.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace liquid {

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
