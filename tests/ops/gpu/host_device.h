// A device made of one thread of the host: the kernels' own code, whose threads
// run one after the other between barriers, in an order that the test chooses.
// Where one of them reads what another writes without a barrier between, two
// orders come to different pixels.
#ifndef LIQUID_TESTS_OPS_GPU_HOST_DEVICE_H_
#define LIQUID_TESTS_OPS_GPU_HOST_DEVICE_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/codecs/jpeg/device/jpeg_device.cuh"
#include "ops/codecs/l3/device/l3_device.cuh"
#include "ops/gpu/plan/l3_plan.h"

namespace liquid {

// The `i`-th of `count` threads to run: as they are numbered, the other way
// round, or scattered.
enum class HostOrder { kForward, kBackward, kScattered };

inline uint32_t InOrder(HostOrder order, uint32_t i, uint32_t count) {
  switch (order) {
    case HostOrder::kBackward:
      return count - 1 - i;
    case HostOrder::kScattered:
      // `count` is 1 to 4, or 32, 64, 96, 128 or 512: 5 has no factor of it.
      return (i * 5 + 3) % count;
    default:
      return i;
  }
}

class HostWarp {
 public:
  template <typename T>
  struct LanesOf {
    // What the device leaves unspecified must not matter.
    LanesOf() { std::memset(values, 0xAD, sizeof(values)); }
    T values[kL3Warp];
    T& operator[](uint32_t lane) { return values[lane]; }
    const T& operator[](uint32_t lane) const { return values[lane]; }
  };
  using Lanes = LanesOf<uint32_t>;

  explicit HostWarp(HostOrder order) : order_(order) {}

  Lanes Zeros() const {
    Lanes lanes;
    for (uint32_t& value : lanes.values) value = 0;
    return lanes;
  }
  template <typename F>
  void Each(F f) {
    for (uint32_t i = 0; i < kL3Warp; ++i) f(InOrder(order_, i, kL3Warp));
  }
  template <typename F>
  void Compute(F f) {
    Each(f);
  }
  Lanes FromBelow(const Lanes& lanes, uint32_t places) {
    Lanes moved;
    for (uint32_t i = places; i < kL3Warp; ++i) moved[i] = lanes[i - places];
    return moved;
  }
  template <uint32_t kRun>
  void AddBelow(Lanes& lanes, uint32_t places) {
    const Lanes before = lanes;
    for (uint32_t i = 0; i < kL3Warp; ++i) {
      if (i % kRun >= places) lanes[i] += before[i - places];
    }
  }
  Lanes FromLane(const Lanes& lanes, const Lanes& which) {
    Lanes moved;
    for (uint32_t i = 0; i < kL3Warp; ++i) moved[i] = lanes[which[i] % kL3Warp];
    return moved;
  }
  uint32_t FromOne(const Lanes& lanes, uint32_t lane) { return lanes[lane]; }
  template <typename F>
  uint32_t Ballot(F f) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < kL3Warp; ++i) bits |= (f(i) ? 1u : 0u) << i;
    return bits;
  }
  uint32_t Xor(const Lanes& lanes) {
    uint32_t all = 0;
    for (uint32_t value : lanes.values) all ^= value;
    return all;
  }

 private:
  const HostOrder order_;
};

class HostBlock {
 public:
  using Warp = HostWarp;

  HostBlock(uint32_t threads, HostOrder order)
      : threads_(threads), order_(order) {}

  uint32_t Threads() const { return threads_; }
  template <typename F>
  void EachThread(F f) {
    for (uint32_t i = 0; i < threads_; ++i) f(InOrder(order_, i, threads_));
  }
  template <typename F>
  void EachWarp(uint32_t count, F f) {
    const uint32_t warps = std::min(count, threads_ / kL3Warp);
    for (uint32_t i = 0; i < warps; ++i) {
      HostWarp warp(order_);
      f(warp, InOrder(order_, i, warps));
    }
  }
  void PutAside(uint32_t number) { aside_ = number; }
  uint32_t TakeBack() const { return aside_; }

 private:
  const uint32_t threads_;
  const HostOrder order_;
  uint32_t aside_ = 0;
};

// Memory that begins at a multiple of 16 and ends exactly where it says, for
// the sanitizers.
class HostMemory {
 public:
  explicit HostMemory(size_t size, uint8_t fill = 0xA5)
      : bytes_(static_cast<uint8_t*>(std::aligned_alloc(
            kL3PieceBytes, std::max<size_t>(L3RoundUp(size), kL3PieceBytes)))),
        size_(size) {
    std::fill_n(bytes_.get(), L3RoundUp(size), fill);
  }
  uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<uint8_t, Free> bytes_;
  size_t size_;
};

