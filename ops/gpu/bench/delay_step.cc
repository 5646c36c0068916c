// By how much a step is delayed while a batch is decoded beside it, and by
// which part of that. The step is a kernel of this program (step_kernel.h): of
// arithmetic in registers, or of reading and writing the device's memory.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/core/clock.h"
#include "ops/gpu/bench/decoding.h"
#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/lanes.h"
#include "ops/gpu/bench/step.h"
#include "ops/gpu/bench/step_kernel.h"

namespace liquid {
namespace {

constexpr double kStepMilliseconds = 8;  // as long as that of docs/gpu.md
constexpr float kStays = 2;

// A step, which two events enclose.
class TrainingStep {
 public:
  // `rounds` of a number, and as many launches as take kStepMilliseconds.
  static Status Make(const BenchDevice& device, const BenchOptions& options,
                     size_t bytes, uint32_t rounds,
                     std::unique_ptr<TrainingStep>* step);

  Status Start();
  // Waits for it.
  Status End(double* milliseconds);
  Status Check() const;
  int launches() const { return launches_; }

 private:
  explicit TrainingStep(const BenchDevice& device) : device_(device) {}
  Status Launch();

  const BenchDevice& device_;
  CuFunction function_ = nullptr;
  CuStream stream_ = nullptr;
  CuEvent begin_ = nullptr, end_ = nullptr;
  CuAddress data_ = 0;
  uint32_t count_ = 0, rounds_ = 0;
  int launches_ = 1;
};

Status TrainingStep::Make(const BenchDevice& device,
                          const BenchOptions& options, size_t bytes,
                          uint32_t rounds,
                          std::unique_ptr<TrainingStep>* step) {
  std::unique_ptr<TrainingStep> made(new TrainingStep(device));
  const CudaDriver& driver = device.driver();
  made->count_ = static_cast<uint32_t>(bytes / sizeof(float));
  made->rounds_ = rounds;
  CuModule module = nullptr;
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver,
                                    driver.module_load(&module, kStepPtx),
                                    "to load the step's kernel"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, driver.module_function(&made->function_, module, kStepKernel),
      "to find the step's kernel"));
  int least = 0, greatest = 0;
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver, driver.context_priorities(&least, &greatest),
                 "to ask for the streams' priorities"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, driver.stream_create(&made->stream_, kCuStreamNonBlocking, least),
      "to make a stream"));
  for (CuEvent* event : {&made->begin_, &made->end_}) {
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(driver, driver.event_create(event, kCuEventDefault),
                   "to make an event"));
  }
  const std::vector<float> data(made->count_, kStays);
  LIQUID_RETURN_IF_ERROR(device.Allocate(bytes, &made->data_));
  LIQUID_RETURN_IF_ERROR(device.CopyIn(made->data_, data.data(), bytes));
  double once = 0;
  const double end = MonotonicSeconds() + options.warm_up_seconds;
  do {
    LIQUID_RETURN_IF_ERROR(made->Start());
    LIQUID_RETURN_IF_ERROR(made->End(&once));
  } while (MonotonicSeconds() < end);
  made->launches_ = static_cast<int>(
      std::clamp(kStepMilliseconds / std::max(once, 1e-3), 1.0, 1000.0));
  *step = std::move(made);
  return OkStatus();
}

Status TrainingStep::Launch() {
  CuAddress data = data_;
  uint32_t count = count_, rounds = rounds_;
  void* arguments[] = {&data, &count, &rounds};
  const CudaDriver& driver = device_.driver();
  return CudaStatus(
      driver,
      driver.launch(function_, (count_ + kStepThreads - 1) / kStepThreads, 1, 1,
                    kStepThreads, 1, 1, 0, stream_, arguments, nullptr),
      "to launch the step's kernel");
}

Status TrainingStep::Start() {
  const CudaDriver& driver = device_.driver();
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, driver.event_record(begin_, stream_), "to mark a place"));
  for (int i = 0; i < launches_; ++i) LIQUID_RETURN_IF_ERROR(Launch());
  return CudaStatus(driver, driver.event_record(end_, stream_),
                    "to mark a place");
}

Status TrainingStep::End(double* milliseconds) {
  const CudaDriver& driver = device_.driver();
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver, driver.stream_synchronize(stream_),
                                    "to wait for a step"));
  float elapsed = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, driver.event_milliseconds(&elapsed, begin_, end_), "to time"));
  *milliseconds = elapsed;
  return OkStatus();
}

Status TrainingStep::Check() const {
  std::vector<float> data(count_);
  LIQUID_RETURN_IF_ERROR(
      device_.CopyOut(data.data(), data_, data.size() * sizeof(float)));
  for (const float number : data) {
    if (number != kStays) return DataLoss("the step came to other numbers");
  }
  return OkStatus();
}

// What one batch does beside a step; started with that, and waited for.
struct Beside {
  const char* name;
  Status (*start)(struct Scene&);
  Status (*finish)(struct Scene&);
};

struct Scene {
  const BenchDevice& device;
  BenchLanes& lanes;
  const BenchBatch& batch;  // that is on the device
  CuAddress there;
  const uint8_t* pinned;
  uint8_t* host;
  size_t bytes;  // stored
  std::thread copying;
};

