// Attributes and inputs of Liquid>DecodeBatchDataset, and what they mean.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_OPTIONS_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_OPTIONS_H_

#include <vector>

#include "ops/dataset/decode/batch_assembler.h"
#include "ops/dataset/decode/batch_decoder.h"
#include "ops/message/messages.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {

struct DecodeAttributes {
  tensorflow::DataTypeVector output_types;
  std::vector<tensorflow::PartialTensorShape> output_shapes;

  absl::Status Read(tensorflow::OpKernelConstruction* ctx);
};

struct DecodeInputs {
  tensorflow::tstring plan;       // as given, to serialize the dataset again
  tensorflow::Tensor mean_image;  // float [height, width, channels]; or empty
  DecodeMessage message;          // what `plan` holds

  absl::Status Read(tensorflow::OpKernelContext* ctx);
};

// Error: InvalidArgument that names the feature and what does not fit it.
absl::Status Configure(const DecodeAttributes& attributes,
                       const DecodeInputs& inputs, DecodeConfig* config,
                       std::vector<OutputFeature>* features);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_OPTIONS_H_
