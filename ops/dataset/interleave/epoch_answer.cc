#include "ops/dataset/interleave/epoch_answer.h"

#include <utility>
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
                              Tensor* answer) {
  TF_RETURN_IF_ERROR(resources_.Create(
      EpochContext::kContainer, EpochContext::kName, new EpochContext(epoch)));
  tfd::IteratorContext nested = Context(ctx);
  std::vector<Tensor> element;
  bool end_of_sequence = false;
  TF_RETURN_IF_ERROR(input_->GetNext(&nested, &element, &end_of_sequence));
  if (end_of_sequence || element.size() != 1 ||
      element[0].dtype() != tensorflow::DT_INT64 ||
      element[0].NumElements() == 0) {
    return absl::InvalidArgumentError(
        "what is asked once an epoch must answer with numbers of int64");
  }
  *answer = std::move(element[0]);
  return absl::OkStatus();
}

tfd::IteratorContext EpochAnswer::Context(tfd::IteratorContext* ctx) {
  tfd::IteratorContext::Params params(ctx);
  params.resource_mgr = &resources_;
  return tfd::IteratorContext(std::move(params));
}

}  // namespace liquid
