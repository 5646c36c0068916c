// A GPU that is measured: its primary context, memory, and the clock of its
// events.
#ifndef LIQUID_OPS_GPU_BENCH_DEVICE_H_
#define LIQUID_OPS_GPU_BENCH_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ops/core/status.h"
#include "ops/gpu/bench/step.h"
#include "ops/gpu/driver/cuda_driver.h"

namespace liquid {

// What is used of the driver here, and nowhere else in the library.
#define LIQUID_BENCH_FUNCTIONS(X)                                     \
  X(device_name, "cuDeviceGetName", (char* name, int size, CuDevice)) \
  X(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))  \
  X(copy, "cuMemcpyDtoDAsync_v2",                                     \
    (CuAddress to, CuAddress from, size_t size, CuStream))            \
  X(fill, "cuMemsetD8Async",                                          \
    (CuAddress, unsigned char value, size_t size, CuStream))          \
  X(host_register, "cuMemHostRegister_v2",                            \
    (void*, size_t size, unsigned flags))                             \
  X(host_unregister, "cuMemHostUnregister", (void*))

struct BenchDriver {
#define LIQUID_BENCH_MEMBER(member, symbol, parameters) \
  CuResult(*member) parameters = nullptr;
  LIQUID_BENCH_FUNCTIONS(LIQUID_BENCH_MEMBER)
#undef LIQUID_BENCH_MEMBER
};

// Milliseconds of something that was done several times.
struct BenchTimes {
  double median = 0, min = 0, max = 0;
  int repeats = 0;
  Row ToRow() const;
};

// Holds the first GPU; its context is the thread's, for as long as it lives.
// Its process is short: memory that is not given back ends with that.
class BenchDevice {
 public:
  static Status Open(const BenchOptions& options,
                     std::unique_ptr<BenchDevice>* device);

  const CudaDriver& driver() const { return driver_; }
  const BenchDriver& more() const { return more_; }
  CuContext context() const { return context_; }
  CuStream stream() const { return stream_; }
  CuDevice number() const { return number_; }

  Status Allocate(size_t size, CuAddress* memory) const;
  // Memory that the GPU reads by itself.
  Status AllocatePinned(size_t size, uint8_t** memory) const;
  Status Synchronize() const;
  // Copies by the stream, and waits.
  Status CopyIn(CuAddress to, const void* from, size_t size) const;
  Status CopyOut(void* to, CuAddress from, size_t size) const;

  // Times what `start` starts on stream(), between two events around some of
  // them, behind one that keeps the device busy.
  Status OnDevice(const std::function<Status()>& start,
                  BenchTimes* times) const;
  // Times `work` by the host's clock.
  Status OnClock(const std::function<Status()>& work, BenchTimes* times) const;

 private:
  BenchDevice(const BenchOptions& options, const CudaDriver& driver)
      : options_(options), driver_(driver) {}
  Status Elapsed(const std::function<Status()>& start, int count,
                 double* milliseconds) const;
  Status Repeat(const std::function<Status(double*)>& measure,
                BenchTimes* times) const;

  const BenchOptions& options_;
  const CudaDriver& driver_;
  BenchDriver more_;
  CuDevice number_ = 0;
  CuContext context_ = nullptr;
  CuStream stream_ = nullptr;
  CuEvent begin_ = nullptr, end_ = nullptr;
};

// Bytes that tell their places, from `first` on, so that a copy of others
// shows; and whether the device's memory has them, DataLoss if not.
void FillWithPlaces(size_t first, size_t size, uint8_t* data);
Status CheckPlaces(const BenchDevice& device, CuAddress memory, size_t size,
                   const std::string& what);

// Tells what was found, or the error in its place, which becomes `*first` where
// there was none yet: what comes next is measured all the same.
void NoteFinding(const BenchContext& context, const Status& status, Row* row,
                 Status* first);

// GB in a second, of bytes and milliseconds.
inline double BenchRate(size_t bytes, double milliseconds) {
  return static_cast<double>(bytes) / milliseconds / 1e6;
}

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_DEVICE_H_
