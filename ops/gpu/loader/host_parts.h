// What the host does of a batch for a GPU, in parts.
#ifndef LIQUID_OPS_GPU_LOADER_HOST_PARTS_H_
#define LIQUID_OPS_GPU_LOADER_HOST_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "ops/core/status.h"
#include "ops/engine/threads.h"

namespace liquid {

// Threads that share it. Thread-safe.
class HostParts {
 public:
  // As many threads as `most` and the bus, which a few keep busy, allow. Error:
  // that of Threads::Create.
  static Status Create(int64_t most, std::unique_ptr<HostParts>* parts);

  // As L3Parallel; what is not worth a thread is done by the caller's.
  void Run(int64_t count, int64_t cycles,
           const std::function<void(int64_t, int64_t)>& part);

 private:
  HostParts() = default;

  int64_t most_ = 1;
  std::unique_ptr<Threads> threads_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_LOADER_HOST_PARTS_H_
