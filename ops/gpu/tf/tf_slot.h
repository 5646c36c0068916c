// Where batches of a kernel are decoded: memory of TensorFlow's allocator.
#ifndef LIQUID_OPS_GPU_TF_TF_SLOT_H_
#define LIQUID_OPS_GPU_TF_TF_SLOT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/driver/l3_slots.h"
#include "ops/gpu/tf/tf_gpu.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {

// The tensor's references tell when its consumers are done with it: only the
// slot's is left. TensorFlow drops them when the last step that reads it has
// been enqueued.
class TfSlot : public L3Slot {
 public:
  explicit TfSlot(const TfGpu& gpu) : gpu_(gpu) {}

  bool IsOurs() const override;
  Status WaitForOthers() override { return lane_->WaitFor(gpu_.compute); }
  void LetGo() override {
    pixels_.clear();
    staging_ = tensorflow::Tensor();
  }

  // An array of pixels.
  struct Array {
    tensorflow::DataType type;
    tensorflow::TensorShape shape;
  };

  // Makes it have `staging` bytes, and pixels of those types and shapes, or of
  // more images. Where memory is short, TensorFlow waits for seconds for what
  // is freed meanwhile, if it may. ResourceExhausted where there is none.
  Status Fit(const std::vector<Array>& arrays, size_t staging, bool may_wait);

  L3Lane* lane() const { return lane_.get(); }
  // Of the array of that number.
  const tensorflow::Tensor& pixels(size_t number) const {
    return pixels_[number];
  }
  L3LaneMemory memory() const {
    L3LaneMemory memory;
    memory.staging = reinterpret_cast<CuAddress>(staging_.data());
    for (const tensorflow::Tensor& pixels : pixels_) {
      memory.pixels.push_back(reinterpret_cast<CuAddress>(pixels.data()));
    }
    return memory;
  }

 private:
  absl::Status Allocate(tensorflow::DataType type,
                        const tensorflow::TensorShape& shape, bool may_wait,
                        tensorflow::Tensor* tensor) const;
  absl::Status TryFit(const std::vector<Array>& arrays, size_t staging,
                      bool may_wait);

  const TfGpu gpu_;
  std::unique_ptr<L3Lane> lane_;
  tensorflow::Tensor staging_;
  std::vector<tensorflow::Tensor> pixels_;  // of each array
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_TF_TF_SLOT_H_
