// The dataset of Liquid>InterleaveDataset: batches drawn as the planner says.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_DATASET_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_DATASET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/dataset/dataset.h"
#include "ops/engine/draw_plan.h"
#include "ops/engine/snapshot.h"
#include "ops/sampler/plan_spec.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {

class InterleaveIterator;

// Inputs besides datasets, as given, so that the dataset can be serialized
// again.
struct InterleaveInputs {
  tensorflow::tstring plan;
  tensorflow::Tensor range;          // int64
  tensorflow::Tensor groups;         // uint16
  tensorflow::Tensor record_blocks;  // uint32
  tensorflow::tstring snapshot;
  DrawPlan draws;  // what they hold

  // Error: InvalidArgument that names input, value and constraint.
  absl::Status Read(tensorflow::OpKernelContext* ctx);
};

// Shares the snapshot.
class InterleaveDataset
    : public DatasetOf<InterleaveDataset, InterleaveIterator>,
      public DrawSource {
 public:
  static constexpr char kName[] = "LiquidInterleave";
  using Datasets = std::vector<const tensorflow::data::DatasetBase*>;
  // Those of the inputs input_datasets, fidelity and mixes.
  using Lists = std::array<Datasets, 3>;

  InterleaveDataset(tensorflow::OpKernelContext* ctx, InterleaveInputs inputs,
                    Lists lists, std::shared_ptr<const PlanSpec> spec,
                    std::shared_ptr<Snapshot> snapshot);
  static absl::Status Make(tensorflow::OpKernelContext* ctx,
                           tensorflow::data::DatasetBase** output);

  int64_t CardinalityInternal(
      tensorflow::data::CardinalityOptions options) const override;
  // The functions that give fidelity and mixes may have a state.
  absl::Status CheckExternalState() const override;

  const DrawPlan& draws() const { return inputs_.draws; }
  const InterleaveMessage& message() const { return draws().message; }
  const Datasets& datasets() const { return lists_[0]; }
  // Gives the fidelity of an epoch's batches; null where it is full.
  const tensorflow::data::DatasetBase* fidelity() const { return One(1); }
  // Gives the mixes of epochs; null where all have that of the spec.
  const tensorflow::data::DatasetBase* mixes() const { return One(2); }
  const PlanSpec& spec() const { return *spec_; }
  const std::shared_ptr<const PlanSpec>& shared_spec() const { return spec_; }
  const std::shared_ptr<Snapshot>& snapshot() const { return snapshot_; }
  // Of all that must be equal for a checkpoint to fit.
  int64_t fingerprint() const { return fingerprint_; }
  // Samples of an epoch.
  uint64_t samples() const;

 protected:
  absl::Status AsGraphDefInternal(tensorflow::data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override;

 private:
  const tensorflow::data::DatasetBase* One(size_t list) const {
    return lists_[list].empty() ? nullptr : lists_[list].front();
  }

  const InterleaveInputs inputs_;
  const Lists lists_;
  const std::shared_ptr<const PlanSpec> spec_;
  const int64_t fingerprint_;
  const std::shared_ptr<Snapshot> snapshot_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_DATASET_H_
