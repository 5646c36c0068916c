// Liquid>CountedDataset: its input, with a number of elements that is known.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/dataset.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class CountedIterator;

class CountedDataset : public DatasetOf<CountedDataset, CountedIterator> {
 public:
  static constexpr char kName[] = "LiquidCounted";

  CountedDataset(OpKernelContext* ctx, const tfd::DatasetBase* input,
                 int64_t count)
      : DatasetOf(ctx, {input}, input->output_dtypes(), input->output_shapes()),
        count_(count) {}

  int64_t CardinalityInternal(tfd::CardinalityOptions) const override {
    return count_;
  }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    std::vector<tensorflow::Node*> nodes(2);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input(), &nodes[0]));
    TF_RETURN_IF_ERROR(b->AddScalar(count_, &nodes[1]));
    return b->AddDataset(this, nodes, output);
  }

 private:
  const int64_t count_;
};

// Thread-compatible but for what its input's iterator allows.
class CountedIterator : public IteratorOf<CountedDataset> {
 public:
  using IteratorOf::IteratorOf;
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
