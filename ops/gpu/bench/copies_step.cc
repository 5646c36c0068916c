// What bounds everything: copies in the device's memory and over the bus, what
// registering memory takes, and what the disk gives into registered memory.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ops/core/clock.h"
#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/step.h"

namespace liquid {
namespace {

constexpr size_t kMegabyte = 1 << 20;
constexpr size_t kPage = 4096;
constexpr char kClocks[] = "clocks and the bus's width";
constexpr char kRegistered[] = "to the GPU, registered";
constexpr char kPastCache[] = "reading past the page cache";
constexpr char kPastCacheRegistered[] =
    "reading past the page cache, into registered memory";

// Memory of its own pages; `huge`: of large ones where the system has them.
class Mapped {
 public:
  explicit Mapped(size_t size, bool huge = false) : size_(size) {
    void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return;
    data_ = static_cast<uint8_t*>(data);
    if (huge) madvise(data_, size, MADV_HUGEPAGE);
  }
  ~Mapped() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  Status status() const {
    if (data_ != nullptr) return OkStatus();
    return ResourceExhausted("no " + std::to_string(size_) +
                             " bytes of memory: " + std::strerror(errno));
  }
  void Fill(uint8_t value) const { std::memset(data_, value, size_); }

 private:
  uint8_t* data_ = nullptr;
  const size_t size_;
};

// By libnvidia-ml, which belongs to the driver.
struct Clocks {
  int (*init)() = nullptr;
  int (*device)(unsigned number, void** device) = nullptr;
  int (*now)(void* device, int kind, unsigned* megahertz) = nullptr;
  int (*most)(void* device, int kind, unsigned* megahertz) = nullptr;
  int (*generation)(void* device, unsigned*) = nullptr;
  int (*width)(void* device, unsigned*) = nullptr;
};

void FindClocks(const BenchContext& context) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    context.skipped(kClocks, dlerror());
    return;
  }
  Clocks clocks;
  const NamedFunction functions[] = {
      {"nvmlInit_v2", reinterpret_cast<void**>(&clocks.init)},
      {"nvmlDeviceGetHandleByIndex_v2",
       reinterpret_cast<void**>(&clocks.device)},
      {"nvmlDeviceGetClockInfo", reinterpret_cast<void**>(&clocks.now)},
      {"nvmlDeviceGetMaxClockInfo", reinterpret_cast<void**>(&clocks.most)},
      {"nvmlDeviceGetCurrPcieLinkGeneration",
       reinterpret_cast<void**>(&clocks.generation)},
      {"nvmlDeviceGetCurrPcieLinkWidth",
       reinterpret_cast<void**>(&clocks.width)}};
  const Status found = FindFunctions(library, "libnvidia-ml.so.1", functions,
                                     sizeof(functions) / sizeof(functions[0]),
                                     "install a later driver");
  void* device = nullptr;
  if (!found.ok() || clocks.init() != 0 || clocks.device(0, &device) != 0) {
    context.skipped(kClocks, found.ok() ? "libnvidia-ml.so.1 finds no GPU"
                                        : found.message());
    return;
  }
  Row row;
  row.Add("what", "clocks");
  unsigned value = 0;
  const auto add = [&](const char* name, int result) {
    if (result == 0) row.Add(name, value);
  };
  constexpr int kMultiprocessors = 1, kMemory = 2;
  add("multiprocessor_mhz", clocks.now(device, kMultiprocessors, &value));
  add("multiprocessor_mhz_most", clocks.most(device, kMultiprocessors, &value));
  add("memory_mhz", clocks.now(device, kMemory, &value));
  add("memory_mhz_most", clocks.most(device, kMemory, &value));
  add("pcie_generation", clocks.generation(device, &value));
  add("pcie_lanes", clocks.width(device, &value));
  context.found(row);
}

}  // namespace

Status BenchDeviceStep(const BenchContext& context) {
  context.expects(2);
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  const CudaDriver& driver = device->driver();
  Row row;
  row.Add("what", "device");
  char name[256] = "";
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, device->more().device_name(name, sizeof(name), device->number()),
      "to ask for the GPU's name"));
  row.Add("name", name);
  int cuda = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver, driver.driver_version(&cuda),
                                    "to ask for the driver's version"));
  row.Add("driver_cuda", cuda);
  constexpr struct {
    const char* name;
    int attribute;
  } kAttributes[] = {{"capability_major", kCuComputeCapabilityMajor},
                     {"capability_minor", kCuComputeCapabilityMinor},
                     {"multiprocessors", 16},
                     {"multiprocessor_khz", 13},
                     {"memory_khz", 36},
                     {"memory_bus_bits", 37},
                     {"l2_bytes", 38},
                     {"copy_engines", 40},
                     {"reads_pageable_memory", 88}};
  for (const auto& [key, attribute] : kAttributes) {
    int value = 0;
    if (driver.device_attribute(&value, attribute, device->number()) ==
        kCuSuccess) {
      row.Add(key, value);
    }
  }
  size_t free = 0, total = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver,
                                    device->more().memory_info(&free, &total),
                                    "to ask for the GPU's memory"));
  row.Add("memory_bytes", uint64_t{total}).Add("free_bytes", uint64_t{free});
  row.Add("processors", std::thread::hardware_concurrency());
  context.found(row);
  FindClocks(context);
  return OkStatus();
}

