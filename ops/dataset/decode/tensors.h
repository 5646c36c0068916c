// Batches in tensors, and what the engine makes of one as tensors.
#ifndef LIQUID_OPS_DATASET_DECODE_TENSORS_H_
#define LIQUID_OPS_DATASET_DECODE_TENSORS_H_

#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/array.h"
#include "ops/engine/batch_assembler.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace liquid {

// Gives tensors whose memory is of the process's pool: used again, and given
// back to the system as soon as nothing may keep it. TensorFlow's own allocator
// grows by doubling and keeps all that it ever had. Thread-safe.
class TensorAllocator : public BatchAllocator {
 public:
  // The one of the process, which is never destroyed.
  static TensorAllocator& Process();

  Status Allocate(DType dtype, std::vector<int64_t> shape,
                  Array* array) override;
  Status Keep(ByteSpan bytes, std::unique_ptr<Blob>* blob) override;
};

// The engine's name of a type; false for one that it does not have.
bool ToDType(tensorflow::DataType type, DType* dtype);

// Moves outputs of a batch whose memory is TensorAllocator's. The batch may go
// then.
std::vector<tensorflow::Tensor> ToTensors(std::vector<Output> outputs);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_TENSORS_H_
