// The dataset of Liquid>InterleaveDataset: batches drawn as the planner says.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_DATASET_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/dataset/interleave/interleave_options.h"
#include "ops/dataset/interleave/snapshot.h"
#include "ops/sampler/plan_spec.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {

// Immutable, and so thread-safe. Shares the snapshot; holds a reference to each
// input.
class InterleaveDataset : public tensorflow::data::DatasetBase {
 public:
  InterleaveDataset(tensorflow::OpKernelContext* ctx, InterleaveInputs inputs,
                    std::vector<tensorflow::data::DatasetBase*> datasets,
                    tensorflow::data::DatasetBase* fidelity,
                    tensorflow::data::DatasetBase* mixes,
                    std::shared_ptr<const PlanSpec> spec,
                    tensorflow::core::RefCountPtr<Snapshot> snapshot);
  ~InterleaveDataset() override;

  std::unique_ptr<tensorflow::data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;
  const tensorflow::DataTypeVector& output_dtypes() const override;
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override;
  std::string DebugString() const override;
  int64_t CardinalityInternal(
      tensorflow::data::CardinalityOptions options) const override;
  absl::Status InputDatasets(
      std::vector<const tensorflow::data::DatasetBase*>* inputs) const override;
  absl::Status CheckExternalState() const override;

  const InterleaveInputs& inputs() const { return inputs_; }
  const InterleaveMessage& message() const { return inputs_.message; }
  const std::vector<tensorflow::data::DatasetBase*>& datasets() const {
    return datasets_;
  }
  // Gives the fidelity of an epoch's batches; null where it is full.
  tensorflow::data::DatasetBase* fidelity() const { return fidelity_; }
  // Gives the mixes of epochs; null where all have that of the spec.
  tensorflow::data::DatasetBase* mixes() const { return mixes_; }
  const PlanSpec& spec() const { return *spec_; }
  const std::shared_ptr<const PlanSpec>& shared_spec() const { return spec_; }
  Snapshot* snapshot() const { return snapshot_.get(); }
  // Of all that must be equal for a checkpoint to fit.
  int64_t fingerprint() const { return fingerprint_; }
  // Samples of an epoch.
  uint64_t samples() const;

 protected:
  absl::Status AsGraphDefInternal(tensorflow::data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override;

 private:
  const InterleaveInputs inputs_;
  const std::vector<tensorflow::data::DatasetBase*> datasets_;
  tensorflow::data::DatasetBase* const fidelity_;
  tensorflow::data::DatasetBase* const mixes_;
  const std::shared_ptr<const PlanSpec> spec_;
  const int64_t fingerprint_;
  const tensorflow::core::RefCountPtr<Snapshot> snapshot_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_DATASET_H_
