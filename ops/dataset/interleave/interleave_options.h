// Inputs of Liquid>InterleaveDataset, checked.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_OPTIONS_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_OPTIONS_H_

#include <cstdint>
#include <memory>

#include "ops/message/messages.h"
#include "ops/reader/tier.h"
#include "ops/sampler/plan_spec.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {

struct InterleaveInputs {
  // As given, so that the dataset can be serialized again.
  tensorflow::tstring plan;
  tensorflow::Tensor range;          // int64
  tensorflow::Tensor groups;         // uint16
  tensorflow::Tensor record_blocks;  // uint32
  tensorflow::tstring snapshot;
  // What they hold.
  InterleaveMessage message;
  int64_t epoch = -1;      // -1: the snapshot counts
  int64_t first_step = 0;  // of `epoch`
  int64_t steps = -1;      // -1: to the epoch's end

  // Error: InvalidArgument that names input, value and constraint.
  absl::Status Read(tensorflow::OpKernelContext* ctx);
  // The draw of an epoch of `samples` before which an iterator ends.
  uint64_t EndDraw(uint64_t samples) const;
  // The plan of `datasets` formats. Error: likewise.
  absl::Status MakeSpec(size_t datasets,
                        std::shared_ptr<const PlanSpec>* spec) const;
  // The tier of a plan; without a folder where there is none. Error: likewise.
  absl::Status MakeTier(const PlanSpec& spec, Tier::Options* options) const;

 private:
  absl::Status ReadRange(tensorflow::OpKernelContext* ctx);
  absl::Status MakeWeights(PlanSpec* spec) const;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_OPTIONS_H_