Status Nothing(Scene&) { return OkStatus(); }
Status Synchronize(Scene& scene) { return scene.device.Synchronize(); }
Status CopyOver(Scene& scene) {
  const CudaDriver& driver = scene.device.driver();
  return CudaStatus(driver,
                    driver.copy_to_device(scene.there, scene.pinned,
                                          scene.bytes, scene.device.stream()),
                    "to copy to the GPU");
}
Status Decode(Scene& scene) {
  return scene.batch.Launch(false, scene.device.stream());
}
Status CopyOnHost(Scene& scene) {
  scene.copying = std::thread(
      [&scene] { std::memcpy(scene.host, scene.pinned, scene.bytes); });
  return OkStatus();
}
Status JoinCopy(Scene& scene) {
  scene.copying.join();
  return OkStatus();
}
Status StartLane(Scene& scene) { return scene.lanes.Start(); }
Status FinishLane(Scene& scene) { return scene.lanes.Finish(); }

// The first one is what the others are compared with.
constexpr Beside kBeside[] = {
    {"nothing", Nothing, Nothing},
    {"a copy on the host", CopyOnHost, JoinCopy},
    {"a copy over the bus", CopyOver, Synchronize},
    {"the kernel", Decode, Synchronize},
    {"a batch by its lane", StartLane, FinishLane},
};

Status Measure(const BenchContext& context, const char* name,
               const char* format, TrainingStep& step, Scene& scene) {
  double alone = 0;
  for (const Beside& beside : kBeside) {
    std::vector<double> all;
    for (uint32_t i = 0; i < std::max(3u, 2 * context.options.repeats); ++i) {
      double milliseconds = 0;
      LIQUID_RETURN_IF_ERROR(step.Start());
      const Status started = beside.start(scene);
      LIQUID_RETURN_IF_ERROR(step.End(&milliseconds));
      LIQUID_RETURN_IF_ERROR(started);
      LIQUID_RETURN_IF_ERROR(beside.finish(scene));
      all.push_back(milliseconds);
    }
    std::sort(all.begin(), all.end());
    const double median = all[all.size() / 2];
    if (&beside == kBeside) alone = median;
    LIQUID_RETURN_IF_ERROR(step.Check());
    if (beside.start == StartLane) {
      LIQUID_RETURN_IF_ERROR(scene.lanes.Check(beside.name));
    } else if (beside.start == Decode) {
      LIQUID_RETURN_IF_ERROR(scene.batch.Check(beside.name));
    }
    context.found(Row()
                      .Add("step", name)
                      .Add("launches", step.launches())
                      .Add("beside", beside.name)
                      .Add("format", format)
                      .Add("step_milliseconds", median)
                      .Add("step_milliseconds_least", all.front())
                      .Add("step_milliseconds_most", all.back())
                      .Add("delay", median / alone - 1));
  }
  return OkStatus();
}

}  // namespace

Status BenchDelayStep(const BenchContext& context) {
  constexpr const char* kDecoded[] = {"l3 v2", "l3-compact"};
  constexpr size_t kSteps = 2;
  context.expects(kSteps * sizeof(kDecoded) / sizeof(kDecoded[0]) *
                  sizeof(kBeside) / sizeof(kBeside[0]));
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  const size_t memory = context.options.Bytes();
  std::unique_ptr<TrainingStep> arithmetic, memories;
  LIQUID_RETURN_IF_ERROR(TrainingStep::Make(*device, context.options,
                                            memory / 16, 512, &arithmetic));
  LIQUID_RETURN_IF_ERROR(
      TrainingStep::Make(*device, context.options, memory, 1, &memories));
  BenchThreads threads(std::max(1u, std::thread::hardware_concurrency()));
  for (const char* const format : kDecoded) {
    std::unique_ptr<BenchLanes> lanes;
    LIQUID_RETURN_IF_ERROR(BenchLanes::Make(
        *device, context.batch, format, context.options.batch, DeviceSteps(),
        /*registered=*/true, 1, &threads, &lanes));
    std::unique_ptr<BenchBatch> batch;
    LIQUID_RETURN_IF_ERROR(
        BenchBatch::Make(*device, context.batch, format, context.options.batch,
                         "u8_u8", BenchOut::kU8, false, true, &batch));
    const size_t bytes = lanes->stored_bytes();
    uint8_t* pinned = nullptr;
    LIQUID_RETURN_IF_ERROR(device->AllocatePinned(bytes, &pinned));
    std::memset(pinned, 1, bytes);
    std::vector<uint8_t> host(bytes);
    CuAddress there = 0;
    LIQUID_RETURN_IF_ERROR(device->Allocate(bytes, &there));
    Scene scene = {*device, *lanes,      *batch, there,
                   pinned,  host.data(), bytes,  {}};
    LIQUID_RETURN_IF_ERROR(
        Measure(context, "arithmetic", format, *arithmetic, scene));
    LIQUID_RETURN_IF_ERROR(
        Measure(context, "memory", format, *memories, scene));
    device->driver().free(there);
    device->driver().host_free(pinned);
  }
  return OkStatus();
}

}  // namespace liquid
