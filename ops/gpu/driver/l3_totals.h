// What decoding on devices has taken so far, in this process.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_TOTALS_H_
#define LIQUID_OPS_GPU_DRIVER_L3_TOTALS_H_

#include <cstdint>
#include <mutex>

#include "ops/gpu/driver/l3_lane.h"

namespace liquid {

// Thread-safe.
class L3Totals {
 public:
  struct Values {
    int64_t images = 0;
    int64_t bytes = 0;  // that crossed the bus for them
    L3LaneTimes times;
  };

  // Those of the process; they are never destroyed.
  static L3Totals& Process();

  // Adds a batch.
  void Add(int64_t images, int64_t bytes, const L3LaneTimes& times);
  Values Get() const;

 private:
  mutable std::mutex mutex_;
  Values values_;  // guarded by mutex_
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_TOTALS_H_
