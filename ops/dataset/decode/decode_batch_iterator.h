// Decodes batches ahead of their delivery, among tf.data's threads.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_ITERATOR_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_ITERATOR_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/dataset/decode/decode_batch_dataset.h"
#include "ops/dataset/decode/tuned_number.h"
#include "ops/engine/batch_pipeline.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"

namespace liquid {

// The state is that of the last *delivered* batch: every batch carries the
// input's checkpoint as it was behind its block.
//
// Thread-safe.
class DecodeBatchIterator : public IteratorOf<DecodeBatchDataset> {
 public:
  explicit DecodeBatchIterator(const Params& params);
  ~DecodeBatchIterator() override;

  absl::Status Initialize(tensorflow::data::IteratorContext* ctx) override;

 protected:
  std::shared_ptr<tensorflow::data::model::Node> CreateNode(
      tensorflow::data::IteratorContext* ctx,
      tensorflow::data::model::Node::Args args) const override;
  absl::Status GetNextInternal(tensorflow::data::IteratorContext* ctx,
                               std::vector<tensorflow::Tensor>* out_tensors,
                               bool* end_of_sequence) override;
  absl::Status SaveInternal(
      tensorflow::data::SerializationContext* ctx,
      tensorflow::data::IteratorStateWriter* writer) override;
  absl::Status RestoreInternal(
      tensorflow::data::IteratorContext* ctx,
      tensorflow::data::IteratorStateReader* reader) override;

 private:
  tensorflow::data::IteratorContext InputContext(
      tensorflow::data::IteratorContext* ctx);
  void MergeInput(tensorflow::data::IteratorContext* ctx,
                  tensorflow::data::MemoryCheckpoint* state)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Start(tensorflow::data::IteratorContext* ctx)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int64_t LeastLookahead() const;
  Status Read(tensorflow::data::IteratorContext* ctx,
              BatchPipeline::Input* input);
  void Decode(const PendingBatch& batch, size_t images,
              const std::function<int64_t()>& work);

  std::unique_ptr<tensorflow::CancellationManager> cancellation_;
  std::unique_ptr<tensorflow::data::IteratorBase> input_;
  TunedNumber lookahead_;    // batches in flight
  TunedNumber parallelism_;  // threads that decode them
  // That of Start, while its thread is there.
  std::shared_ptr<tensorflow::data::IteratorContext> own_;
  std::unique_ptr<BatchPipeline> pipeline_;

  std::mutex mu_;
  std::unique_ptr<tensorflow::data::MemoryCheckpoint> delivered_
      TF_GUARDED_BY(mu_);
  std::unique_ptr<tensorflow::Thread> thread_ TF_GUARDED_BY(mu_);
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_ITERATOR_H_
