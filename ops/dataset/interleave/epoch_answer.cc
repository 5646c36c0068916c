#include "ops/dataset/interleave/epoch_answer.h"

#include <vector>

#include "ops/dataset/source/plan_context.h"
#include "tensorflow/core/platform/errors.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::Tensor;

absl::Status EpochAnswer::Initialize(tfd::IteratorContext* ctx,
                                     const tfd::DatasetBase* dataset,
                                     const tfd::IteratorBase* parent,
                                     const std::string& prefix) {
  tfd::IteratorContext nested = Context(ctx);
  return dataset->MakeIterator(&nested, parent, prefix, &input_);
}

absl::Status EpochAnswer::Ask(tfd::IteratorContext* ctx, int64_t epoch,
                              size_t tensors, std::vector<Tensor>* answer) {
  TF_RETURN_IF_ERROR(resources_.Create(
      EpochContext::kContainer, EpochContext::kName, new EpochContext(epoch)));
  tfd::IteratorContext nested = Context(ctx);
  bool end_of_sequence = false;
  TF_RETURN_IF_ERROR(input_->GetNext(&nested, answer, &end_of_sequence));
  bool right = !end_of_sequence && answer->size() == tensors;
  for (const Tensor& tensor : *answer) {
    right &= tensor.dtype() == tensorflow::DT_INT64 && tensor.NumElements() > 0;
  }
  if (right) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "what is asked once an epoch must answer with numbers of int64");
}

tfd::IteratorContext EpochAnswer::Context(tfd::IteratorContext* ctx) {
  tfd::IteratorContext::Params params(ctx);
  params.resource_mgr = &resources_;
  return tfd::IteratorContext(std::move(params));
}

}  // namespace liquid
