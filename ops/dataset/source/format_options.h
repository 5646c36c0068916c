// Inputs of Liquid>FormatDataset, checked.
#ifndef LIQUID_OPS_DATASET_SOURCE_FORMAT_OPTIONS_H_
#define LIQUID_OPS_DATASET_SOURCE_FORMAT_OPTIONS_H_

#include "ops/message/messages.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {

struct FormatInputs {
  // As given, so that the dataset can be serialized again.
  tensorflow::tstring plan;
  tensorflow::Tensor chosen;  // uint8, a bit for each sample number
  FormatMessage message;      // what `plan` holds

  // Error: InvalidArgument that names input, value and constraint.
  absl::Status Read(tensorflow::OpKernelContext* ctx);
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_FORMAT_OPTIONS_H_
