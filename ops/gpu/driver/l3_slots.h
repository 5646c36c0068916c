// Where batches are decoded, used again and again.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_SLOTS_H_
#define LIQUID_OPS_GPU_DRIVER_L3_SLOTS_H_

#include <cstddef>
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
  // Gives its memory back, what it has of it; `fit` gives it other. Called
  // while it is free, or was not lent yet.
  virtual void LetGo() = 0;

 private:
  friend class L3Slots;
  bool is_decoding_ = false;  // or is made ready for it, or for another
  bool is_empty_ = false;     // it was made to give its memory back
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
// to be two more than batches are held. Who lets go of many leaves more: those
// that none of some dozens of calls needed go. Where the device has no memory
// for a new one, the batch waits for the running step, in memory that is free
// now, or that others give back while `fit` waits. A batch that is larger than
// those before it gets what all free slots have, before it is told that there
// is no more. A slot that gave its memory for that is as good as a new one.
class L3Slots {
 public:
  using Make = std::function<std::unique_ptr<L3Slot>()>;
  // Gives a slot what a batch needs. `may_wait`: for memory that is short.
  using Fit = std::function<Status(bool may_wait, L3Slot*)>;

  // Takes a slot that fits. Errors: those of `fit`, and one of WaitForOthers,
  // whose slot goes with it: the next call has another one.
  Status Take(const Make& make, const Fit& fit, std::shared_ptr<L3Slot>* taken);

  // Ends the decoding in a slot, well or not.
  void Return(L3Slot* slot);

 private:
  using Slots = std::vector<std::shared_ptr<L3Slot>>;
  // Slots that are free, or null.
  struct Free {
    // For longest, of those that were free at an earlier call; one that this
    // call found to be; and one that has no memory.
    std::shared_ptr<L3Slot> longest, just_freed, emptied;
    // Whose pixels others had, until nobody knows when. No batch gets it.
    std::shared_ptr<L3Slot> lost;
  };
  Status FindFree(Free* found);
  // Fits a slot that was taken, by what the free ones have where need be.
  Status FitTaken(const Fit& fit, L3Slot* slot);
  // Takes free slots that no call has needed for long out of those that are
  // here. With the lock.
  Slots TakeSurplus();
  // Whether a slot is free and has memory. With the lock.
  static bool HasIdleMemory(const L3Slot& slot);
  // Whether any is so. With the lock.
  bool AnyToEmpty() const;
  // Has them give it back.
  void Empty();

  std::mutex mutex_;
  uint64_t calls_ = 0;
  // Slots with memory that calls left free, at least, since the last time that
  // surplus ones went.
  size_t least_idle_ = SIZE_MAX;
  Slots slots_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_SLOTS_H_
