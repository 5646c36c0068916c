// A condition variable that an older C++ library has, too.
#ifndef LIQUID_OPS_CORE_CONDITION_H_
#define LIQUID_OPS_CORE_CONDITION_H_

#include <pthread.h>

#include <condition_variable>
#include <mutex>

namespace liquid {

// std::condition_variable for locks without a deadline. Its own wait() is a
// symbol that the C++ library has since GCC 12 only; a library that calls it
// does not load on systems as old as manylinux_2_34 allows. Thread-safe.
class Condition {
 public:
  // `lock` holds its mutex, before and after. May wake without a notification.
  void Wait(std::unique_lock<std::mutex>& lock) {
    pthread_cond_wait(condition_.native_handle(),
                      lock.mutex()->native_handle());
  }

  // Waits until `done`, which is called with the mutex held, is true.
  template <typename Done>
  void Wait(std::unique_lock<std::mutex>& lock, Done done) {
    while (!done()) Wait(lock);
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_CONDITION_H_
