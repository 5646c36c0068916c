// Liquid>EpochDataset: the number of the epoch that the interleave above runs.
#include <mutex>
#include <vector>

#include "ops/dataset/dataset.h"
#include "ops/dataset/source/plan_context.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class EpochIterator;

class EpochDataset : public DatasetOf<EpochDataset, EpochIterator> {
 public:
  static constexpr char kName[] = "LiquidEpoch";

  explicit EpochDataset(OpKernelContext* ctx)
      : DatasetOf(ctx, {}, tensorflow::DT_INT64) {}

  static absl::Status Make(OpKernelContext* ctx, tfd::DatasetBase** output) {
    *output = new EpochDataset(ctx);
    return absl::OkStatus();
  }
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
    tensorflow::core::RefCountPtr<EpochContext> epoch;
    if (!FindContext(ctx, &epoch).ok()) {
      return absl::FailedPreconditionError(
          "an EpochDataset has a number only below an interleave");
    }
    out_tensors->emplace_back(epoch->epoch());
    return absl::OkStatus();
  }

  // Nothing: what was made of the number is saved by the interleave.
  absl::Status SaveInternal(tfd::SerializationContext*,
                            tfd::IteratorStateWriter*) override {
    return absl::OkStatus();
  }
  absl::Status RestoreInternal(tfd::IteratorContext*,
                               tfd::IteratorStateReader*) override {
    return absl::OkStatus();
  }

 private:
  std::mutex mu_;
  bool given_ = false;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>EpochDataset").Device(tensorflow::DEVICE_CPU),
    DatasetOp<EpochDataset>);

}  // namespace
}  // namespace liquid
