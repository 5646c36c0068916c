// Liquid>DecodeBatchDataset: decodes blocks of records into batch tensors.
#include <utility>
#include <vector>

#include "ops/dataset/decode/decode_batch_dataset.h"
#include "ops/dataset/decode/decode_options.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

class DecodeBatchDatasetOp : public tfd::UnaryDatasetOpKernel {
 public:
  explicit DecodeBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, attributes_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase* input,
                   tfd::DatasetBase** output) override;

 private:
  DecodeAttributes attributes_;
};

void DecodeBatchDatasetOp::MakeDataset(OpKernelContext* ctx,
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
