// Liquid>InterleaveDataset: makes the dataset, and the snapshot where there is
// none.
#include <memory>
#include <utility>
#include <vector>

#include "ops/dataset/interleave/interleave_dataset.h"
#include "ops/dataset/interleave/interleave_options.h"
#include "ops/dataset/interleave/snapshot.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;

class InterleaveDatasetOp : public tfd::DatasetOpKernel {
 public:
  using DatasetOpKernel::DatasetOpKernel;

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase** output) override;
};

void InterleaveDatasetOp::MakeDataset(OpKernelContext* ctx,
                                      tfd::DatasetBase** output) {
  tensorflow::OpInputList list;
  OP_REQUIRES_OK(ctx, ctx->input_list("input_datasets", &list));
  std::vector<tfd::DatasetBase*> datasets(list.size());
  for (int i = 0; i < list.size(); ++i) {
    OP_REQUIRES_OK(ctx,
                   tfd::GetDatasetFromVariantTensor(list[i], &datasets[i]));
  }
  OP_REQUIRES_OK(ctx, ctx->input_list("fidelity", &list));
  OP_REQUIRES(
      ctx, list.size() <= 1,
      absl::InvalidArgumentError("fidelity must be one dataset or none"));
  tfd::DatasetBase* fidelity = nullptr;
  if (list.size() == 1) {
    OP_REQUIRES_OK(ctx, tfd::GetDatasetFromVariantTensor(list[0], &fidelity));
  }
  InterleaveInputs inputs;
  OP_REQUIRES_OK(ctx, inputs.Read(ctx));
  OP_REQUIRES_OK(ctx, ctx->input_list("mixes", &list));
  OP_REQUIRES(
      ctx, list.size() == (inputs.message.plan.sections.empty() ? 0 : 1),
      absl::InvalidArgumentError(
          "mixes must be one dataset where there are sections, or none"));
  tfd::DatasetBase* mixes = nullptr;
  if (list.size() == 1) {
    OP_REQUIRES_OK(ctx, tfd::GetDatasetFromVariantTensor(list[0], &mixes));
  }
  std::shared_ptr<const PlanSpec> spec;
  OP_REQUIRES_OK(ctx, inputs.MakeSpec(datasets.size(), &spec));

  Snapshot* snapshot = nullptr;
  OP_REQUIRES_OK(ctx, ctx->resource_manager()->LookupOrCreate<Snapshot>(
                          ctx->resource_manager()->default_container(),
                          inputs.snapshot, &snapshot, [](Snapshot** created) {
                            *created = new Snapshot();
                            return absl::OkStatus();
                          }));
  tensorflow::core::RefCountPtr<Snapshot> owned(snapshot);
  Snapshot::Config config;
  config.spec = spec;
  for (const SourceMessage& source : inputs.message.sources) {
    config.formats.push_back(source.name);
  }
  config.initial_epoch = inputs.message.initial_epoch;
  config.initial_step = static_cast<uint64_t>(inputs.message.initial_step);
  config.spare_bytes = static_cast<uint64_t>(inputs.message.spare_bytes);
  OP_REQUIRES_OK(ctx, inputs.MakeTier(*spec, &config.tier));
  OP_REQUIRES_OK(ctx, ToTf(owned->Configure(config)));
  *output =
      new InterleaveDataset(ctx, std::move(inputs), std::move(datasets),
                            fidelity, mixes, std::move(spec), std::move(owned));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>InterleaveDataset").Device(tensorflow::DEVICE_CPU),
    InterleaveDatasetOp);

}  // namespace
}  // namespace liquid
