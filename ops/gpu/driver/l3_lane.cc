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
void LayOut(const std::vector<ImageDeviceBatch>& views,
            const std::vector<L3DeviceOutput>& outputs,
            const L3LaneLayout& layout, uint8_t* host) {
  std::vector<L3DeviceOutput> all;
  for (const ImageDeviceChunk& chunk : views[0].chunks) {
    all.push_back({chunk.height,
                   chunk.width,
                   outputs[0].channels,
                   0,
                   {},
                   {},
                   outputs[0].verified,
                   0});
  }
  for (size_t v = 0; v < views.size(); ++v) {
    const ImageDeviceBatch& recipe = views[v];
    all.push_back(outputs[v]);
    all.push_back({recipe.height,
                   recipe.width,
                   outputs[v].channels,
                   0,
                   {},
                   {},
                   0,
                   0});  // of canvases
    const L3LaneLayout::View& view = layout.views[v];
    Put(recipe.samples, host + view.samples);
    Put(recipe.finished, host + view.finished);
    Put(recipe.operations, host + view.operations);
    Put(recipe.erasures, host + view.erasures);
    Put(recipe.tables, host + view.tables);
  }
  Put(all, host + layout.output);
  Put(views[0].blends, host + layout.blends);
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

// Where a view's pixels go.
CuAddress PixelsOf(const L3LaneMemory& memory, size_t view) {
  return memory.pixels[memory.pixels.size() == 1 ? 0 : view];
}

// Takes back what Start() gave, and tells.
void Tell(CuStream /*stream*/, CuResult result, void* data) {
  const std::unique_ptr<L3Lane::Done> done(static_cast<L3Lane::Done*>(data));
  (*done)(result);
}

}  // namespace

