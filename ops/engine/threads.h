// Threads that run functions, in the order in which these come.
#ifndef LIQUID_OPS_ENGINE_THREADS_H_
#define LIQUID_OPS_ENGINE_THREADS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ops/core/condition.h"
#include "ops/core/status.h"

namespace liquid {

// Starts a thread. Error: Unavailable where the system gives none.
Status StartThread(std::function<void()> work, std::thread* thread);

// Thread-safe. The destructor waits for all functions that were added.
class Threads {
 public:
  // Error: that of StartThread.
  static Status Create(int64_t count, std::unique_ptr<Threads>* threads);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void Run(std::function<void()> work);

 private:
  Threads() = default;
  void Work();

  std::mutex mu_;
  Condition changed_;
  std::deque<std::function<void()>> waiting_;  // guarded by mu_
  bool ends_ = false;                          // likewise
  std::vector<std::thread> threads_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_THREADS_H_
