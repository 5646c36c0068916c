// Batches that go from bytes in the host's memory to pixels on the device, as
// decode="gpu" sends them.
#ifndef LIQUID_OPS_GPU_BENCH_LANES_H_
#define LIQUID_OPS_GPU_BENCH_LANES_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ops/gpu/bench/decoding.h"
#include "ops/gpu/bench/device.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/plan/device_batch.h"

namespace liquid {

// Threads that do parts of some work together, with the one that asks.
class BenchThreads {
 public:
  explicit BenchThreads(size_t count);
  ~BenchThreads();
  BenchThreads(const BenchThreads&) = delete;
  BenchThreads& operator=(const BenchThreads&) = delete;

  size_t count() const { return threads_.size() + 1; }
  // Calls part(i) for every i under `count`.
  void Run(size_t count, const std::function<void(size_t)>& part);
  // Calls part(first, last) for parts that make up [0, count).
  void Share(int64_t count, const std::function<void(int64_t, int64_t)>& part);

 private:
  void Work();
  void DoParts(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(size_t)>* part_ = nullptr;
  size_t next_ = 0, count_ = 0, working_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

// What the host took for a batch, in milliseconds, and the device.
struct BenchParts {
  double plan = 0, fill = 0;
  L3LaneTimes device;
};

// Some lanes with memory of the device, one batch in each at a time.
class BenchLanes {
 public:
  // `count` files of one format, what becomes of them in the first epoch of
  // `steps`, whose images are of one size. `registered`: the device reads the
  // files by itself, as it does the records of decode="gpu"; else they are
  // gathered.
  static Status Make(const BenchDevice& device, const Photographs& photographs,
                     const std::string& format, size_t count,
                     const DeviceSteps& steps, bool registered, size_t lanes,
                     BenchThreads* threads, std::unique_ptr<BenchLanes>* made);
  // Waits for what is under way.
  ~BenchLanes();

  // Plans a batch and starts it, in the lane whose turn it is; waits for the
  // batch that is there. DataLoss where its pixels could not be decoded.
  Status Start();
  // Waits for all batches.
  Status Finish();
  // Whether the pixels of every lane's last batch are those of the processors.
  Status Check(const std::string& what) const;

  // Of the batch that ended last.
  const BenchParts& parts() const { return parts_; }
  size_t stored_bytes() const { return stored_bytes_; }
  size_t pixel_bytes() const { return pixel_bytes_; }

 private:
  struct Slot {
    std::unique_ptr<L3Lane> lane;
    L3LaneMemory memory = {};
    DeviceBatch batch;
    BenchParts parts;
    bool is_under_way = false;
    CuResult result = 0;
    bool is_done = false;
  };

  BenchLanes(const BenchDevice& device, const Photographs& photographs,
             const std::string& format, const DeviceSteps& steps,
             BenchThreads* threads)
      : device_(device),
        photographs_(photographs),
        format_(format),
        steps_(steps),
        threads_(threads) {}
  Status Register();
  Status Plan(DeviceBatch* batch) const;
  Status Wait(Slot& slot);

  const BenchDevice& device_;
  const Photographs& photographs_;
  const std::string format_;
  const DeviceSteps steps_;
  BenchThreads* const threads_;
  std::vector<L3DeviceFile> files_;
  std::vector<SamplePlan> plans_;  // of each file
  uint8_t* registered_ = nullptr;  // the files
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::unique_ptr<Slot>> slots_;
  size_t turn_ = 0;
  size_t stored_bytes_ = 0, pixel_bytes_ = 0;
  BenchParts parts_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_LANES_H_