L3LaneLayout::L3LaneLayout(const L3DeviceBatch& batch,
                           const std::vector<L3DeviceFile>& files,
                           const std::vector<ImageDeviceBatch>& recipes) {
  output = Aligned(sizeof(L3DeviceFindings));
  const size_t outputs =
      recipes.empty() ? 1 : recipes[0].chunks.size() + 2 * recipes.size();
  images = output + Aligned(outputs * sizeof(L3DeviceOutput));
  runs = images + Aligned(batch.images.size() * sizeof(L3DeviceImage));
  host_tasks = runs + Aligned(batch.runs.size() * sizeof(L3DeviceRun));
  host_results =
      host_tasks + Aligned(batch.tasks.size() * sizeof(L3DeviceTask));
  blends = host_results + Aligned(batch.tasks.size() * sizeof(uint32_t));
  jpeg = blends;
  if (!recipes.empty()) {
    jpeg += Aligned(recipes[0].blends.size() * sizeof(ImageDeviceBlend));
  }
  for (const ImageDeviceBatch& recipe : recipes) {
    View view = {};
    const auto place = [this](const auto& values, size_t* at) {
      *at = jpeg;
      jpeg += Aligned(values.size() * sizeof(values[0]));
    };
    place(recipe.samples, &view.samples);
    place(recipe.finished, &view.finished);
    place(recipe.operations, &view.operations);
    place(recipe.erasures, &view.erasures);
    place(recipe.tables, &view.tables);
    views.push_back(view);
  }
  bytes = jpeg + Aligned(batch.jpeg.size());
  size = bytes + batch.bytes;
  copies.push_back({0, nullptr, 0, bytes});
  host_size = bytes;
  tasks = Aligned(size);
  results = tasks + Aligned(batch.n_tasks * sizeof(L3DeviceTask));
  blocks = results + Aligned(batch.n_tasks * sizeof(uint32_t));
  scratch = blocks + batch.jpeg_scratch_bytes;
  device_size = scratch;
  for (const ImageDeviceBatch& recipe : recipes) {
    device_size =
        std::max(device_size, scratch + Aligned(recipe.scratch_bytes));
  }
  floats = device_size;
  if (!recipes.empty()) {
    device_size +=
        Aligned(recipes[0].blends.size() * recipes[0].height *
                recipes[0].width * batch.image.channels * sizeof(float));
  }
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

Status L3Lane::IsCaptured(CuStream stream, bool* captured) const {
  const CudaScope scope(driver_, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  int status = kCuCaptureNone;
  const CuResult result = driver_.stream_captured(stream, &status);
  *captured = result == kCuCaptureImplicit || status != kCuCaptureNone;
  return *captured ? OkStatus()
                   : CudaStatus(driver_, result,
                                "to ask whether a stream is captured");
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

Status L3Lane::FindFunctions(const ImageDeviceBatch& recipe, bool mixes,
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
  const std::string made = mixes ? "f32" : out;
  LIQUID_RETURN_IF_ERROR(find(true, stored + "_" + made, &functions->make));
  LIQUID_RETURN_IF_ERROR(find(recipe.luma != 0, "luma", &functions->luma));
  LIQUID_RETURN_IF_ERROR(
      find(has_canvases, stored + "_" + stored, &functions->begin));
  LIQUID_RETURN_IF_ERROR(find(has_canvases, "find", &functions->find));
  LIQUID_RETURN_IF_ERROR(
      find(has_canvases, "operate_" + stored, &functions->operate));
  LIQUID_RETURN_IF_ERROR(
      find(!recipe.erasures.empty(), "erase_" + made, &functions->erase));
  return find(!recipe.blends.empty(), "mix_" + out, &functions->mix);
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
                          const ImageDeviceBatch& recipe, size_t view,
                          size_t number, const L3LaneLayout& layout,
                          const ImageFunctions& functions,
                          const L3LaneMemory& memory) {
  const ImageDeviceChunk& chunk = recipe.chunks[number];
  const L3LaneLayout::View& place = layout.views[view];
  const CuAddress of_pixels =
      memory.staging + layout.output +
      (recipe.chunks.size() + 2 * view) * sizeof(L3DeviceOutput);
  const CuAddress of_canvas = of_pixels + sizeof(L3DeviceOutput);
  const CuAddress pixels = PixelsOf(memory, view);
  const CuAddress tables = memory.staging + place.tables;
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
      LIQUID_RETURN_IF_ERROR(make(functions.luma, of_pixels, place.samples,
                                  scratch + recipe.luma, scratch));
    }
    return make(functions.make, of_pixels, place.samples, pixels, scratch);
  }
  const CuAddress canvases = scratch + recipe.canvases;
  const CuAddress found = scratch + recipe.found;
  LIQUID_RETURN_IF_ERROR(
      make(functions.begin, of_canvas, place.samples, canvases, scratch));
  for (uint32_t round = 0; round < chunk.rounds; ++round) {
    const size_t first = chunk.operations + size_t{round} * chunk.count;
    const CuAddress operations = memory.staging + place.operations +
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
  return make(functions.make, of_pixels, place.finished, pixels, canvases);
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
                       const std::vector<ImageDeviceBatch>& views,
                       const L3LaneLayout& layout,
                       const std::vector<CuFunction>& functions,
                       const std::vector<ImageFunctions>& of_views,
                       const L3LaneMemory& memory) {
  LIQUID_RETURN_IF_ERROR(Mark(begun_));
  LIQUID_RETURN_IF_ERROR(Copy(layout, memory.staging));
  LIQUID_RETURN_IF_ERROR(Mark(copied_));
  CuAddress output = memory.staging + layout.output;
  CuAddress bytes = memory.staging + layout.bytes;
  CuAddress pixels = memory.pixels[0];
  const bool mixes = !views.empty() && !views[0].blends.empty();
  // What is to be mixed is made beside the pixels.
  L3LaneMemory made = memory;
  if (mixes) made.pixels = {memory.staging + layout.floats};
  LIQUID_RETURN_IF_ERROR(LaunchL3Plan(
      driver_, functions[0], stream_,
      static_cast<uint32_t>(batch.images.size()),
      memory.staging + layout.images, memory.staging + layout.runs, bytes,
      memory.staging + layout.tasks, memory.staging + layout.results));
  for (size_t i = 0; i < batch.launches.size(); ++i) {
    L3DeviceLaunch launch = batch.launches[i];
    if (!views.empty()) {
      const ImageDeviceChunk& chunk = views[0].chunks[launch.chunk];
      output = memory.staging + layout.output +
               launch.chunk * sizeof(L3DeviceOutput);
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
    if (i + 1 < batch.launches.size() &&
        batch.launches[i + 1].chunk == launch.chunk) {
      continue;
    }
    for (size_t v = 0; v < views.size(); ++v) {
      LIQUID_RETURN_IF_ERROR(MakeImages(batch, views[v], v, launch.chunk,
                                        layout, of_views[v], made));
    }
  }
  for (size_t v = 0; v < views.size(); ++v) {
    const ImageDeviceBatch& recipe = views[v];
    if (recipe.erasures.empty()) continue;
    const auto count = static_cast<uint32_t>(recipe.erasures.size());
    LIQUID_RETURN_IF_ERROR(
        Launch(of_views[v].erase,
               memory.staging + layout.output +
                   (recipe.chunks.size() + 2 * v) * sizeof(L3DeviceOutput),
               memory.staging + layout.views[v].erasures,
               count * ImageTiles(recipe.height, recipe.width),
               memory.staging + layout.views[v].tables, PixelsOf(made, v),
               memory.staging + layout.scratch, kImageThreads, 0));
  }
  if (mixes) {
    const ImageDeviceBatch& recipe = views[0];
    const auto count = static_cast<uint32_t>(recipe.blends.size());
    LIQUID_RETURN_IF_ERROR(
        Launch(of_views[0].mix,
               memory.staging + layout.output +
                   recipe.chunks.size() * sizeof(L3DeviceOutput),
               memory.staging + layout.blends,
               count * ImageTiles(recipe.height, recipe.width),
               memory.staging + layout.views[0].tables, memory.pixels[0],
               made.pixels[0], kImageThreads, 0));
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

Status L3Lane::Start(const L3DeviceBatch& batch,
                     const std::vector<ImageDeviceBatch>& views,
                     const L3LaneLayout& layout, const Fill& fill,
                     const std::vector<L3DeviceOutput>& outputs,
                     const std::vector<std::string>& types,
                     const L3LaneMemory& memory, Done done) {
  const CudaDriver& driver = driver_;
  const CuStream stream = stream_;
  const CudaScope scope(driver, context_);
  LIQUID_RETURN_IF_ERROR(scope.status());
  // Scratch memory has what is stored.
  const std::string stored = types[0].substr(0, types[0].find('_'));
  std::vector<std::string> names = {kL3PlanKernel, kL3CheckKernel};
  for (const L3DeviceLaunch& launch : batch.launches) {
    names.push_back(L3KernelName(
        launch.kind, views.empty() ? types[0] : stored + "_" + stored));
  }
  std::vector<CuFunction> functions(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    LIQUID_RETURN_IF_ERROR(
        FindL3Function(driver, context_, names[i], &functions[i]));
  }
  std::vector<ImageFunctions> of_views(views.size());
  for (size_t v = 0; v < views.size(); ++v) {
    LIQUID_RETURN_IF_ERROR(FindFunctions(views[v], !views[0].blends.empty(),
                                         stored, types[v], &of_views[v]));
  }
  LIQUID_RETURN_IF_ERROR(host_.Reserve(layout.host_size));
  uint8_t* const host = host_.data();
  const L3DeviceFindings none;
  std::memcpy(host, &none, sizeof(none));
  if (views.empty()) {
    Put(outputs, host + layout.output);
  } else {
    LayOut(views, outputs, layout, host);
  }
  Put(batch.images, host + layout.images);
  Put(batch.runs, host + layout.runs);
  Put(batch.jpeg, host + layout.jpeg);
  Place(batch, layout, memory.staging + layout.bytes, host);
  Put(batch.tasks, host + layout.host_tasks);
  // What no task leaves.
  std::memset(host + layout.host_results, 0xFF,
              batch.tasks.size() * sizeof(uint32_t));
  fill(host + layout.bytes);

  Status status = Enqueue(batch, views, layout, functions, of_views, memory);
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
