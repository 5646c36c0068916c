// Decodes batches ahead of their delivery.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_ITERATOR_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_ITERATOR_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/dataset/decode/decode_batch_dataset.h"
#include "ops/dataset/decode/tuned_number.h"
#include "ops/engine/batch_queue.h"
#include "ops/engine/batch_repair.h"
#include "ops/engine/work_queue.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"

namespace liquid {

// A thread pulls blocks and adds their slots to the work of tf.data's pool;
// GetNext waits for the first batch that is done. The state is that of the last
// *delivered* batch: every batch carries the input's checkpoint as it was
// behind its block.
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
  void StartThread(tensorflow::data::IteratorContext* ctx)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status WaitForFirst(PendingBatch** first);
  int64_t LeastLookahead() const;
  void RecordBuffered(int64_t bytes, int64_t batches);
  // Appends what ends the sequence, or an error that does.
  void PushEnd(const Status& status, std::shared_ptr<PendingBatch> batch);
  void Produce(tensorflow::data::IteratorContext* ctx);
  absl::Status Read(tensorflow::data::IteratorContext* ctx,
                    std::vector<tensorflow::Tensor>* element,
                    bool* end_of_sequence);
  void Decode(const uint32_t* slots, size_t count, PendingBatch* batch);
  // The error of an epoch that has ended without a batch.
  absl::Status Empty() TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What GetNext gives of a batch, which is filled up where that was asked for.
  absl::Status Deliver(PendingBatch* batch,
                       std::vector<tensorflow::Tensor>* out_tensors);
  void Report(const PendingBatch& batch, BatchReport report)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A forked child has memory and no threads: what one of them would have done
  // never happens, and a lock that one held is never free.
  bool Forked() const { return getpid() != process_; }

  const pid_t process_ = getpid();
  std::unique_ptr<tensorflow::CancellationManager> cancellation_;
  std::unique_ptr<tensorflow::data::IteratorBase> input_;
  TunedNumber lookahead_;    // batches in flight
  TunedNumber parallelism_;  // threads that decode them
  WorkQueue work_;
  BatchQueue queue_;

  std::mutex mu_;
  BatchRepair repair_ TF_GUARDED_BY(mu_);
  // The epoch began in this iterator, and all of it until now was bad.
  bool nothing_delivered_ TF_GUARDED_BY(mu_) = false;
  std::unique_ptr<tensorflow::data::MemoryCheckpoint> delivered_
      TF_GUARDED_BY(mu_);
  std::unique_ptr<tensorflow::Thread> thread_ TF_GUARDED_BY(mu_);
  BatchSeconds seconds_ TF_GUARDED_BY(mu_);     // since the last delivery
  double delivered_at_ TF_GUARDED_BY(mu_) = 0;  // or asked first; a moment
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_ITERATOR_H_
