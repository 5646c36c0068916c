// How work of the host for a device is shared among threads.
#ifndef LIQUID_OPS_GPU_PLAN_PARALLEL_H_
#define LIQUID_OPS_GPU_PLAN_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace liquid {

// Calls its last argument for parts [first, last) of `count` pieces of work,
// maybe on several threads, until all are done. Each takes about so many
// cycles.
using L3Parallel = std::function<void(
    int64_t count, int64_t cycles,
    const std::function<void(int64_t first, int64_t last)>&)>;

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_PARALLEL_H_
