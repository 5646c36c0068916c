// Liquid>DecodeBatchDataset: decodes blocks of records into batch tensors.
#include "ops/dataset/decode/decode_batch_dataset.h"

#include <utility>

#include "ops/dataset/decode/decode_batch_iterator.h"
#include "ops/dataset/decode/tensors.h"
#include "ops/kernel/tf_status.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::PartialTensorShape;

DecodeBatchDataset::DecodeBatchDataset(
    tensorflow::OpKernelContext* ctx, const tfd::DatasetBase* input,
    tensorflow::DataTypeVector types, std::vector<PartialTensorShape> shapes,
    DecodeInputs inputs, DecodeMessage message, DecodeConfig config,
    std::vector<OutputFeature> features)
    : DatasetOf(ctx, {input}, std::move(types), std::move(shapes)),
      given_(std::move(inputs)),
      message_(std::move(message)),
      decoder_(std::move(config), &TensorAllocator::Process()),
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
    OP_REQUIRES_OK(ctx, ctx->GetAttr("output_types", &types_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("output_shapes", &shapes_));
  }

 protected:
  void MakeDataset(tensorflow::OpKernelContext* ctx, tfd::DatasetBase* input,
                   tfd::DatasetBase** output) override {
    DecodeInputs inputs;
    DecodeMessage message;
    OP_REQUIRES_OK(ctx, ReadPlan(ctx, &inputs.plan, &message));
    OP_REQUIRES_OK(
        ctx, ReadTensor(ctx, "mean_image", 3, "be [height, width, channels]",
                        &inputs.mean_image));
    std::vector<OutputSpec> outputs;
    OP_REQUIRES_OK(ctx, Describe(&outputs));
    MeanImage mean;
    const auto values = inputs.mean_image.flat<float>();
    mean.values.assign(values.data(), values.data() + values.size());
    if (!mean.values.empty()) {
      mean.height = inputs.mean_image.dim_size(0);
      mean.width = inputs.mean_image.dim_size(1);
    }
    DecodeConfig config;
    std::vector<OutputFeature> features;
    OP_REQUIRES_OK(ctx,
                   ToTf(Configure(message, outputs, mean, &config, &features)));
    *output = new DecodeBatchDataset(ctx, input, types_, shapes_,
                                     std::move(inputs), std::move(message),
                                     std::move(config), std::move(features));
  }

 private:
  absl::Status Describe(std::vector<OutputSpec>* outputs) const {
    if (types_.size() != shapes_.size()) {
      return absl::InvalidArgumentError(
          "output_types and output_shapes must have the same number of "
          "entries");
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      OutputSpec spec;
      if (!ToDType(types_[i], &spec.dtype)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "output_types (", tensorflow::DataTypeString(types_[i]),
            ") is a type of no feature"));
      }
      for (int d = 0; d < shapes_[i].dims(); ++d) {
        spec.shape.push_back(shapes_[i].dim_size(d));
      }
      outputs->push_back(std::move(spec));
    }
    return absl::OkStatus();
  }

  tensorflow::DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeBatchDataset").Device(tensorflow::DEVICE_CPU),
    DecodeBatchDatasetOp);

}  // namespace

}  // namespace liquid
