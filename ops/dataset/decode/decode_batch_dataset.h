// The dataset of Liquid>DecodeBatchDataset: batches of pixels.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/dataset/decode/batch_assembler.h"
#include "ops/dataset/decode/batch_decoder.h"
#include "ops/dataset/decode/decode_options.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {

// Immutable, and so thread-safe. Holds a reference to its input.
class DecodeBatchDataset : public tensorflow::data::DatasetBase {
 public:
  DecodeBatchDataset(tensorflow::OpKernelContext* ctx,
                     const tensorflow::data::DatasetBase* input,
                     DecodeAttributes attributes, DecodeInputs inputs,
                     DecodeConfig config, std::vector<OutputFeature> features);
  ~DecodeBatchDataset() override;

  std::unique_ptr<tensorflow::data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;
  const tensorflow::DataTypeVector& output_dtypes() const override {
    return attributes_.output_types;
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    return attributes_.output_shapes;
  }
  std::string DebugString() const override;
  int64_t CardinalityInternal(
      tensorflow::data::CardinalityOptions options) const override;
  absl::Status InputDatasets(
      std::vector<const tensorflow::data::DatasetBase*>* inputs) const override;
  absl::Status CheckExternalState() const override;

  const tensorflow::data::DatasetBase* input() const { return input_; }
  const DecodeMessage& message() const { return inputs_.message; }
  const BatchDecoder& decoder() const { return decoder_; }
  const std::vector<OutputFeature>& features() const { return features_; }

 protected:
  absl::Status AsGraphDefInternal(tensorflow::data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override;

 private:
  const tensorflow::data::DatasetBase* const input_;
  const DecodeAttributes attributes_;
  const DecodeInputs inputs_;
  const BatchDecoder decoder_;
  const std::vector<OutputFeature> features_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_
