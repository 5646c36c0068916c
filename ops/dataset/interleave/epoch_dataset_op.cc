// Liquid>EpochDataset: the number of the epoch that the interleave above runs.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/dataset/source/plan_context.h"
#include "ops/kernel/source_dataset.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class EpochDataset : public SourceDataset {
 public:
  explicit EpochDataset(OpKernelContext* ctx)
      : SourceDataset(ctx, tensorflow::DT_INT64) {}

  std::unique_ptr<tfd::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;
  int64_t CardinalityInternal(tfd::CardinalityOptions) const override {
    return 1;
  }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    return b->AddDataset(this, {}, output);
  }
};

// Nothing to save: what was made of the number is saved by the interleave.
class EpochIterator : public SourceIterator<EpochDataset> {
 public:
  using SourceIterator::SourceIterator;

 protected:
  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    std::unique_lock<std::mutex> lock(mu_);
    *end_of_sequence = given_;
    if (given_) return absl::OkStatus();
    given_ = true;
    EpochContext* epoch = nullptr;
    if (ctx->resource_mgr() == nullptr ||
        !ctx->resource_mgr()
             ->Lookup(EpochContext::kContainer, EpochContext::kName, &epoch)
             .ok()) {
      return absl::FailedPreconditionError(
          "an EpochDataset has a number only below an interleave");
    }
    const tensorflow::core::RefCountPtr<EpochContext> owned(epoch);
    out_tensors->emplace_back(epoch->epoch());
    return absl::OkStatus();
  }

 private:
  std::mutex mu_;
  bool given_ = false;
};

std::unique_ptr<tfd::IteratorBase> EpochDataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<EpochIterator>(
      EpochIterator::Params{this, prefix + "::LiquidEpoch"});
}

class EpochDatasetOp : public tfd::DatasetOpKernel {
 public:
  using DatasetOpKernel::DatasetOpKernel;

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase** output) override {
    *output = new EpochDataset(ctx);
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>EpochDataset").Device(tensorflow::DEVICE_CPU), EpochDatasetOp);

}  // namespace
}  // namespace liquid
