// Attributes and inputs of Liquid>DecodeBatchDataset, and what they mean.
#ifndef LIQUID_OPS_DATASET_DECODE_DECODE_OPTIONS_H_
#define LIQUID_OPS_DATASET_DECODE_DECODE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/dataset/decode/batch_assembler.h"
#include "ops/dataset/decode/batch_decoder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {

struct DecodeAttributes {
  std::vector<std::string> features;
  std::vector<std::string> masks;
  std::vector<std::string> box_columns;
  int64_t box_pad = 0;
  std::vector<int64_t> keypoint_flip;
  bool ragged = false;
  std::vector<std::string> recipe;  // see ops/image/recipe_text.h
  int64_t image_bits = 8;           // as stored
  bool skip_errors = false;
  bool repeat_to_fill = false;
  bool round_batch = false;
  tensorflow::DataTypeVector output_types;
  std::vector<tensorflow::PartialTensorShape> output_shapes;

  absl::Status Read(tensorflow::OpKernelConstruction* ctx);
};

struct DecodeInputs {
  int64_t batch_size = 0;
  int64_t seed = 0;
  int64_t max_pixels = 0;
  int64_t max_scans = 0;
  // -1: tf.data's autotuner says.
  int64_t lookahead = 0;  // batches in flight
  int64_t most_lookahead = 0;
  int64_t parallelism = 0;        // threads that decode
  double min_visible = 0;         // of a box
  tensorflow::Tensor mean_image;  // float [height, width, channels]; or empty

  absl::Status Read(tensorflow::OpKernelContext* ctx);
};

// Error: InvalidArgument that names the feature and what does not fit it.
absl::Status Configure(const DecodeAttributes& attributes,
                       const DecodeInputs& inputs, DecodeConfig* config,
                       std::vector<OutputFeature>* features);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_DECODE_OPTIONS_H_
