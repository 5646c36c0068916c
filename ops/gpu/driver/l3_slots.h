// Where batches are decoded, used again and again.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_SLOTS_H_
#define LIQUID_OPS_GPU_DRIVER_L3_SLOTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/core/status.h"
#include "ops/gpu/driver/l3_lane.h"

namespace liquid {

// A lane, and memory of the device; whose it is, a subclass knows.
class L3Slot {
 public:
  virtual ~L3Slot() = default;

  // Whether nobody else has its pixels.
  virtual bool IsOurs() const = 0;
  // Has the next batch wait for what those who had them did until now. Called
  // once they are ours again.
  virtual Status WaitForOthers() = 0;

 private:
  friend class L3Slots;
  bool is_decoding_ = false;  // or is made ready for it
  bool is_free_ = false;
  uint64_t freed_ = 0;  // the call of Take() that found it free
};

// Owns slots, together with whoever has their pixels. Thread-safe; no slot may
// be decoding when it goes.
//
// Who had a slot's pixels lets go of them when the last step that reads them
// has been *enqueued*. So the memory may be written when the device has done
// all that was enqueued by then, and the decode stream waits for that. Memory
// that has been free for a call or more waits for steps of the past only, and
// not for the one that is running, beside which the batch is to be decoded:
// such a slot is taken, and where there is none, a new one is made. There come
// to be two more than batches are held. Where the device has no memory for a
// new one, the batch waits for the running step, in memory that is free now, or
// that others give back while `fit` waits.
class L3Slots {
 public:
  using Make = std::function<std::unique_ptr<L3Slot>()>;
  // Gives a slot what a batch needs. `may_wait`: for memory that is short.
  using Fit = std::function<Status(bool may_wait, L3Slot*)>;

  // Takes a slot that fits. Errors: those of `fit` and of WaitForOthers.
  Status Take(const Make& make, const Fit& fit, std::shared_ptr<L3Slot>* taken);

  // Ends the decoding in a slot, well or not.
  void Return(L3Slot* slot);

 private:
  using Slots = std::vector<std::shared_ptr<L3Slot>>;
  // Finds the slot that has been free for longest, of those that were free at
  // an earlier call, and one that this call found to be; null for none.
  Status FindFree(std::shared_ptr<L3Slot>* found,
                  std::shared_ptr<L3Slot>* just_freed);

  std::mutex mutex_;
  uint64_t calls_ = 0;
  Slots slots_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_SLOTS_H_
