#include "ops/gpu/bench/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "ops/core/clock.h"

namespace liquid {
namespace {

// What takes less would end before the host has started the next.
constexpr double kShortMilliseconds = 10;
constexpr int kInARow = 10;
// What takes long is not timed more often than a few times.
constexpr int kFew = 3;
constexpr double kLongSeconds = 5;

}  // namespace

Row BenchTimes::ToRow() const {
  return Row()
      .Add("median", median)
      .Add("min", min)
      .Add("max", max)
      .Add("repeats", repeats);
}

void FillWithPlaces(size_t first, size_t size, uint8_t* data) {
  for (size_t i = 0; i < size; ++i) {
    const size_t at = first + i;
    data[i] = static_cast<uint8_t>(at ^ at >> 8 ^ at >> 16);
  }
}

Status CheckPlaces(const BenchDevice& device, CuAddress memory, size_t size,
                   const std::string& what) {
  std::vector<uint8_t> expected(size), got(size);
  FillWithPlaces(0, size, expected.data());
  LIQUID_RETURN_IF_ERROR(device.CopyOut(got.data(), memory, size));
  if (got == expected) return OkStatus();
  return DataLoss(what + " came out with other bytes");
}

void NoteFinding(const BenchContext& context, const Status& status, Row* row,
                 Status* first) {
  if (!status.ok()) row->Add("error", status.message());
  context.found(*row);
  if (first->ok()) *first = status;
}

Status BenchDevice::Open(const BenchOptions& options,
                         std::unique_ptr<BenchDevice>* device) {
  const CudaDriver* driver = nullptr;
  LIQUID_RETURN_IF_ERROR(LoadCudaDriver(&driver));
  std::unique_ptr<BenchDevice> opened(new BenchDevice(options, *driver));
  BenchDriver& more = opened->more_;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const NamedFunction functions[] = {
#define LIQUID_BENCH_NAME(member, symbol, parameters) \
  {symbol, reinterpret_cast<void**>(&more.member)},
      LIQUID_BENCH_FUNCTIONS(LIQUID_BENCH_NAME)
#undef LIQUID_BENCH_NAME
  };
  LIQUID_RETURN_IF_ERROR(FindFunctions(library, "libcuda.so.1", functions,
                                       sizeof(functions) / sizeof(functions[0]),
                                       "install a driver of CUDA 12 or later"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(*driver,
                                    driver->device_get(&opened->number_, 0),
                                    "to find the first GPU"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      *driver, driver->context_retain(&opened->context_, opened->number_),
      "to make a context"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(*driver,
                                    driver->context_push(opened->context_),
                                    "to use the GPU's context"));
  int least = 0, greatest = 0;
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(*driver, driver->context_priorities(&least, &greatest),
                 "to ask for the streams' priorities"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      *driver,
      driver->stream_create(&opened->stream_, kCuStreamNonBlocking, least),
      "to make a stream"));
  for (CuEvent* event : {&opened->begin_, &opened->end_}) {
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(*driver, driver->event_create(event, kCuEventDefault),
                   "to make an event"));
  }
  *device = std::move(opened);
  return OkStatus();
}

Status BenchDevice::Allocate(size_t size, CuAddress* memory) const {
  return CudaStatus(driver_, driver_.allocate(memory, size),
                    "to take memory of the GPU");
}

Status BenchDevice::AllocatePinned(size_t size, uint8_t** memory) const {
  void* data = nullptr;
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver_, driver_.host_allocate(&data, size, kCuHostMemoryPortable),
      "to take pinned memory"));
  *memory = static_cast<uint8_t*>(data);
  return OkStatus();
}

Status BenchDevice::Synchronize() const {
  return CudaStatus(driver_, driver_.stream_synchronize(stream_),
                    "to wait for the GPU");
}

Status BenchDevice::CopyIn(CuAddress to, const void* from, size_t size) const {
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver_, driver_.copy_to_device(to, from, size, stream_),
                 "to copy to the GPU"));
  return Synchronize();
}

Status BenchDevice::CopyOut(void* to, CuAddress from, size_t size) const {
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver_, driver_.copy_to_host(to, from, size, stream_),
                 "to copy from the GPU"));
  return Synchronize();
}

Status BenchDevice::Elapsed(const std::function<Status()>& start, int count,
                            double* milliseconds) const {
  if (count > 1) LIQUID_RETURN_IF_ERROR(start());
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver_, driver_.event_record(begin_, stream_), "to mark a place"));
  for (int i = 0; i < count; ++i) LIQUID_RETURN_IF_ERROR(start());
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver_, driver_.event_record(end_, stream_), "to mark a place"));
  LIQUID_RETURN_IF_ERROR(Synchronize());
  float elapsed = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver_, driver_.event_milliseconds(&elapsed, begin_, end_), "to time"));
  *milliseconds = elapsed / static_cast<double>(count);
  return OkStatus();
}

Status BenchDevice::Repeat(const std::function<Status(double*)>& measure,
                           BenchTimes* times) const {
  std::vector<double> all;
  const double end = MonotonicSeconds() + kLongSeconds;
  const int repeats = static_cast<int>(options_.repeats);
  while (static_cast<int>(all.size()) < repeats &&
         (static_cast<int>(all.size()) < kFew || MonotonicSeconds() < end)) {
    double milliseconds = 0;
    LIQUID_RETURN_IF_ERROR(measure(&milliseconds));
    all.push_back(milliseconds);
  }
  std::sort(all.begin(), all.end());
  const size_t n = all.size();
  times->median = (all[(n - 1) / 2] + all[n / 2]) / 2;
  times->min = all.front();
  times->max = all.back();
  times->repeats = static_cast<int>(n);
  return OkStatus();
}

Status BenchDevice::OnDevice(const std::function<Status()>& start,
                             BenchTimes* times) const {
  double once = 0;  // the first loads what it needs, too
  const double end = MonotonicSeconds() + options_.warm_up_seconds;
  do {
    LIQUID_RETURN_IF_ERROR(Elapsed(start, 1, &once));
  } while (MonotonicSeconds() < end);
  const int count = once < kShortMilliseconds ? kInARow : 1;
  return Repeat(
      [&](double* milliseconds) { return Elapsed(start, count, milliseconds); },
      times);
}

Status BenchDevice::OnClock(const std::function<Status()>& work,
                            BenchTimes* times) const {
  LIQUID_RETURN_IF_ERROR(work());
  return Repeat(
      [&](double* milliseconds) {
        const double begin = MonotonicSeconds();
        LIQUID_RETURN_IF_ERROR(work());
        *milliseconds = 1e3 * (MonotonicSeconds() - begin);
        return OkStatus();
      },
      times);
}

}  // namespace liquid
