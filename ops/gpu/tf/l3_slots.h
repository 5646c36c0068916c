// Where batches of a kernel are decoded, used again and again.
#ifndef LIQUID_OPS_GPU_TF_L3_SLOTS_H_
#define LIQUID_OPS_GPU_TF_L3_SLOTS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/tf/tf_gpu.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {

// A lane, and memory of TensorFlow's allocator. The tensor's references tell
// when its consumers are done with it: only the slot's is left.
struct L3Slot {
  std::unique_ptr<L3Lane> lane;
  tensorflow::Tensor staging, pixels;
  bool is_decoding = false;  // or is made ready for it
  bool is_free = false;
  uint64_t freed = 0;  // the call of Take() that found it free
};

// Owns slots. Thread-safe; no slot may be decoding when it goes.
//
// TensorFlow drops its references to a tensor when the last step that reads it
// has been *enqueued*. So the memory may be written when the device has done
// all that was enqueued by then, and the decode stream waits for that. Memory
// that has been free for a call or more waits for steps of the past only, and
// not for the one that is running, beside which the batch is to be decoded:
// such a slot is taken, and where there is none, a new one is made. There come
// to be two more than batches are held. Where the device has no memory for a
// new one, the batch waits for the running step, in memory that is free now, or
// that others give back until TensorFlow has waited long enough.
class L3Slots {
 public:
  // Takes a slot for `staging` bytes and pixels of that type and shape. The
  // slot's `pixels` may have more images.
  absl::Status Take(const TfGpu& gpu, tensorflow::DataType type,
                    const tensorflow::TensorShape& shape, size_t staging,
                    L3Slot** taken);

  // Ends the decoding in a slot, well or not.
  void Return(L3Slot* slot);

 private:
  // Finds the slot that has been free for longest, of those that were free at
  // an earlier call, and one that this call found to be; nullptr for none.
  absl::Status FindFree(const TfGpu& gpu, L3Slot** found, L3Slot** just_freed);

  std::mutex mutex_;
  uint64_t calls_ = 0;
  std::vector<std::unique_ptr<L3Slot>> slots_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_TF_L3_SLOTS_H_
