// What datasets without inputs share: one scalar an element, and nothing below.
#ifndef LIQUID_OPS_KERNEL_SOURCE_DATASET_H_
#define LIQUID_OPS_KERNEL_SOURCE_DATASET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {

// Immutable, and so thread-safe.
class SourceDataset : public tensorflow::data::DatasetBase {
 public:
  SourceDataset(tensorflow::OpKernelContext* ctx, tensorflow::DataType type)
      : DatasetBase(tensorflow::data::DatasetContext(ctx)),
        types_({type}),
        shapes_({tensorflow::PartialTensorShape({})}) {}

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
    inputs->clear();
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override { return absl::OkStatus(); }

 private:
  const tensorflow::DataTypeVector types_;
  const std::vector<tensorflow::PartialTensorShape> shapes_;
};

// An iterator of a SourceDataset, without state unless it overrides these.
template <typename Dataset>
class SourceIterator : public tensorflow::data::DatasetIterator<Dataset> {
 public:
  using tensorflow::data::DatasetIterator<Dataset>::DatasetIterator;
  bool SymbolicCheckpointCompatible() const override { return true; }

 protected:
  std::shared_ptr<tensorflow::data::model::Node> CreateNode(
      tensorflow::data::IteratorContext* ctx,
      tensorflow::data::model::Node::Args args) const override {
    return tensorflow::data::model::MakeSourceNode(std::move(args));
  }
  absl::Status SaveInternal(tensorflow::data::SerializationContext*,
                            tensorflow::data::IteratorStateWriter*) override {
    return absl::OkStatus();
  }
  absl::Status RestoreInternal(
      tensorflow::data::IteratorContext*,
      tensorflow::data::IteratorStateReader*) override {
    return absl::OkStatus();
  }
};

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_SOURCE_DATASET_H_
