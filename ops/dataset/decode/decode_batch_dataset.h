// The dataset of Liquid>DecodeBatchDataset: batches of pixels.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_

#include <cstdint>
#include <vector>

#include "ops/dataset/dataset.h"
#include "ops/dataset/decode/batch_assembler.h"
#include "ops/dataset/decode/batch_decoder.h"
#include "ops/dataset/decode/decode_options.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {

class DecodeBatchIterator;

class DecodeBatchDataset
    : public DatasetOf<DecodeBatchDataset, DecodeBatchIterator> {
 public:
  static constexpr char kName[] = "LiquidDecodeBatch";

  DecodeBatchDataset(tensorflow::OpKernelContext* ctx,
                     const tensorflow::data::DatasetBase* input,
                     DecodeAttributes attributes, DecodeInputs inputs,
                     DecodeConfig config, std::vector<OutputFeature> features);

  int64_t CardinalityInternal(
      tensorflow::data::CardinalityOptions options) const override {
    return input()->Cardinality(options);
  }

  const DecodeMessage& message() const { return given_.message; }
  const BatchDecoder& decoder() const { return decoder_; }
  const std::vector<OutputFeature>& features() const { return features_; }

 protected:
  absl::Status AsGraphDefInternal(tensorflow::data::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override;

 private:
  const DecodeInputs given_;
  const BatchDecoder decoder_;
  const std::vector<OutputFeature> features_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_BATCH_DATASET_H_
