// Liquid>CountedDataset: its input, with a number of elements that is known.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// Immutable, and so thread-safe. Holds a reference to its input.
class CountedDataset : public tfd::DatasetBase {
 public:
  CountedDataset(OpKernelContext* ctx, const tfd::DatasetBase* input,
                 int64_t count)
      : DatasetBase(tfd::DatasetContext(ctx)), input_(input), count_(count) {
    input_->Ref();
  }
  ~CountedDataset() override { input_->Unref(); }

  std::unique_ptr<tfd::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;
  const tensorflow::DataTypeVector& output_dtypes() const override {
    return input_->output_dtypes();
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    return input_->output_shapes();
  }
  std::string DebugString() const override { return type_string(); }
  int64_t CardinalityInternal(tfd::CardinalityOptions) const override {
    return count_;
  }
  absl::Status InputDatasets(
      std::vector<const DatasetBase*>* inputs) const override {
    inputs->assign({input_});
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override {
    return input_->CheckExternalState();
  }
  const tfd::DatasetBase* input() const { return input_; }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    std::vector<tensorflow::Node*> nodes(2);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &nodes[0]));
    TF_RETURN_IF_ERROR(b->AddScalar(count_, &nodes[1]));
    return b->AddDataset(this, nodes, output);
  }

 private:
  const tfd::DatasetBase* const input_;
  const int64_t count_;
};

// Thread-compatible but for what its input's iterator allows.
class CountedIterator : public tfd::DatasetIterator<CountedDataset> {
 public:
  using DatasetIterator::DatasetIterator;
  bool SymbolicCheckpointCompatible() const override { return true; }
  absl::Status Initialize(tfd::IteratorContext* ctx) override {
    return dataset()->input()->MakeIterator(ctx, this, prefix(), &input_);
  }

 protected:
  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    return input_->GetNext(ctx, out_tensors, end_of_sequence);
  }
  std::shared_ptr<tfd::model::Node> CreateNode(
      tfd::IteratorContext* ctx, tfd::model::Node::Args args) const override {
    return tfd::model::MakeKnownRatioNode(std::move(args), 1);
  }
  absl::Status SaveInternal(tfd::SerializationContext* ctx,
                            tfd::IteratorStateWriter* writer) override {
    return SaveInput(ctx, writer, input_);
  }
  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    return RestoreInput(ctx, reader, input_);
  }

 private:
  std::unique_ptr<tfd::IteratorBase> input_;
};

std::unique_ptr<tfd::IteratorBase> CountedDataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<CountedIterator>(
      CountedIterator::Params{this, prefix + "::LiquidCounted"});
}

class CountedDatasetOp : public tfd::UnaryDatasetOpKernel {
 public:
  using UnaryDatasetOpKernel::UnaryDatasetOpKernel;

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase* input,
                   tfd::DatasetBase** output) override {
    int64_t count = 0;
    OP_REQUIRES_OK(ctx,
                   tfd::ParseScalarArgument<int64_t>(ctx, "count", &count));
    OP_REQUIRES(ctx, count >= 0,
                absl::InvalidArgumentError("count (" + std::to_string(count) +
                                           ") must be at least 0"));
    *output = new CountedDataset(ctx, input, count);
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>CountedDataset").Device(tensorflow::DEVICE_CPU),
    CountedDatasetOp);

}  // namespace
}  // namespace liquid