Status BenchCopiesStep(const BenchContext& context) {
  context.expects(6);
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  const CudaDriver& driver = device->driver();
  const size_t size = context.options.Bytes();
  CuAddress from = 0, to = 0;
  LIQUID_RETURN_IF_ERROR(device->Allocate(size, &from));
  LIQUID_RETURN_IF_ERROR(device->Allocate(size, &to));

  const Mapped pageable(size), registered(size);
  LIQUID_RETURN_IF_ERROR(pageable.status());
  LIQUID_RETURN_IF_ERROR(registered.status());
  uint8_t* pinned = nullptr;
  LIQUID_RETURN_IF_ERROR(device->AllocatePinned(size, &pinned));
  for (uint8_t* data : {pageable.data(), registered.data(), pinned}) {
    FillWithPlaces(0, size, data);
  }
  LIQUID_RETURN_IF_ERROR(device->CopyIn(from, pinned, size));

  // Which bytes count: what a copy on the device reads and writes.
  const auto measure = [&](const char* what, size_t bytes, CuAddress check,
                           const std::function<CuResult()>& copy) -> Status {
    if (check != 0) {
      LIQUID_RETURN_IF_ERROR(CudaStatus(
          driver, device->more().fill(check, 0, size, device->stream()),
          "to clear memory"));
    }
    BenchTimes times;
    LIQUID_RETURN_IF_ERROR(device->OnDevice(
        [&] { return CudaStatus(driver, copy(), what); }, &times));
    if (check != 0) {
      LIQUID_RETURN_IF_ERROR(CheckPlaces(*device, check, size, what));
    }
    context.found(Row()
                      .Add("what", what)
                      .Add("bytes", uint64_t{size})
                      .Add("milliseconds", times.ToRow())
                      .Add("gb_per_s", BenchRate(bytes, times.median)));
    return OkStatus();
  };
  LIQUID_RETURN_IF_ERROR(measure("copy in the GPU's memory", 2 * size, to, [&] {
    return device->more().copy(to, from, size, device->stream());
  }));
  LIQUID_RETURN_IF_ERROR(measure("fill of the GPU's memory", size, 0, [&] {
    return device->more().fill(to, 7, size, device->stream());
  }));
  const auto copy_in = [&](const uint8_t* data) {
    return driver.copy_to_device(to, data, size, device->stream());
  };
  LIQUID_RETURN_IF_ERROR(measure("to the GPU, pageable", size, to,
                                 [&] { return copy_in(pageable.data()); }));
  LIQUID_RETURN_IF_ERROR(
      measure("to the GPU, pinned", size, to, [&] { return copy_in(pinned); }));
  const CuResult result = device->more().host_register(registered.data(), size,
                                                       kCuHostMemoryPortable);
  if (result == kCuSuccess) {
    LIQUID_RETURN_IF_ERROR(measure(kRegistered, size, to,
                                   [&] { return copy_in(registered.data()); }));
    device->more().host_unregister(registered.data());
  } else {
    context.skipped(kRegistered,
                    CudaStatus(driver, result, "to register memory").message());
  }
  return measure("from the GPU, pinned", size, 0, [&] {
    return driver.copy_to_host(pinned, from, size, device->stream());
  });
}

