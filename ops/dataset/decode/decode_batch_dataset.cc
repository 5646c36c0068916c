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
  std::vector<tensorflow::Node*> nodes(10);
  TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &nodes[0]));
  const DecodeInputs& a = inputs_;
  const int64_t numbers[] = {a.batch_size, a.seed,      a.max_pixels,
                             a.max_scans,  a.lookahead, a.most_lookahead,
                             a.parallelism};
  for (int i = 0; i < 7; ++i) {
    TF_RETURN_IF_ERROR(b->AddScalar(numbers[i], &nodes[1 + i]));
  }
  TF_RETURN_IF_ERROR(b->AddTensor(a.mean_image, &nodes[8]));
  TF_RETURN_IF_ERROR(b->AddScalar(a.min_visible, &nodes[9]));
  const DecodeAttributes& t = attributes_;
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs(11);
  const auto set = [&](int i, absl::string_view name, const auto& value) {
    attrs[i].first = name;
    b->BuildAttrValue(value, &attrs[i].second);
  };
  set(0, "features", t.features);
  set(1, "masks", t.masks);
  set(2, "ragged", t.ragged);
  set(3, "recipe", t.recipe);
  set(4, "image_bits", t.image_bits);
  set(5, "skip_errors", t.skip_errors);
  set(6, "repeat_to_fill", t.repeat_to_fill);
  set(7, "round_batch", t.round_batch);
  set(8, "box_columns", t.box_columns);
  set(9, "box_pad", t.box_pad);
  set(10, "keypoint_flip", t.keypoint_flip);
  return b->AddDataset(this, nodes, attrs, output);
}

}  // namespace liquid
