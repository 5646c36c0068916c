// A batch from bytes in the host's memory to pixels in the device's, by every
// way that there is, against copying raw pixels from pinned memory.
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "ops/gpu/bench/decoding.h"
#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/lanes.h"
#include "ops/gpu/bench/step.h"

namespace liquid {
namespace {

struct Way;

struct Ways {
  const BenchContext& context;
  const BenchDevice& device;
  BenchThreads& alone;
  BenchThreads& all;
};

// A new way is a new row: `run` times a batch, checks its pixels, and may add
// to the finding.
struct Way {
  const char* name;
  const char* format;  // one of kBenchFormats
  Status (*run)(const Ways&, const Way&, BenchTimes*, Row*);
  bool all_fill;    // all processors copy bytes, not one of them
  bool registered;  // the GPU reads the bytes where they lie
  size_t lanes;     // that take turns
};

// Pixels as they are, which need no decoding.
Status CopyRaw(const Ways& ways, uint8_t* from, BenchTimes* times) {
  const BenchDevice& device = ways.device;
  const Photographs& photographs = ways.context.batch;
  const size_t count = ways.context.options.batch;
  const size_t one = photographs.info.PixelBytes();
  for (size_t i = 0; i < count; ++i) {
    const Photograph& image = photographs.images[i % photographs.images.size()];
    std::memcpy(from + i * one, image.pixels.data(), one);
  }
  CuAddress to = 0;
  LIQUID_RETURN_IF_ERROR(device.Allocate(count * one, &to));
  LIQUID_RETURN_IF_ERROR(device.OnClock(
      [&] { return device.CopyIn(to, from, count * one); }, times));
  const Status status = CheckBenchPixels(device, photographs, count,
                                         BenchOut::kU8, false, to, "a copy");
  device.driver().free(to);
  return status;
}

Status Pinned(const Ways& ways, const Way&, BenchTimes* times, Row*) {
  const size_t size =
      ways.context.batch.info.PixelBytes() * ways.context.options.batch;
  uint8_t* data = nullptr;
  LIQUID_RETURN_IF_ERROR(ways.device.AllocatePinned(size, &data));
  const Status status = CopyRaw(ways, data, times);
  ways.device.driver().host_free(data);
  return status;
}

Status Pageable(const Ways& ways, const Way&, BenchTimes* times, Row*) {
  std::vector<uint8_t> data(ways.context.batch.info.PixelBytes() *
                            ways.context.options.batch);
  return CopyRaw(ways, data.data(), times);
}

Status ByLane(const Ways& ways, const Way& way, BenchTimes* times, Row* row) {
  std::unique_ptr<BenchLanes> lanes;
  LIQUID_RETURN_IF_ERROR(BenchLanes::Make(
      ways.device, ways.context.batch, way.format, ways.context.options.batch,
      DeviceSteps(), way.registered, way.lanes,
      way.all_fill ? &ways.all : &ways.alone, &lanes));
  constexpr size_t kTurns = 4;
  const size_t batches = way.lanes == 1 ? 1 : kTurns * way.lanes;
  LIQUID_RETURN_IF_ERROR(ways.device.OnClock(
      [&]() -> Status {
        for (size_t i = 0; i < batches; ++i) {
          LIQUID_RETURN_IF_ERROR(lanes->Start());
        }
        return lanes->Finish();
      },
      times));
  for (double* each : {&times->median, &times->min, &times->max}) {
    *each /= static_cast<double>(batches);
  }
  LIQUID_RETURN_IF_ERROR(lanes->Check(way.name));
  const BenchParts& parts = lanes->parts();
  row->Add("stored_bytes", uint64_t{lanes->stored_bytes()})
      .Add("plan_milliseconds", parts.plan)
      .Add("fill_milliseconds", parts.fill)
      .Add("bus_milliseconds", 1e3 * parts.device.copy_seconds)
      .Add("kernel_milliseconds", 1e3 * parts.device.decode_seconds);
  return OkStatus();
}

// The first one is what the others are compared with.
constexpr Way kWays[] = {
    {"raw pixels from pinned memory", "raw", Pinned, false, false, 0},
    {"raw pixels from pageable memory", "raw", Pageable, false, false, 0},
    {"lane, one thread fills", "l3 v2", ByLane, false, false, 1},
    {"lane, all threads fill", "l3 v2", ByLane, true, false, 1},
    {"two lanes, all threads fill", "l3 v2", ByLane, true, false, 2},
    {"lane, registered files", "l3 v2", ByLane, true, true, 1},
    {"two lanes, registered files", "l3 v2", ByLane, true, true, 2},
    {"lane, one thread fills", "l3-compact", ByLane, false, false, 1},
    {"lane, all threads fill", "l3-compact", ByLane, true, false, 1},
    {"two lanes, all threads fill", "l3-compact", ByLane, true, false, 2},
    {"two lanes, registered files", "l3-compact", ByLane, true, true, 2},
    {"lane, all threads fill", "l3 v1", ByLane, true, false, 1},
    {"lane, all threads fill", "raw", ByLane, true, false, 1},
    {"two lanes, all threads fill", "raw", ByLane, true, false, 2},
    {"two lanes, registered files", "raw", ByLane, true, true, 2},
    {"two lanes, registered files", "jpeg", ByLane, true, true, 2},
};

}  // namespace

Status BenchBatchesStep(const BenchContext& context) {
  context.expects(sizeof(kWays) / sizeof(kWays[0]));
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  BenchThreads alone(1), all(std::max(1u, std::thread::hardware_concurrency()));
  const Ways ways = {context, *device, alone, all};
  double copy = 0;
  Status status;
  for (const Way& way : kWays) {
    Row row;
    row.Add("way", way.name)
        .Add("format", way.format)
        .Add("images", context.options.batch)
        .Add("width", context.batch.info.width)
        .Add("height", context.batch.info.height);
    BenchTimes times;
    const Status ended = way.run(ways, way, &times, &row);
    if (&way == kWays) copy = times.median;
    const size_t pixels =
        context.batch.info.PixelBytes() * context.options.batch;
    if (ended.ok()) {
      row.Add("milliseconds", times.ToRow())
          .Add("pixel_gb_per_s", BenchRate(pixels, times.median))
          .Add("times_as_fast_as_copying", copy / times.median);
    }
    NoteFinding(context, ended, &row, &status);
  }
  return status;
}

}  // namespace liquid
