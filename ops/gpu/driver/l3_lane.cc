#include "ops/gpu/driver/l3_lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/gpu/driver/l3_functions.h"
#include "ops/gpu/plan/jpeg_plan.h"

namespace liquid {
namespace {

constexpr size_t kAlignment = 256;
// A copy takes the bus about a microsecond beside its bytes, in which it has
// some 50 KB: smaller pieces are gathered. Not measured.
constexpr size_t kLeastFromAfar = size_t{64} << 10;
// Kernels that come before those of the launches: what plans, what checks.
constexpr size_t kBeside = 2;

size_t Aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
void Put(const std::vector<T>& values, uint8_t* to) {
  if (!values.empty()) {
    std::memcpy(to, values.data(), values.size() * sizeof(T));
  }
}

// What a recipe needs beside the batch.
void LayOut(const ImageDeviceBatch& recipe, const L3DeviceOutput& pixels,
            const L3LaneLayout& layout, uint8_t* host) {
  uint8_t* output = host + layout.output;
  for (const ImageDeviceChunk& chunk : recipe.chunks) {
    const L3DeviceOutput of_chunk = {
        chunk.height, chunk.width, pixels.channels, 0,
        {},           {},          pixels.verified, 0};
    output += sizeof(of_chunk);
    std::memcpy(output, &of_chunk, sizeof(of_chunk));
  }
  if (recipe.canvases != 0) {
    const L3DeviceOutput of_canvas = {
        recipe.height, recipe.width, pixels.channels, 0, {}, {}, 0, 0};
    std::memcpy(output + sizeof(of_canvas), &of_canvas, sizeof(of_canvas));
  }
  Put(recipe.samples, host + layout.samples);
  Put(recipe.finished, host + layout.finished);
  Put(recipe.operations, host + layout.operations);
  Put(recipe.erasures, host + layout.erasures);
  Put(recipe.tables, host + layout.tables);
}

// Has what was put there of images, whose bytes begin at `bytes` on the device,
// say where those are that lie elsewhere.
void Place(const L3DeviceBatch& batch, const L3LaneLayout& layout,
           CuAddress bytes, uint8_t* host) {
  auto* const images = reinterpret_cast<L3DeviceImage*>(host + layout.images);
  for (size_t i = 0; i < batch.images.size(); ++i) {
    images[i].table = PlaceOnDevice(images[i].table, bytes);
  }
  auto* const runs = reinterpret_cast<L3DeviceRun*>(host + layout.runs);
  for (size_t i = 0; i < batch.runs.size(); ++i) {
    runs[i].begin = PlaceOnDevice(runs[i].begin, bytes);
  }
  auto* const segments = reinterpret_cast<JpegDeviceSegment*>(
      host + layout.jpeg + batch.jpeg_segments);
  const size_t count =
      (batch.jpeg.size() - batch.jpeg_segments) / sizeof(JpegDeviceSegment);
  for (size_t i = 0; i < count; ++i) {
    segments[i].begin = PlaceOnDevice(segments[i].begin, bytes);
  }
}

// Takes back what Start() gave, and tells.
void Tell(CuStream /*stream*/, CuResult result, void* data) {
  const std::unique_ptr<L3Lane::Done> done(static_cast<L3Lane::Done*>(data));
  (*done)(result);
}

}  // namespace

L3LaneLayout::L3LaneLayout(const L3DeviceBatch& batch,
                           const std::vector<L3DeviceFile>& files,
                           const ImageDeviceBatch* recipe) {
  output = Aligned(sizeof(L3DeviceFindings));
  const size_t outputs = recipe == nullptr ? 1 : 2 + recipe->chunks.size();
  images = output + Aligned(outputs * sizeof(L3DeviceOutput));
  runs = images + Aligned(batch.images.size() * sizeof(L3DeviceImage));
  host_tasks = runs + Aligned(batch.runs.size() * sizeof(L3DeviceRun));
  host_results =
      host_tasks + Aligned(batch.tasks.size() * sizeof(L3DeviceTask));
  samples = finished = operations = erasures = tables = jpeg =
      host_results + Aligned(batch.tasks.size() * sizeof(uint32_t));
  if (recipe != nullptr) {
    finished =
        samples + Aligned(recipe->samples.size() * sizeof(ImageDeviceSample));
    operations =
        finished + Aligned(recipe->finished.size() * sizeof(ImageDeviceSample));
    erasures = operations + Aligned(recipe->operations.size() *
                                    sizeof(ImageDeviceOperation));
    tables = erasures +
             Aligned(recipe->erasures.size() * sizeof(ImageDeviceErasure));
    jpeg = tables + Aligned(recipe->tables.size() * sizeof(uint32_t));
  }
  bytes = jpeg + Aligned(batch.jpeg.size());
  size = bytes + batch.bytes;
  copies.push_back({0, nullptr, 0, bytes});
  host_size = bytes;
  tasks = Aligned(size);
  results = tasks + Aligned(batch.n_tasks * sizeof(L3DeviceTask));
  blocks = results + Aligned(batch.n_tasks * sizeof(uint32_t));
  scratch = blocks + batch.jpeg_scratch_bytes;
  device_size =
      recipe == nullptr ? scratch : scratch + Aligned(recipe->scratch_bytes);
  for (const L3DeviceCopy& copy : batch.copies) {
    const L3DeviceFile& file = files[copy.file];
    if (file.is_registered && copy.size >= kLeastFromAfar) {
      copies.push_back(
          {bytes + copy.to, file.bytes.data + copy.from, 0, copy.size});
      continue;
    }
    gathered.push_back({copy.file, copy.from, host_size - bytes, copy.size});
    // Neighbours here are neighbours there, but for what lies between.
    Copy& last = copies.back();
    if (last.where == nullptr && last.to + last.size == bytes + copy.to) {
      last.size += copy.size;
    } else {
      copies.push_back({bytes + copy.to, nullptr, host_size, copy.size});
    }
    host_size += copy.size;
  }
  for (const uint32_t moved : batch.moved) {
    const L3DeviceFile& file = files[moved];
    const uint64_t to = file.on_device | kL3OnDevice;
    const size_t bytes_of_file = file.bytes.size;
    if (file.is_registered && bytes_of_file >= kLeastFromAfar) {
      copies.push_back({to, file.bytes.data, 0, bytes_of_file});
      continue;
    }
    gathered.push_back({moved, 0, host_size - bytes, bytes_of_file});
    copies.push_back({to, nullptr, host_size, bytes_of_file});
    host_size += bytes_of_file;
  }
  crossing = 0;
  for (const Copy& copy : copies) crossing += copy.size;
}

Status L3Lane::Create(const CudaDriver& driver, CuContext context,
                      std::unique_ptr<L3Lane>* lane) {
  const CudaScope scope(driver, context);
  LIQUID_RETURN_IF_ERROR(scope.status());
  std::unique_ptr<L3Lane> made(new L3Lane(driver, context));
  int least = 0, greatest = 0;
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver, driver.context_priorities(&least, &greatest),
                 "to ask for the streams' priorities"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, driver.stream_create(&made->stream_, kCuStreamNonBlocking, least),
      "to make a stream"));
  const std::pair<CuEvent*, unsigned> events[] = {
      {&made->free_, kCuEventDisableTiming},
      {&made->begun_, kCuEventDefault},
      {&made->copied_, kCuEventDefault},
      {&made->decoded_, kCuEventDefault}};
  for (const auto& [event, flags] : events) {
    LIQUID_RETURN_IF_ERROR(CudaStatus(driver, driver.event_create(event, flags),
                                      "to make an event"));
  }
  *lane = std::move(made);
  return OkStatus();
}