// Plans all tasks of a batch; none is done.
inline std::vector<L3DeviceTask> PlanOnHost(const L3DeviceBatch& batch,
                                            const uint8_t* bytes,
                                            HostOrder order,
                                            std::vector<uint32_t>* results) {
  std::vector<L3DeviceTask> tasks(batch.n_tasks);
  results->resize(batch.n_tasks);
  HostBlock block(kL3PlanThreads, order);
  for (const L3DeviceImage& image : batch.images) {
    L3PlanImage(block, image, batch.runs.data(), bytes, tasks.data(),
                results->data());
  }
  return tasks;
}

// Adds what became of tasks.
inline void CheckOnHost(const std::vector<L3DeviceTask>& tasks,
                        const std::vector<uint32_t>& results, HostOrder order,
                        L3DeviceFindings* findings) {
  HostBlock block(kL3PlanThreads, order);
  const auto count = static_cast<uint32_t>(tasks.size());
  for (uint32_t i = 0; i < count; i += kL3PlanThreads) {
    L3CheckTasks(block, tasks.data(), results.data(), i,
                 std::min(count, i + kL3PlanThreads), findings);
  }
}

// Does `count` tasks of that kind, one after the other.
template <L3TaskKind kKind, typename Sample, typename Out,
          typename Variant = L3FastV1>
void DoTasksOnHost(const L3DeviceOutput& output, const L3DeviceTask* tasks,
                   uint32_t count, const uint8_t* bytes, Out* pixels,
                   uint32_t* results, uint32_t threads, uint32_t shared_bytes,
                   HostOrder order) {
  HostBlock block(threads, order);
  // One block does every task: what it leaves behind must not matter.
  const HostMemory memory(shared_bytes);
  const uint32_t most = L3TasksAtOnce<kKind, Sample>(output.channels);
  for (uint32_t i = 0; i < count; i += most) {
    L3DoTasksAtOnce<kKind, Sample, Out, Variant>(
        block, tasks, &i, count, bytes, output, pixels, memory.data(), results);
  }
}

// Plans, does and checks all tasks of a batch. `pixels` takes them, at any
// address that suits Out.
template <typename Sample, typename Out, typename Variant = L3FastV1>
L3DeviceFindings DoOnHost(const L3DeviceBatch& batch, const uint8_t* bytes,
                          const L3DeviceOutput& output, Out* pixels,
                          HostOrder order = HostOrder::kForward) {
  std::vector<uint32_t> results;
  const std::vector<L3DeviceTask> tasks =
      PlanOnHost(batch, bytes, order, &results);
  for (const L3DeviceLaunch& launch : batch.launches) {
    const auto run = [&](auto kernel) {
      kernel(output, &tasks[launch.first], launch.count, bytes, pixels,
             &results[launch.first], launch.threads, launch.shared_bytes,
             order);
    };
    switch (launch.kind) {
      case L3TaskKind::kV2:
        run(DoTasksOnHost<L3TaskKind::kV2, Sample, Out>);
        break;
      case L3TaskKind::kCompact:
        run(DoTasksOnHost<L3TaskKind::kCompact, Sample, Out>);
        break;
      case L3TaskKind::kV1:
        if constexpr (sizeof(Sample) == 1) {
          run(DoTasksOnHost<L3TaskKind::kV1, Sample, Out, Variant>);
        }
        break;
      case L3TaskKind::kRaw:
        run(DoTasksOnHost<L3TaskKind::kRaw, Sample, Out>);
        break;
      default:
        std::abort();  // JPEG needs scratch memory
    }
  }
  L3DeviceFindings findings;
  CheckOnHost(tasks, results, order, &findings);
  return findings;
}

// Does `count` tasks of one of JPEG's kinds, one after the other.
template <L3TaskKind kKind>
void DoJpegTasksOnHost(const JpegDeviceImage* images, const L3DeviceTask* tasks,
                       uint32_t count, const uint8_t* bytes, uint8_t* scratch,
                       uint32_t* results, uint32_t threads,
                       uint32_t shared_bytes, HostOrder order) {
  HostBlock block(threads, order);
  const HostMemory memory(shared_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    JpegDoTask<kKind>(block, tasks[i], images, bytes, scratch, memory.data(),
                      &results[i]);
  }
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_GPU_HOST_DEVICE_H_