Status BenchRegisteringStep(const BenchContext& context) {
  context.expects(8);
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  const CudaDriver& driver = device->driver();
  const size_t most = context.options.Bytes();
  CuAddress there = 0;
  LIQUID_RETURN_IF_ERROR(device->Allocate(most, &there));
  constexpr struct {
    const char* what;
    bool touched, huge;
  } kKinds[] = {{"untouched pages", false, false},
                {"touched pages", true, false},
                {"touched huge pages", true, true}};
  for (const size_t size : {most / 4, most}) {
    for (const auto& [what, touched, huge] : kKinds) {
      double registering = 0, unregistering = 0;
      CuResult result = kCuSuccess;
      constexpr int kTimes = 3;  // the best of them
      for (int i = 0; i < kTimes; ++i) {
        const Mapped memory(size, huge);
        LIQUID_RETURN_IF_ERROR(memory.status());
        if (touched) memory.Fill(1);
        const double begin = MonotonicSeconds();
        result = device->more().host_register(memory.data(), size,
                                              kCuHostMemoryPortable);
        const double middle = MonotonicSeconds();
        if (result != kCuSuccess) break;
        FillWithPlaces(0, size, memory.data());
        LIQUID_RETURN_IF_ERROR(device->CopyIn(there, memory.data(), size));
        LIQUID_RETURN_IF_ERROR(CheckPlaces(*device, there, size, what));
        const double before = MonotonicSeconds();
        LIQUID_RETURN_IF_ERROR(
            CudaStatus(driver, device->more().host_unregister(memory.data()),
                       "to unregister memory"));
        const double end = MonotonicSeconds();
        if (i == 0 || middle - begin < registering) {
          registering = middle - begin;
        }
        if (i == 0 || end - before < unregistering) {
          unregistering = end - before;
        }
      }
      if (result != kCuSuccess) {
        context.skipped(
            std::string("registering ") + what,
            CudaStatus(driver, result, "to register memory").message());
        continue;
      }
      context.found(Row()
                        .Add("what", std::string("registering ") + what)
                        .Add("bytes", uint64_t{size})
                        .Add("milliseconds", 1e3 * registering)
                        .Add("gb_per_s", BenchRate(size, 1e3 * registering))
                        .Add("unregister_milliseconds", 1e3 * unregistering));
    }
    uint8_t* pinned = nullptr;
    const double begin = MonotonicSeconds();
    LIQUID_RETURN_IF_ERROR(device->AllocatePinned(size, &pinned));
    const double seconds = MonotonicSeconds() - begin;
    driver.host_free(pinned);
    context.found(Row()
                      .Add("what", "taking pinned memory")
                      .Add("bytes", uint64_t{size})
                      .Add("milliseconds", 1e3 * seconds)
                      .Add("gb_per_s", BenchRate(size, 1e3 * seconds)));
  }
  return OkStatus();
}

Status BenchDiskStep(const BenchContext& context) {
  context.expects(2);
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  const size_t size = context.options.Bytes();
  const Mapped memory(size), registered(size);
  LIQUID_RETURN_IF_ERROR(memory.status());
  LIQUID_RETURN_IF_ERROR(registered.status());
  CuAddress there = 0;
  LIQUID_RETURN_IF_ERROR(device->Allocate(size, &there));
  registered.Fill(0);
  const CuResult result = device->more().host_register(registered.data(), size,
                                                       kCuHostMemoryPortable);

  const std::string path = context.options.scratch + "/liquid-bench-XXXXXX";
  std::vector<char> name(path.c_str(), path.c_str() + path.size() + 1);
  const auto skip_both = [&](const std::string& why) {
    context.skipped(kPastCache, context.options.scratch + ": " + why);
    context.skipped(kPastCacheRegistered, context.options.scratch + ": " + why);
    return OkStatus();
  };
  const int writer = mkstemp(name.data());
  if (writer < 0) return skip_both(std::strerror(errno));
  const int reader = open(name.data(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  const int reader_error = errno;
  unlink(name.data());  // now it ends with this process
  FillWithPlaces(0, size, memory.data());
  size_t written = 0;
  while (written < size) {
    const ssize_t more = write(writer, memory.data() + written, size - written);
    if (more <= 0) break;
    written += static_cast<size_t>(more);
  }
  const bool is_whole = written == size && fsync(writer) == 0;
  const int write_error = errno;
  close(writer);
  if (reader < 0) return skip_both(std::strerror(reader_error));
  if (!is_whole) {
    close(reader);
    return skip_both(std::strerror(write_error));
  }
  const auto read_all = [&](uint8_t* to) -> Status {
    constexpr size_t kPiece = 4 * kMegabyte;
    for (size_t at = 0; at < size;) {
      const ssize_t more = pread(reader, to + at, std::min(kPiece, size - at),
                                 static_cast<off_t>(at));
      if (more <= 0 || more % kPage != 0) {
        return Unavailable(more < 0 ? std::strerror(errno) : "a short read");
      }
      at += static_cast<size_t>(more);
    }
    return OkStatus();
  };
  const auto measure = [&](const char* what, uint8_t* to) -> Status {
    std::memset(to, 0, size);
    BenchTimes times;
    LIQUID_RETURN_IF_ERROR(
        device->OnClock([&] { return read_all(to); }, &times));
    LIQUID_RETURN_IF_ERROR(device->CopyIn(there, to, size));
    LIQUID_RETURN_IF_ERROR(CheckPlaces(*device, there, size, what));
    context.found(Row()
                      .Add("what", what)
                      .Add("bytes", uint64_t{size})
                      .Add("milliseconds", times.ToRow())
                      .Add("gb_per_s", BenchRate(size, times.median)));
    return OkStatus();
  };
  Status status = measure(kPastCache, memory.data());
  // A file system may refuse such a read when it comes.
  if (LacksMachine(status)) {
    close(reader);
    return skip_both(status.message());
  }
  if (status.ok() && result == kCuSuccess) {
    status = measure(kPastCacheRegistered, registered.data());
  } else if (status.ok()) {
    context.skipped(
        kPastCacheRegistered,
        CudaStatus(device->driver(), result, "to register memory").message());
  }
  close(reader);
  return status;
}

}  // namespace liquid
