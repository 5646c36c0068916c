// Holds reads of FakeShards back.
#ifndef LIQUID_TESTS_OPS_READER_GATE_H_
#define LIQUID_TESTS_OPS_READER_GATE_H_

#include <condition_variable>
#include <mutex>

#include "tests/ops/reader/fake_shards.h"

namespace liquid {

// Makes reads wait until it is opened.
class Gate {
 public:
  FakeShards::Hook Hook() {
    return [this](const ShardRead&) {
      std::unique_lock<std::mutex> lock(mu_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      --waiting_;
      changed_.notify_all();
      return OkStatus();
    };
  }
  void WaitForReads(int count) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  void Open() {
    std::unique_lock<std::mutex> lock(mu_);
    open_ = true;
    changed_.notify_all();
    // Whoever waited still writes here.
    changed_.wait(lock, [this] { return waiting_ == 0; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_READER_GATE_H_
