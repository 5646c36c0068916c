// Liquid>DecodeBatchDataset: decodes blocks of records into batch tensors.
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
    : DatasetOf(ctx, {input}, std::move(attributes.output_types),
                std::move(attributes.output_shapes)),
      given_(std::move(inputs)),
      decoder_(std::move(config)),
      features_(std::move(features)) {}

absl::Status DecodeBatchDataset::AsGraphDefInternal(
    tfd::SerializationContext* ctx, DatasetGraphDefBuilder* b,
    tensorflow::Node** output) const {
  std::vector<tensorflow::Node*> nodes(3);
  TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &nodes[0]));
  TF_RETURN_IF_ERROR(b->AddScalar(given_.plan, &nodes[1]));
  TF_RETURN_IF_ERROR(b->AddTensor(given_.mean_image, &nodes[2]));
  // AddDataset adds output_types and output_shapes.
  return b->AddDataset(this, nodes, {}, output);
}

namespace {

class DecodeBatchDatasetOp : public tfd::UnaryDatasetOpKernel {
 public:
  explicit DecodeBatchDatasetOp(tensorflow::OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, attributes_.Read(ctx));
  }

 protected:
  void MakeDataset(tensorflow::OpKernelContext* ctx, tfd::DatasetBase* input,
                   tfd::DatasetBase** output) override;

 private:
  DecodeAttributes attributes_;
};

void DecodeBatchDatasetOp::MakeDataset(tensorflow::OpKernelContext* ctx,
                                       tfd::DatasetBase* input,
                                       tfd::DatasetBase** output) {
  DecodeInputs inputs;
  DecodeConfig config;
  std::vector<OutputFeature> features;
  OP_REQUIRES_OK(ctx, inputs.Read(ctx));
  OP_REQUIRES_OK(ctx, Configure(attributes_, inputs, &config, &features));
  *output = new DecodeBatchDataset(ctx, input, attributes_, inputs,
                                   std::move(config), std::move(features));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeBatchDataset").Device(tensorflow::DEVICE_CPU),
    DecodeBatchDatasetOp);

}  // namespace

}  // namespace liquid
