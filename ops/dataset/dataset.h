// What our datasets, their iterators and their ops share.
#ifndef LIQUID_OPS_DATASET_DATASET_H_
#define LIQUID_OPS_DATASET_DATASET_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/core/span.h"
#include "ops/kernel/tf_status.h"
#include "ops/message/messages.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {

// Overrides all that follows from a dataset's inputs, and from the type and
// shape of its elements. Immutable, and so thread-safe. Holds a reference to
// each input.
//
// `Dataset`, which derives from it, has a kName: with it ends the prefix of its
// iterators, and so begin their keys in a checkpoint.
template <typename Dataset, typename Iterator>
class DatasetOf : public tensorflow::data::DatasetBase {
 public:
  ~DatasetOf() override {
    for (const DatasetBase* input : inputs_) input->Unref();
  }

  std::unique_ptr<tensorflow::data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override {
    return std::make_unique<Iterator>(
        typename Iterator::Params{static_cast<const Dataset*>(this),
                                  absl::StrCat(prefix, "::", Dataset::kName)});
  }
  const tensorflow::DataTypeVector& output_dtypes() const override {
    return types_;
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    return shapes_;
  }
  std::string DebugString() const override { return type_string(); }
  absl::Status InputDatasets(
      std::vector<const DatasetBase*>* inputs) const override {
    *inputs = inputs_;
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override {
    for (const DatasetBase* input : inputs_) {
      TF_RETURN_IF_ERROR(input->CheckExternalState());
    }
    return absl::OkStatus();
  }
  // The first input, of a dataset that has some.
  const DatasetBase* input() const { return inputs_.front(); }

 protected:
  DatasetOf(tensorflow::OpKernelContext* ctx,
            std::vector<const DatasetBase*> inputs,
            tensorflow::DataTypeVector types,
            std::vector<tensorflow::PartialTensorShape> shapes)
      : DatasetBase(tensorflow::data::DatasetContext(ctx)),
        inputs_(std::move(inputs)),
        types_(std::move(types)),
        shapes_(std::move(shapes)) {
    for (const DatasetBase* input : inputs_) input->Ref();
  }
  // Of elements that are one scalar.
  DatasetOf(tensorflow::OpKernelContext* ctx,
            std::vector<const DatasetBase*> inputs, tensorflow::DataType type)
      : DatasetOf(ctx, std::move(inputs), {type},
                  {tensorflow::PartialTensorShape({})}) {}

 private:
  const std::vector<const DatasetBase*> inputs_;
  const tensorflow::DataTypeVector types_;
  const std::vector<tensorflow::PartialTensorShape> shapes_;
};

// An iterator that can be saved by name.
template <typename Dataset>
class IteratorOf : public tensorflow::data::DatasetIterator<Dataset> {
 public:
  using tensorflow::data::DatasetIterator<Dataset>::DatasetIterator;
  bool SymbolicCheckpointCompatible() const override { return true; }

 protected:
  using Writer = tensorflow::data::IteratorStateWriter;
  using Reader = tensorflow::data::IteratorStateReader;

  absl::Status WriteNumbers(
      Writer* writer,
      std::initializer_list<std::pair<const char*, int64_t>> numbers) {
    for (const auto& [key, number] : numbers) {
      TF_RETURN_IF_ERROR(writer->WriteScalar(this->prefix(), key, number));
    }
    return absl::OkStatus();
  }
  absl::Status ReadNumbers(
      Reader* reader,
      std::initializer_list<std::pair<const char*, int64_t*>> numbers) {
    for (const auto& [key, number] : numbers) {
      TF_RETURN_IF_ERROR(reader->ReadScalar(this->prefix(), key, number));
    }
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status WriteVector(Writer* writer, const char* key,
                           const std::vector<T>& values) {
    return writer->WriteTensor(this->prefix(), key, AsVector(values));
  }
  // `size`: that it must have; -1 for any.
  template <typename T>
  absl::Status ReadVector(Reader* reader, const std::string& key, int64_t size,
                          std::vector<T>* values) {
    tensorflow::Tensor tensor;
    TF_RETURN_IF_ERROR(reader->ReadTensor(this->prefix(), key, &tensor));
    if (tensor.dtype() != tensorflow::DT_INT64) {
      return absl::InvalidArgumentError(
          absl::StrCat("the checkpoint's ", key,
                       " is of no int64: it was saved by another version"));
    }
    if (size >= 0 && tensor.NumElements() != size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the checkpoint's ", key, " has ", tensor.NumElements(),
          " values instead of ", size,
          ": it was saved by a dataset of other samples or formats"));
    }
    const auto flat = tensor.flat<int64_t>();
    values->assign(flat.data(), flat.data() + flat.size());
    return absl::OkStatus();
  }
  // A tensor of int64 with these numbers.
  template <typename T>
  static tensorflow::Tensor AsVector(const std::vector<T>& values) {
    tensorflow::Tensor tensor(tensorflow::DT_INT64,
                              {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.flat<int64_t>().data());
    return tensor;
  }
};

// An iterator of a dataset without inputs.
template <typename Dataset>
class SourceIterator : public IteratorOf<Dataset> {
 public:
  using IteratorOf<Dataset>::IteratorOf;
  ~SourceIterator() override { EndCancelling(); }

 protected:
  std::shared_ptr<tensorflow::data::model::Node> CreateNode(
      tensorflow::data::IteratorContext* ctx,
      tensorflow::data::model::Node::Args args) const override {
    return tensorflow::data::model::MakeSourceNode(std::move(args));
  }
  // Calls `cancel` where the iterator is cancelled before EndCancelling.
  absl::Status CancelBy(tensorflow::data::IteratorContext* ctx,
                        std::function<void()> cancel) {
    return tensorflow::RegisterCancellationCallback(
        ctx->cancellation_manager(), std::move(cancel), &deregister_);
  }
  void EndCancelling() {
    if (deregister_) std::exchange(deregister_, nullptr)();
  }

 private:
  std::function<void()> deregister_;
};

// The op of a dataset without inputs of datasets: `Dataset` has a function
// Make, with the context and the result for arguments.
template <typename Dataset>
class DatasetOp : public tensorflow::data::DatasetOpKernel {
 public:
  using DatasetOpKernel::DatasetOpKernel;

 protected:
  void MakeDataset(tensorflow::OpKernelContext* ctx,
                   tensorflow::data::DatasetBase** output) override {
    OP_REQUIRES_OK(ctx, Dataset::Make(ctx, output));
  }
};

// The input `plan`, as given and read.
template <typename Message>
absl::Status ReadPlan(tensorflow::OpKernelContext* ctx,
                      tensorflow::tstring* plan, Message* message) {
  TF_RETURN_IF_ERROR(tensorflow::data::ParseScalarArgument(ctx, "plan", plan));
  return ToTf(ParseMessage(ByteSpan(plan->data(), plan->size()), message));
}

// The input `name`, which is shared and not copied. `must`: where it has not
// so many dimensions.
inline absl::Status ReadTensor(tensorflow::OpKernelContext* ctx,
                               const char* name, int dims, const char* must,
                               tensorflow::Tensor* tensor) {
  const tensorflow::Tensor* given;
  TF_RETURN_IF_ERROR(ctx->input(name, &given));
  if (given->dims() != dims) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " (", given->shape().DebugString(), ") must ", must));
  }
  *tensor = *given;
  return absl::OkStatus();
}

// The same for a vector.
inline absl::Status ReadVector(tensorflow::OpKernelContext* ctx,
                               const char* name, tensorflow::Tensor* vector) {
  return ReadTensor(ctx, name, 1, "have one dimension", vector);
}

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DATASET_H_
