// Where batches of a kernel are decoded: memory of TensorFlow's allocator.
#ifndef LIQUID_OPS_GPU_TF_TF_SLOT_H_
#define LIQUID_OPS_GPU_TF_TF_SLOT_H_

#include <cstddef>
#include <memory>

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
  void LetGo() override { pixels_ = staging_ = tensorflow::Tensor(); }

  // Makes it have `staging` bytes, and pixels of that type and shape, or of
  // more images. Where memory is short, TensorFlow waits for seconds for what
  // is freed meanwhile, if it may. ResourceExhausted where there is none.
  Status Fit(tensorflow::DataType type, const tensorflow::TensorShape& shape,
             size_t staging, bool may_wait);

  L3Lane* lane() const { return lane_.get(); }
  const tensorflow::Tensor& pixels() const { return pixels_; }
  L3LaneMemory memory() const {
    return {reinterpret_cast<CuAddress>(staging_.data()),
            reinterpret_cast<CuAddress>(pixels_.data())};
  }

 private:
  absl::Status Allocate(tensorflow::DataType type,
                        const tensorflow::TensorShape& shape, bool may_wait,
                        tensorflow::Tensor* tensor) const;
  absl::Status TryFit(tensorflow::DataType type,
                      const tensorflow::TensorShape& shape, size_t staging,
                      bool may_wait);

  const TfGpu gpu_;
  std::unique_ptr<L3Lane> lane_;
  tensorflow::Tensor staging_, pixels_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_TF_TF_SLOT_H_
