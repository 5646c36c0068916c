// One epoch, taken from the snapshot at the first GetNext.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_ITERATOR_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_ITERATOR_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/dataset/interleave/epoch_answer.h"
#include "ops/dataset/interleave/interleave_dataset.h"
#include "ops/dataset/source/plan_context.h"
#include "ops/engine/epoch_draws.h"
#include "ops/sampler/fidelity.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"

namespace liquid {

// Thread-safe. Tells each input what to read through a PlanContext. Of an epoch
// that other numbers of workers began, it draws from the dataset of the rest.
class InterleaveIterator : public IteratorOf<InterleaveDataset> {
 public:
  using IteratorOf::IteratorOf;
  ~InterleaveIterator() override {
    inputs_.clear();  // before their resources
  }

  absl::Status Initialize(tensorflow::data::IteratorContext* ctx) override;

 protected:
  std::shared_ptr<tensorflow::data::model::Node> CreateNode(
      tensorflow::data::IteratorContext* ctx,
      tensorflow::data::model::Node::Args args) const override {
    return tensorflow::data::model::MakeInterleaveManyNode(std::move(args), {});
  }
  absl::Status GetNextInternal(tensorflow::data::IteratorContext* ctx,
                               std::vector<tensorflow::Tensor>* out_tensors,
                               bool* end_of_sequence) override;
  // The inputs have no state of their own: where they stand follows from ours.
  absl::Status SaveInternal(
      tensorflow::data::SerializationContext* ctx,
      tensorflow::data::IteratorStateWriter* writer) override;
  absl::Status RestoreInternal(
      tensorflow::data::IteratorContext* ctx,
      tensorflow::data::IteratorStateReader* reader) override;

 private:
  // What the epoch is drawn from.
  const InterleaveDataset& drawn() const {
    return rest_ != nullptr ? *rest_ : *dataset();
  }
  // The dataset of the rest, or null.
  static std::shared_ptr<const InterleaveDataset> RestOf(
      const Snapshot::Place& place) {
    return std::static_pointer_cast<const InterleaveDataset>(place.rest);
  }
  absl::Status MakeInputs(tensorflow::data::IteratorContext* ctx);
  absl::Status Take(tensorflow::data::IteratorContext* ctx)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeRest(tensorflow::data::IteratorContext* ctx,
                        Snapshot::Place place, uint64_t position,
                        Snapshot::Lease* lease)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RestoreRest(tensorflow::data::IteratorContext* ctx,
                           tensorflow::data::IteratorStateReader* reader,
                           Snapshot::Place place)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadMixes(tensorflow::data::IteratorContext* ctx, int64_t epoch)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadFidelity(tensorflow::data::IteratorContext* ctx,
                            int64_t epoch, Fidelity* fidelity)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Begin(Snapshot::Lease lease, Fidelity fidelity)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Complete(uint64_t position) const;
  absl::Status ReadPosition(tensorflow::data::IteratorStateReader* reader,
                            uint64_t* position);
  absl::Status ReadSteps(tensorflow::data::IteratorStateReader* reader,
                         Fidelity* fidelity);
  absl::Status Read(tensorflow::data::IteratorContext* ctx, uint32_t format,
                    std::vector<RecordPtr>* records);
  absl::Status SaveMixes(tensorflow::data::IteratorStateWriter* writer,
                         int64_t epochs);
  std::mutex mu_;
  const std::shared_ptr<ReadGroup> reads_ = std::make_shared<ReadGroup>();
  std::shared_ptr<const InterleaveDataset> rest_;  // null for a whole epoch
  // One per input; `plans_` are owned by `resources_`.
  std::vector<std::unique_ptr<tensorflow::ResourceMgr>> resources_;
  std::vector<PlanContext*> plans_;
  std::vector<std::unique_ptr<tensorflow::data::IteratorBase>> inputs_;

  EpochAnswer fidelity_answer_, mixes_answer_;

  absl::Status status_ TF_GUARDED_BY(mu_);  // a failed draw ends the epoch
  std::unique_ptr<EpochDraws> draws_ TF_GUARDED_BY(mu_);
  // How many records of each format there is memory for.
  std::vector<MemoryLimits> limits_ TF_GUARDED_BY(mu_);
  // As saved: immutable, so that saving shares them.
  tensorflow::Tensor cached_ TF_GUARDED_BY(mu_);
  std::vector<tensorflow::Tensor> held_ TF_GUARDED_BY(mu_);
  tensorflow::Tensor fidelity_ TF_GUARDED_BY(mu_);
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_ITERATOR_H_
