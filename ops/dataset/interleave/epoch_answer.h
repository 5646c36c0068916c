// A dataset that is asked once an epoch, when the epoch's number is known.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_EPOCH_ANSWER_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_EPOCH_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/dataset/source/plan_context.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {

// An iterator of a dataset over a Liquid>EpochDataset. Thread-compatible.
class EpochAnswer {
 public:
  // The iterator goes before the number that it may read.
  ~EpochAnswer() { input_.reset(); }

  // Makes the iterator; `parent` is that of the interleave.
  absl::Status Initialize(tensorflow::data::IteratorContext* ctx,
                          const tensorflow::data::DatasetBase* dataset,
                          const tensorflow::data::IteratorBase* parent,
                          const std::string& prefix) {
    tensorflow::data::IteratorContext nested = WithResources(ctx, &resources_);
    return dataset->MakeIterator(&nested, parent, prefix, &input_);
  }
  // The dataset's one element, so many tensors of int64 that are not empty.
  // Once.
  absl::Status Ask(tensorflow::data::IteratorContext* ctx, int64_t epoch,
                   size_t tensors, std::vector<tensorflow::Tensor>* answer) {
    TF_RETURN_IF_ERROR(PutContext(new EpochContext(epoch), &resources_));
    tensorflow::data::IteratorContext nested = WithResources(ctx, &resources_);
    bool end_of_sequence = false;
    TF_RETURN_IF_ERROR(input_->GetNext(&nested, answer, &end_of_sequence));
    bool right = !end_of_sequence && answer->size() == tensors;
    for (const tensorflow::Tensor& tensor : *answer) {
      right &=
          tensor.dtype() == tensorflow::DT_INT64 && tensor.NumElements() > 0;
    }
    if (right) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "what is asked once an epoch must answer with numbers of int64");
  }

 private:
  tensorflow::ResourceMgr resources_{"localhost"};
  std::unique_ptr<tensorflow::data::IteratorBase> input_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_EPOCH_ANSWER_H_
