// Threads that run functions, in the order in which these come.
#ifndef LIQUID_OPS_ENGINE_THREADS_H_
#define LIQUID_OPS_ENGINE_THREADS_H_

#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ops/core/condition.h"

namespace liquid {

// Thread-safe. The destructor waits for all functions that were added.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void Run(std::function<void()> work);

 private:
  void Work();

  std::mutex mu_;
  Condition changed_;
  std::deque<std::function<void()>> waiting_;  // guarded by mu_
  bool ends_ = false;                          // likewise
  std::vector<std::thread> threads_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_THREADS_H_
