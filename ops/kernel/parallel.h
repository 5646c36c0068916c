// Work of a kernel that is shared among TensorFlow's threads.
#ifndef LIQUID_OPS_KERNEL_PARALLEL_H_
#define LIQUID_OPS_KERNEL_PARALLEL_H_

#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/threadpool.h"

namespace liquid {

// The process that loaded the op library.
inline const pid_t kLoadedIn = getpid();

// Whether a pool that TensorFlow made has its threads. A forked child has its
// parent's pool and none of the threads: it did not load the library, or, where
// its parent did not either, has fewer threads than the pool alone would.
inline bool HasItsThreads(const tensorflow::thread::ThreadPool& pool) {
  static std::atomic<bool> seen{false};
  if (getpid() != kLoadedIn) return false;
  if (seen) return true;
  DIR* const folder = opendir("/proc/self/task");
  if (folder == nullptr) return true;
  int threads = 0;
  while (const dirent* const entry = readdir(folder)) {
    threads += entry->d_name[0] != '.';
  }
  closedir(folder);
  seen = threads > pool.NumThreads();
  return seen;
}

// Calls `work(begin, end)` for parts of [0, n), on several threads, and returns
// when all is done. `cost`: of one, in cycles.
//
// In a forked child, which would wait for threads that it has not, all is done
// on the calling thread.
inline void ParallelFor(tensorflow::OpKernelContext* context, int64_t n,
                        int64_t cost,
                        const std::function<void(int64_t, int64_t)>& work) {
  tensorflow::thread::ThreadPool* const pool =
      context->device()->tensorflow_cpu_worker_threads()->workers;
  if (n <= 1 || !HasItsThreads(*pool)) {
    work(0, n);
  } else {
    pool->ParallelFor(n, cost, work);
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_KERNEL_PARALLEL_H_
