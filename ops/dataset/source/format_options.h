// Inputs of Liquid>FormatDataset, checked.
#ifndef LIQUID_OPS_DATASET_SOURCE_FORMAT_OPTIONS_H_
#define LIQUID_OPS_DATASET_SOURCE_FORMAT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {

// As given, so that the dataset can be serialized again.
struct FormatInputs {
  tensorflow::tstring index;
  tensorflow::tstring pcr_index;
  int64_t index_crc32c = 0;
  std::vector<tensorflow::tstring> paths;
  std::vector<int64_t> splits;
  tensorflow::Tensor chosen;  // uint8, a bit for each sample number
  int64_t format = 0;
  int64_t start = 0;
  int64_t length = -1;  // -1: all
  int64_t threads = 0;
  int64_t lookahead_bytes = 0;
  tensorflow::tstring reader;
  std::vector<tensorflow::tstring> replica_paths;
  std::vector<int64_t> replica_formats;

  // Error: InvalidArgument that names input, value and constraint.
  absl::Status Read(tensorflow::OpKernelContext* ctx);
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_FORMAT_OPTIONS_H_
