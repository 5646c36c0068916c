// For how long reads were under way, and what they brought.
#ifndef LIQUID_OPS_READER_READ_CLOCK_H_
#define LIQUID_OPS_READER_READ_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <mutex>

namespace liquid {

// Thread-safe. Seconds in which at least one read was under way, over all
// streams that share the clock.
class ReadClock {
 public:
  void Begin() {
    std::lock_guard<std::mutex> lock(mu_);
    if (under_way_++ == 0) since_ = Clock::now();
  }
  void End(uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mu_);
    bytes_ += bytes;
    if (--under_way_ == 0) seconds_ += Since();
  }
  double seconds() const {
    std::lock_guard<std::mutex> lock(mu_);
    return under_way_ == 0 ? seconds_ : seconds_ + Since();
  }

  // Of reads that have ended.
  uint64_t bytes() const {
    std::lock_guard<std::mutex> lock(mu_);
    return bytes_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double Since() const {
    return std::chrono::duration<double>(Clock::now() - since_).count();
  }

  mutable std::mutex mu_;
  // All below guarded by mu_.
  int under_way_ = 0;
  Clock::time_point since_;
  double seconds_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_CLOCK_H_
