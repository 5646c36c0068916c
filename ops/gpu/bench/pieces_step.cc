// Pieces of the host's memory, as records lie there, to one place of the
// device's: from which size on each way is the fastest.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/gather_kernel.h"
#include "ops/gpu/bench/lanes.h"
#include "ops/gpu/bench/step.h"

namespace liquid {
namespace {

constexpr size_t kSizes[] = {size_t{4} << 10, size_t{16} << 10,
                             size_t{64} << 10, size_t{256} << 10,
                             size_t{1} << 20};
// Between two pieces.
constexpr size_t kGap = 4096;

// Memory, and pieces that lie in it one before the other.
struct Scene {
  const BenchDevice& device;
  CuFunction kernel;
  BenchThreads& alone;
  BenchThreads& all;
  uint8_t* host;      // the pieces, pinned
  uint8_t* gathered;  // for all of them together, pinned
  CuAddress there, table;
  GatherPiece* pieces;  // of the table, pinned
  size_t size, count;   // of a piece, of pieces

  size_t bytes() const { return size * count; }
  // Neighbours there are none here.
  uint8_t* From(size_t i) const {
    return host + (count - 1 - i) * (size + kGap);
  }
  CuAddress To(size_t i) const { return there + i * size; }
};

Status Gather(const Scene& scene, BenchThreads* threads) {
  threads->Share(static_cast<int64_t>(scene.count), [&](int64_t first,
                                                        int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last);
         ++i) {
      std::memcpy(scene.gathered + i * scene.size, scene.From(i), scene.size);
    }
  });
  const CudaDriver& driver = scene.device.driver();
  return CudaStatus(driver,
                    driver.copy_to_device(scene.there, scene.gathered,
                                          scene.bytes(), scene.device.stream()),
                    "to copy to the GPU");
}
Status GatherAlone(const Scene& scene) { return Gather(scene, &scene.alone); }
Status GatherByAll(const Scene& scene) { return Gather(scene, &scene.all); }

Status OneByOne(const Scene& scene) {
  const CudaDriver& driver = scene.device.driver();
  for (size_t i = 0; i < scene.count; ++i) {
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(driver,
                   driver.copy_to_device(scene.To(i), scene.From(i), scene.size,
                                         scene.device.stream()),
                   "to copy to the GPU"));
  }
  return OkStatus();
}

Status OneCall(const Scene& scene) {
  const CudaDriver& driver = scene.device.driver();
  std::vector<CuAddress> to, from;
  for (size_t i = 0; i < scene.count; ++i) {
    to.push_back(scene.To(i));
    from.push_back(reinterpret_cast<CuAddress>(scene.From(i)));
  }
  std::vector<size_t> sizes(scene.count, scene.size);
  CuCopyAttributes attributes = {kCuAnyOrder, {}, {}, 0};
  size_t first = 0, failed = 0;
  return CudaStatus(
      driver,
      driver.copy_batch(to.data(), from.data(), sizes.data(), scene.count,
                        &attributes, &first, 1, &failed, scene.device.stream()),
      "to copy a batch to the GPU");
}

Status ByKernel(const Scene& scene) {
  const CudaDriver& driver = scene.device.driver();
  for (size_t i = 0; i < scene.count; ++i) {
    scene.pieces[i] = {reinterpret_cast<uint64_t>(scene.From(i)), scene.To(i),
                       scene.size, 0};
  }
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver,
                 driver.copy_to_device(scene.table, scene.pieces,
                                       scene.count * sizeof(GatherPiece),
                                       scene.device.stream()),
                 "to copy to the GPU"));
  CuAddress table = scene.table;
  auto count = static_cast<uint32_t>(scene.count);
  void* arguments[] = {&table, &count};
  return CudaStatus(
      driver,
      driver.launch(scene.kernel, std::min(count, kMostGatherBlocks), 1, 1,
                    kGatherThreads, 1, 1, 0, scene.device.stream(), arguments,
                    nullptr),
      "to launch a kernel");
}

