// The dataset of Liquid>DecodeBatchDataset: batches of pixels.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_

#include <cstdint>
#include <vector>

#include "ops/dataset/dataset.h"
#include "ops/engine/decode_config.h"
#include "ops/message/messages.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {

class DecodeBatchIterator;

// Inputs besides the dataset, as given, to serialize the dataset again.
struct DecodeInputs {
  tensorflow::tstring plan;
  tensorflow::Tensor mean_image;  // float [height, width, channels]; or empty
};

class DecodeBatchDataset
    : public DatasetOf<DecodeBatchDataset, DecodeBatchIterator> {
 public:
  static constexpr char kName[] = "LiquidDecodeBatch";

  DecodeBatchDataset(tensorflow::OpKernelContext* ctx,
                     const tensorflow::data::DatasetBase* input,
                     tensorflow::DataTypeVector types,
                     std::vector<tensorflow::PartialTensorShape> shapes,
                     DecodeInputs inputs, DecodeMessage message,
                     DecodeConfig config, std::vector<OutputFeature> features);

  int64_t CardinalityInternal(
      tensorflow::data::CardinalityOptions options) const override {
    return input()->Cardinality(options);
  }

  const DecodeMessage& message() const { return message_; }
  const BatchDecoder& decoder() const { return decoder_; }
  const std::vector<OutputFeature>& features() const { return features_; }

 protected:
  absl::Status AsGraphDefInternal(tensorflow::data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override;

 private:
  const DecodeInputs given_;
  const DecodeMessage message_;
  const BatchDecoder decoder_;
  const std::vector<OutputFeature> features_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_
