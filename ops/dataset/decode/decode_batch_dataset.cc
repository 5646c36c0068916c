#include "ops/dataset/decode/decode_batch_dataset.h"

#include <utility>

#include "ops/dataset/decode/decode_batch_iterator.h"

namespace liquid {

namespace tfd = ::tensorflow::data;

DecodeBatchDataset::DecodeBatchDataset(tensorflow::OpKernelContext* ctx,
                                       const tfd::DatasetBase* input,
                                       DecodeAttributes attributes,
                                       DecodeInputs inputs, DecodeConfig config,
                                       std::vector<OutputFeature> features)
    : DatasetBase(tfd::DatasetContext(ctx)),
      input_(input),
      attributes_(std::move(attributes)),
      inputs_(inputs),
      decoder_(std::move(config)),
      features_(std::move(features)) {
  input_->Ref();
}

DecodeBatchDataset::~DecodeBatchDataset() { input_->Unref(); }

std::unique_ptr<tfd::IteratorBase> DecodeBatchDataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<DecodeBatchIterator>(
      DecodeBatchIterator::Params{this, prefix + "::LiquidDecodeBatch"});
}

std::string DecodeBatchDataset::DebugString() const {
  return "Liquid>DecodeBatchDatasetOp::Dataset";
}

int64_t DecodeBatchDataset::CardinalityInternal(
    tfd::CardinalityOptions options) const {
  return input_->Cardinality(options);
}

absl::Status DecodeBatchDataset::InputDatasets(
    std::vector<const tfd::DatasetBase*>* inputs) const {
  inputs->assign({input_});
  return absl::OkStatus();
}

absl::Status DecodeBatchDataset::CheckExternalState() const {
  return input_->CheckExternalState();
}

absl::Status DecodeBatchDataset::AsGraphDefInternal(
    tfd::SerializationContext* ctx, DatasetGraphDefBuilder* b,
    tensorflow::Node** output) const {
  std::vector<tensorflow::Node*> nodes(3);
  TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &nodes[0]));
  TF_RETURN_IF_ERROR(b->AddScalar(inputs_.plan, &nodes[1]));
  TF_RETURN_IF_ERROR(b->AddTensor(inputs_.mean_image, &nodes[2]));
  // AddDataset adds output_types and output_shapes.
  return b->AddDataset(this, nodes, {}, output);
}

}  // namespace liquid