// A new way is a new row.
struct PieceWay {
  const char* name;
  Status (*start)(const Scene&);
};
constexpr PieceWay kPieceWays[] = {
    {"gathered by one thread", GatherAlone},
    {"gathered by all threads", GatherByAll},
    {"copied one by one", OneByOne},
    {"copied by one call", OneCall},
    {"read by a kernel", ByKernel},
};

Status Measure(const Scene& scene, const PieceWay& way, Row* row) {
  const BenchDevice& device = scene.device;
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      device.driver(),
      device.more().fill(scene.there, 0, scene.bytes(), device.stream()),
      "to clear memory"));
  LIQUID_RETURN_IF_ERROR(device.Synchronize());
  BenchTimes times;
  LIQUID_RETURN_IF_ERROR(device.OnClock(
      [&] {
        const Status started = way.start(scene);
        const Status ended = device.Synchronize();
        return started.ok() ? ended : started;
      },
      &times));
  LIQUID_RETURN_IF_ERROR(
      CheckPlaces(device, scene.there, scene.bytes(), way.name));
  row->Add("milliseconds", times.ToRow())
      .Add("gb_per_s", BenchRate(scene.bytes(), times.median));
  return OkStatus();
}

}  // namespace

Status BenchPiecesStep(const BenchContext& context) {
  context.expects(sizeof(kSizes) / sizeof(kSizes[0]) * sizeof(kPieceWays) /
                  sizeof(kPieceWays[0]));
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  const CudaDriver& driver = device->driver();
  CuModule module = nullptr;
  CuFunction kernel = nullptr;
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver,
                                    driver.module_load(&module, kGatherPtx),
                                    "to load the kernel that gathers"));
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver, driver.module_function(&kernel, module, kGatherKernel),
                 "to find the kernel that gathers"));
  BenchThreads alone(1), all(std::max(1u, std::thread::hardware_concurrency()));
  Scene scene = {*device, kernel, alone,   all, nullptr, nullptr,
                 0,       0,      nullptr, 0,   0};
  // As many bytes as a batch has, about.
  constexpr size_t kShare = 4;
  const size_t bytes = context.options.Bytes() / kShare;
  Status status;
  for (const size_t size : kSizes) {
    scene.size = size;
    scene.count = std::max<size_t>(2, bytes / size);
    uint8_t* table = nullptr;
    const size_t table_size = scene.count * sizeof(GatherPiece);
    LIQUID_RETURN_IF_ERROR(
        device->AllocatePinned(scene.count * (scene.size + kGap), &scene.host));
    LIQUID_RETURN_IF_ERROR(
        device->AllocatePinned(scene.bytes(), &scene.gathered));
    LIQUID_RETURN_IF_ERROR(device->AllocatePinned(table_size, &table));
    LIQUID_RETURN_IF_ERROR(device->Allocate(scene.bytes(), &scene.there));
    LIQUID_RETURN_IF_ERROR(device->Allocate(table_size, &scene.table));
    scene.pieces = reinterpret_cast<GatherPiece*>(table);
    for (size_t i = 0; i < scene.count; ++i) {
      FillWithPlaces(i * size, size, scene.From(i));
    }
    for (const PieceWay& way : kPieceWays) {
      if (way.start == OneCall && driver.copy_batch == nullptr) {
        context.skipped(
            std::string(way.name) + ", " + std::to_string(size) + " bytes",
            "the driver has no cuMemcpyBatchAsync, which CUDA 12.8 brought");
        continue;
      }
      Row row;
      row.Add("way", way.name)
          .Add("piece_bytes", uint64_t{size})
          .Add("pieces", uint64_t{scene.count});
      NoteFinding(context, Measure(scene, way, &row), &row, &status);
    }
    for (const CuAddress address : {scene.there, scene.table}) {
      driver.free(address);
    }
    for (uint8_t* data : {scene.host, scene.gathered, table}) {
      driver.host_free(data);
    }
  }
  return status;
}

}  // namespace liquid
