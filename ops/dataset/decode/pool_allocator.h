// Tensors whose memory is of the process's pool: used again, and given back to
// the system as soon as nobody may keep it. TensorFlow's own allocator grows by
// doubling and keeps all that it ever had.
#ifndef LIQUID_OPS_DATASET_DECODE_POOL_ALLOCATOR_H_
#define LIQUID_OPS_DATASET_DECODE_POOL_ALLOCATOR_H_

#include "ops/core/status.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace liquid {

// Error: Unavailable.
Status PoolTensor(tensorflow::DataType dtype,
                  const tensorflow::TensorShape& shape,
                  tensorflow::Tensor* tensor);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_POOL_ALLOCATOR_H_