// What fails here has nobody to tell.
L3Lane::~L3Lane() {
  const CudaScope scope(driver_, context_);
  if (!scope.status().ok()) return;
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  for (const CuEvent event : {free_, begun_, copied_, decoded_}) {
    if (event != nullptr) driver_.event_destroy(event);
  }
  host_.GiveBack();
}

Status L3Lane::WaitFor(CuStream stream) {
  const CudaScope scope(driver_, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver_,
                                    driver_.event_record(free_, stream),
                                    "to mark a place in another's stream"));
  return CudaStatus(driver_, driver_.stream_wait(stream_, free_, 0),
                    "to wait for the memory");
}

Status L3Lane::HaveWait(CuStream stream) const {
  const CudaScope scope(driver_, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  return CudaStatus(driver_, driver_.stream_wait(stream, decoded_, 0),
                    "to have a stream wait for a batch");
}

Status L3Lane::Synchronize() const {
  const CudaScope scope(driver_, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  return CudaStatus(driver_, driver_.stream_synchronize(stream_),
                    "to wait for the GPU");
}

Status L3Lane::Mark(CuEvent event) {
  return CudaStatus(driver_, driver_.event_record(event, stream_),
                    "to mark a place in a stream");
}

Status L3Lane::FindFunctions(const ImageDeviceBatch& recipe,
                             const std::string& stored,
                             const std::string& types,
                             ImageFunctions* functions) const {
  const auto find = [&](bool is_needed, const std::string& name,
                        CuFunction* function) {
    if (!is_needed) return OkStatus();
    return FindL3Function(driver_, context_, "liquid_image_" + name, function);
  };
  const bool has_canvases = recipe.canvases != 0;
  const std::string out = types.substr(types.find('_') + 1);
  LIQUID_RETURN_IF_ERROR(find(true, types, &functions->make));
  LIQUID_RETURN_IF_ERROR(find(recipe.luma != 0, "luma", &functions->luma));
  LIQUID_RETURN_IF_ERROR(
      find(has_canvases, stored + "_" + stored, &functions->begin));
  LIQUID_RETURN_IF_ERROR(find(has_canvases, "find", &functions->find));
  LIQUID_RETURN_IF_ERROR(
      find(has_canvases, "operate_" + stored, &functions->operate));
  return find(!recipe.erasures.empty(), "erase_" + out, &functions->erase);
}

Status L3Lane::Launch(CuFunction kernel, CuAddress output, CuAddress of_images,
                      uint32_t count, CuAddress tables, CuAddress out,
                      CuAddress in, uint32_t threads, uint32_t shared_bytes) {
  void* arguments[] = {&output, &of_images, &count, &tables, &out, &in};
  return CudaStatus(driver_,
                    driver_.launch(kernel, count, 1, 1, threads, 1, 1,
                                   shared_bytes, stream_, arguments, nullptr),
                    "to launch a kernel");
}

Status L3Lane::MakeImages(const L3DeviceBatch& batch,
                          const ImageDeviceBatch& recipe,
                          const ImageDeviceChunk& chunk,
                          const L3LaneLayout& layout,
                          const ImageFunctions& functions,
                          const L3LaneMemory& memory) {
  const auto output = [&](size_t number) {
    return memory.staging + layout.output + number * sizeof(L3DeviceOutput);
  };
  const CuAddress tables = memory.staging + layout.tables;
  const CuAddress scratch = memory.staging + layout.scratch;
  const uint32_t tiles = chunk.count * ImageTiles(recipe.height, recipe.width);
  const uint32_t shared =
      ImageSharedBytes(batch.image.channels, batch.image.bits);
  const auto make = [&](CuFunction kernel, CuAddress of_output, size_t samples,
                        CuAddress out, CuAddress in) {
    return Launch(
        kernel, of_output,
        memory.staging + samples + chunk.first * sizeof(ImageDeviceSample),
        tiles, tables, out, in, kImageThreads, shared);
  };
  if (recipe.canvases == 0) {
    // What finds sums comes before.
    if (recipe.luma != 0) {
      LIQUID_RETURN_IF_ERROR(make(functions.luma, output(0), layout.samples,
                                  scratch + recipe.luma, scratch));
    }
    return make(functions.make, output(0), layout.samples, memory.pixels,
                scratch);
  }
  const CuAddress canvases = scratch + recipe.canvases;
  const CuAddress found = scratch + recipe.found;
  const CuAddress of_canvas = output(1 + recipe.chunks.size());
  LIQUID_RETURN_IF_ERROR(
      make(functions.begin, of_canvas, layout.samples, canvases, scratch));
  for (uint32_t round = 0; round < chunk.rounds; ++round) {
    const size_t first = chunk.operations + size_t{round} * chunk.count;
    const CuAddress operations = memory.staging + layout.operations +
                                 first * sizeof(ImageDeviceOperation);
    const auto begin =
        recipe.operations.begin() + static_cast<ptrdiff_t>(first);
    if (std::any_of(begin, begin + chunk.count, NeedsWhole)) {
      LIQUID_RETURN_IF_ERROR(Launch(functions.find, of_canvas, operations,
                                    chunk.count, tables, found, canvases,
                                    kImageFindThreads, kImageFindSharedBytes));
    }
    LIQUID_RETURN_IF_ERROR(Launch(functions.operate, of_canvas, operations,
                                  tiles, tables, canvases, found, kImageThreads,
                                  0));
  }
  return make(functions.make, output(0), layout.finished, memory.pixels,
              canvases);
}

Status L3Lane::Copy(const L3LaneLayout& layout, CuAddress staging) {
  std::vector<CuAddress> to, from;
  std::vector<size_t> sizes;
  for (const L3LaneLayout::Copy& copy : layout.copies) {
    const uint8_t* const begin =
        (copy.where != nullptr ? copy.where : host_.data()) + copy.from;
    to.push_back(staging + PlaceOnDevice(copy.to, staging));
    from.push_back(reinterpret_cast<CuAddress>(begin));
    sizes.push_back(copy.size);
  }
  // None of the sources is written by the stream.
  CuCopyAttributes attributes = {kCuAnyOrder, {}, {}, 0};
  size_t first = 0, failed = 0;
  if (to.size() > 1 && driver_.copy_batch != nullptr &&
      driver_.copy_batch(to.data(), from.data(), sizes.data(), to.size(),
                         &attributes, &first, 1, &failed,
                         stream_) == kCuSuccess) {
    return OkStatus();
  }
  // Whatever a driver has against it, one by one says whether they go at all.
  for (size_t i = 0; i < to.size(); ++i) {
    LIQUID_RETURN_IF_ERROR(CudaStatus(
        driver_,
        driver_.copy_to_device(to[i], reinterpret_cast<const void*>(from[i]),
                               sizes[i], stream_),
        "to copy a batch to the GPU"));
  }
  return OkStatus();
}

Status L3Lane::Enqueue(const L3DeviceBatch& batch,
                       const ImageDeviceBatch* recipe,
                       const L3LaneLayout& layout,
                       const std::vector<CuFunction>& functions,
                       const ImageFunctions& of_recipe,
                       const L3LaneMemory& memory) {
  LIQUID_RETURN_IF_ERROR(Mark(begun_));
  LIQUID_RETURN_IF_ERROR(Copy(layout, memory.staging));
  LIQUID_RETURN_IF_ERROR(Mark(copied_));
  CuAddress output = memory.staging + layout.output;
  CuAddress bytes = memory.staging + layout.bytes;
  CuAddress pixels = memory.pixels;
  LIQUID_RETURN_IF_ERROR(LaunchL3Plan(
      driver_, functions[0], stream_,
      static_cast<uint32_t>(batch.images.size()),
      memory.staging + layout.images, memory.staging + layout.runs, bytes,
      memory.staging + layout.tasks, memory.staging + layout.results));
  for (size_t i = 0; i < batch.launches.size(); ++i) {
    L3DeviceLaunch launch = batch.launches[i];
    if (recipe != nullptr) {
      const ImageDeviceChunk& chunk = recipe->chunks[launch.chunk];
      output = memory.staging + layout.output +
               (1 + launch.chunk) * sizeof(L3DeviceOutput);
      // Tasks have the numbers of images in the batch.
      pixels = memory.staging + layout.scratch -
               uint64_t{chunk.first} * chunk.height * chunk.width *
                   batch.image.BytesPerPixel();
    }
    const bool is_jpeg = IsJpegTask(launch.kind);
    CuAddress tasks = memory.staging +
                      (is_jpeg ? layout.host_tasks : layout.tasks) +
                      launch.first * sizeof(L3DeviceTask);
    CuAddress results = memory.staging +
                        (is_jpeg ? layout.host_results : layout.results) +
                        launch.first * sizeof(uint32_t);
    CuAddress jpeg = memory.staging + layout.jpeg;
    CuAddress blocks = memory.staging + layout.blocks;
    void* arguments[] = {
        is_jpeg ? &jpeg : &output,   &tasks,  &launch.count, &bytes,
        is_jpeg ? &blocks : &pixels, &results};
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(driver_,
                   driver_.launch(functions[kBeside + i], launch.blocks, 1, 1,
                                  launch.threads, 1, 1, launch.shared_bytes,
                                  stream_, arguments, nullptr),
                   "to launch a kernel"));
    if (recipe != nullptr && (i + 1 == batch.launches.size() ||
                              batch.launches[i + 1].chunk != launch.chunk)) {
      LIQUID_RETURN_IF_ERROR(MakeImages(batch, *recipe,
                                        recipe->chunks[launch.chunk], layout,
                                        of_recipe, memory));
    }
  }
  if (recipe != nullptr && !recipe->erasures.empty()) {
    const auto count = static_cast<uint32_t>(recipe->erasures.size());
    LIQUID_RETURN_IF_ERROR(
        Launch(of_recipe.erase, memory.staging + layout.output,
               memory.staging + layout.erasures,
               count * ImageTiles(recipe->height, recipe->width),
               memory.staging + layout.tables, memory.pixels,
               memory.staging + layout.scratch, kImageThreads, 0));
  }
  LIQUID_RETURN_IF_ERROR(
      LaunchL3Check(driver_, functions[1], stream_, batch.n_tasks,
                    memory.staging + layout.tasks,
                    memory.staging + layout.results, memory.staging));
  LIQUID_RETURN_IF_ERROR(LaunchL3Check(
      driver_, functions[1], stream_, static_cast<uint32_t>(batch.tasks.size()),
      memory.staging + layout.host_tasks, memory.staging + layout.host_results,
      memory.staging));
  LIQUID_RETURN_IF_ERROR(Mark(decoded_));
  return CudaStatus(driver_,
                    driver_.copy_to_host(host_.data(), memory.staging,
                                         sizeof(L3DeviceFindings), stream_),
                    "to copy what a batch came to");
}

Status L3Lane::Start(const L3DeviceBatch& batch, const ImageDeviceBatch* recipe,
                     const L3LaneLayout& layout, const Fill& fill,
                     const L3DeviceOutput& output, const std::string& types,
                     const L3LaneMemory& memory, Done done) {
  const CudaDriver& driver = driver_;
  const CuStream stream = stream_;
  const CudaScope scope(driver, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  // Scratch memory has what is stored.
  const std::string stored = types.substr(0, types.find('_'));
  std::vector<std::string> names = {kL3PlanKernel, kL3CheckKernel};
  for (const L3DeviceLaunch& launch : batch.launches) {
    names.push_back(L3KernelName(
        launch.kind, recipe == nullptr ? types : stored + "_" + stored));
  }
  std::vector<CuFunction> functions(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    LIQUID_RETURN_IF_ERROR(
        FindL3Function(driver, context_, names[i], &functions[i]));
  }
  ImageFunctions of_recipe;
  if (recipe != nullptr) {
    LIQUID_RETURN_IF_ERROR(FindFunctions(*recipe, stored, types, &of_recipe));
  }
  LIQUID_RETURN_IF_ERROR(host_.Reserve(layout.host_size));
  uint8_t* const host = host_.data();
  const L3DeviceFindings none;
  std::memcpy(host, &none, sizeof(none));
  std::memcpy(host + layout.output, &output, sizeof(output));
  if (recipe != nullptr) LayOut(*recipe, output, layout, host);
  Put(batch.images, host + layout.images);
  Put(batch.runs, host + layout.runs);
  Put(batch.jpeg, host + layout.jpeg);
  Place(batch, layout, memory.staging + layout.bytes, host);
  Put(batch.tasks, host + layout.host_tasks);
  // What no task leaves.
  std::memset(host + layout.host_results, 0xFF,
              batch.tasks.size() * sizeof(uint32_t));
  fill(host + layout.bytes);

  Status status = Enqueue(batch, recipe, layout, functions, of_recipe, memory);
  if (status.ok()) {
    // Not cuLaunchHostFunc, which is not called after an error on the device:
    // whoever waits for the batch would wait for ever.
    auto told = std::make_unique<Done>(std::move(done));
    status =
        CudaStatus(driver, driver.stream_callback(stream, Tell, told.get(), 0),
                   "to be told of a batch");
    // Whoever was told may have let the lane go.
    if (status.ok()) told.release();
  }
  // What has been enqueued still reads and writes the memory.
  if (!status.ok()) driver.stream_synchronize(stream);
  return status;
}

Status L3Lane::Ended(CuResult result, L3LaneTimes* times) const {
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver_, result, "to decode a batch"));
  const CudaScope scope(driver_, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  float copy = 0, decode = 0;  // milliseconds
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver_, driver_.event_milliseconds(&copy, begun_, copied_),
                 "to time a copy"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver_, driver_.event_milliseconds(&decode, copied_, decoded_),
      "to time a kernel"));
  *times = {copy / 1e3, decode / 1e3};
  return OkStatus();
}

}  // namespace liquid
