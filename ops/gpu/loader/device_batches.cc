#include "ops/gpu/loader/device_batches.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "ops/core/condition.h"
#include "ops/gpu/driver/device_copy.h"
#include "ops/gpu/driver/record_memory.h"

namespace liquid {
namespace {

Status FindFeature(const DecodeMessage& message, const char* name, size_t* at) {
  const auto& features = message.features;
  const auto found = std::find(features.begin(), features.end(), name);
  if (found == features.end()) {
    return InvalidArgument(std::string("features must have \"") + name +
                           "\" for images on a GPU");
  }
  *at = static_cast<size_t>(found - features.begin());
  return OkStatus();
}

Status ReadSteps(const DecodeMessage& message,
                 const std::vector<PixelType>& types, DeviceSteps* steps) {
  if (types.size() != 1 + message.views.size()) {
    return InvalidArgument("dtypes (" + std::to_string(types.size()) +
                           ") must be one for each view");
  }
  LIQUID_RETURN_IF_ERROR(ReadDeviceView(message.recipe, types[0], steps));
  for (size_t v = 1; v < types.size(); ++v) {
    steps->more_views.emplace_back();
    LIQUID_RETURN_IF_ERROR(ReadDeviceView(message.views[v - 1].recipe, types[v],
                                          &steps->more_views.back()));
  }
  steps->stacked = message.stacked;
  steps->limits.max_pixels = static_cast<uint64_t>(message.max_pixels);
  steps->limits.max_scans = static_cast<uint64_t>(message.max_scans);
  return OkStatus();
}

// Memory of the GPU at the owner's address, which goes with the last owner.
// `of` is whose it is.
Status TakeMemory(const DevicePlace& place, uint64_t bytes, const char* of,
                  std::shared_ptr<const void>* owner) {
  const CudaScope scope(*place.driver, place.context);
  LIQUID_RETURN_IF_ERROR(scope.status());
  CuAddress address = 0;
  const CuResult result = place.driver->allocate(&address, bytes);
  if (result == kCuOutOfMemory) {
    return InvalidArgument(
        std::string(of) + " must be at most what GPU " +
        std::to_string(place.number) + " has free, which has no room for " +
        std::to_string(bytes) +
        " bytes: give less, or have others on that GPU take less");
  }
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(*place.driver, result, "to take memory of the GPU"));
  *owner = std::shared_ptr<const void>(
      reinterpret_cast<const void*>(address), [place](const void* memory) {
        const CudaScope freeing(*place.driver, place.context);
        if (!freeing.status().ok()) return;
        place.driver->free(reinterpret_cast<CuAddress>(memory));
      });
  return OkStatus();
}

CuAddress AddressOf(const std::shared_ptr<const void>& owner) {
  return reinterpret_cast<CuAddress>(owner.get());
}

// Has the images' means lie on the GPU, as long as their owner is there.
Status PutMean(const DevicePlace& place, const MeanImage& mean,
               DeviceSteps* steps, std::shared_ptr<const void>* owner) {
  FinishSpec spec;
  spec.mean_image = mean.values;
  spec.mean_height = static_cast<size_t>(mean.height);
  spec.mean_width = static_cast<size_t>(mean.width);
  spec.channels = mean.values.size() / (spec.mean_height * spec.mean_width);
  spec.channels_first = steps->planar;
  const std::vector<float> values = MeanInLayout(spec);
  const size_t bytes = values.size() * sizeof(float);
  LIQUID_RETURN_IF_ERROR(
      TakeMemory(place, bytes, "Normalize: mean_image", owner));
  steps->mean_image = {AddressOf(*owner),
                       static_cast<uint32_t>(spec.mean_height),
                       static_cast<uint32_t>(spec.mean_width),
                       static_cast<uint32_t>(spec.channels)};
  return CopyToGpu(*place.driver, place.context, values.data(), bytes,
                   AddressOf(*owner));
}

}  // namespace

Status DeviceBatches::Create(Loader* loader, const DecodeMessage& message,
                             const MeanImage& mean, int device,
                             const std::vector<PixelType>& types,
                             uint64_t cache_bytes,
                             std::function<void(const std::string&)> warn,
                             std::unique_ptr<DeviceBatches>* made) {
  std::unique_ptr<DeviceBatches> batches(new DeviceBatches(warn));
  batches->loader_ = loader;
  LIQUID_RETURN_IF_ERROR(
      FindFeature(message, "image[stored]", &batches->stored_));
  LIQUID_RETURN_IF_ERROR(FindFeature(message, "id", &batches->id_));
  LIQUID_RETURN_IF_ERROR(ReadSteps(message, types, &batches->steps_));
  DevicePlace& place = batches->place_;
  LIQUID_RETURN_IF_ERROR(FindDevicePlace(device, &place));
  LIQUID_RETURN_IF_ERROR(
      HostParts::Create(message.parallelism, &batches->parts_));
  if (!mean.values.empty()) {
    LIQUID_RETURN_IF_ERROR(
        PutMean(place, mean, &batches->steps_, &batches->mean_));
  }
  if (cache_bytes > 0) {
    std::shared_ptr<const void> owner;
    LIQUID_RETURN_IF_ERROR(
        TakeMemory(place, cache_bytes, "Cache: gpu", &owner));
    loader->snapshot().SetArena(std::make_shared<Arena>(
        AddressOf(owner), cache_bytes, "GPU " + std::to_string(device), owner));
  }
  RegisterRecords(*place.driver, place.context, std::move(warn));
  *made = std::move(batches);
  return OkStatus();
}

Status DeviceBatches::Start() {
  {
    std::lock_guard<std::mutex> lock(bell_->mu);
    cancelled_ = false;
  }
  return StartThread([this] { Produce(); }, &producer_);
}

void DeviceBatches::Cancel() {
  std::lock_guard<std::mutex> lock(bell_->mu);
  cancelled_ = true;
  bell_->changed.NotifyAll();
}

void DeviceBatches::Stop() {
  if (!producer_.joinable()) return;
  Cancel();
  loader_->Cancel();
  producer_.join();
  std::unique_lock<std::mutex> lock(bell_->mu);
  bell_->changed.Wait(lock, [this] {
    return std::all_of(ahead_.begin(), ahead_.end(),
                       [](const auto& work) { return work->is_done; });
  });
  std::deque<std::shared_ptr<Work>> left;
  left.swap(ahead_);
  lock.unlock();
  for (const auto& work : left) {
    if (work->slot != nullptr) slots_.Return(work->slot.get());
  }
}

void DeviceBatches::Produce() {
  while (true) {
    {
      std::unique_lock<std::mutex> lock(bell_->mu);
      bell_->changed.Wait(
          lock, [this] { return cancelled_ || ahead_.size() < kAhead; });
      if (cancelled_) return;
    }
    const auto work = std::make_shared<Work>();
    try {
      work->status = Begin(work);
    } catch (const std::bad_alloc&) {
      work->status = Unavailable(
          "the process has no memory to plan a batch for a GPU: make batches "
          "smaller, or give cache less memory");
    }
    std::lock_guard<std::mutex> lock(bell_->mu);
    ahead_.push_back(work);
    if (work->is_last()) work->is_done = true;
    bell_->changed.NotifyAll();
    if (work->is_last()) return;
  }
}

Status DeviceBatches::Begin(const std::shared_ptr<Work>& work) {
  Loader::Batch& batch = work->batch.batch;
  LIQUID_RETURN_IF_ERROR(loader_->Next(&batch));
  if (batch.end) return OkStatus();
  work->records = std::move(batch.outputs[stored_].records);
  work->plans = std::move(batch.outputs[stored_].plans);
  DeviceBatch& planned = work->planned;
  AddRecords(work->records, work->plans, batch.outputs[stored_].moves,
             &planned);
  batch.outputs[stored_].moves.clear();
  planned.blends = std::move(batch.outputs[stored_].blends);
  const auto* const ids = batch.outputs[id_].numbers.as<int64_t>();
  for (size_t i = 0; i < planned.files.size(); ++i) {
    planned.files[i].sample = ids[i];
  }
  const auto parallel = [this](
                            int64_t count, int64_t cycles,
                            const std::function<void(int64_t, int64_t)>& part) {
    parts_->Run(count, cycles, part);
  };
  LIQUID_RETURN_IF_ERROR(PlanDeviceBatch(steps_, parallel, &planned));
  planned.jpeg.Count(batch.outputs[stored_].formats,
                     batch.outputs[stored_].count_decode);
  const L3LaneLayout layout(planned.tasks, planned.files, planned.images);
  work->crossing = layout.crossing;
  LIQUID_RETURN_IF_ERROR(TakeSlot(layout.device_size, work.get()));
  // It stays until it is done, and must not end on the driver's thread.
  const auto done = [bell = bell_, raw = work.get()](CuResult result) {
    std::lock_guard<std::mutex> lock(bell->mu);
    raw->result = result;
    raw->is_done = true;
    bell->changed.NotifyAll();
  };
  const Status started = StartDeviceBatch(
      planned, layout, parallel, work->on().memory(), work->on().lane(), done);
  if (started.ok()) return OkStatus();
  slots_.Return(work->slot.get());
  work->slot = nullptr;
  return OfMemory(started);
}

Status DeviceBatches::TakeSlot(size_t staging, Work* work) {
  std::vector<size_t> arrays;
  for (const DeviceArray& array : work->planned.arrays) {
    arrays.push_back(array.bytes());
  }
  while (true) {
    uint64_t given_back = 0;
    {
      std::lock_guard<std::mutex> lock(bell_->mu);
      given_back = bell_->given_back;
    }
    const Status taken = slots_.Take(
        [this] { return std::make_unique<DeviceSlot>(place_, bell_); },
        [&](bool /*may_wait*/, L3Slot* slot) {
          return static_cast<DeviceSlot*>(slot)->Fit(staging, arrays);
        },
        &work->slot);
    if (taken.code() != StatusCode::kResourceExhausted) return taken;
    // Whoever has a batch, or gets one, may give its memory back; but not who
    // waits for this one.
    std::unique_lock<std::mutex> lock(bell_->mu);
    bell_->changed.Wait(lock, [&] {
      return cancelled_ || bell_->given_back != given_back ||
             (waits_ && ahead_.empty());
    });
    if (cancelled_) return Status(StatusCode::kCancelled, "cancelled");
    if (bell_->given_back == given_back) return OfMemory(taken);
  }
}

Status DeviceBatches::Next(Batch* batch) {
  // Says that there is no epoch.
  if (!producer_.joinable()) return loader_->Next(&batch->batch);
  std::shared_ptr<Work> work;
  {
    std::unique_lock<std::mutex> lock(bell_->mu);
    waits_ = true;
    bell_->changed.NotifyAll();
    bell_->changed.Wait(lock, [this] {
      return cancelled_ || (!ahead_.empty() && ahead_.front()->is_done);
    });
    waits_ = false;
    if (cancelled_) return Status(StatusCode::kCancelled, "cancelled");
    work = ahead_.front();
    // The end and an error stay.
    if (work->is_last()) {
      batch->batch.end = true;
      return work->status;
    }
  }
  const Status ended = End(work.get());
  std::lock_guard<std::mutex> lock(bell_->mu);
  if (ended.ok()) {
    *batch = std::move(work->batch);
    ahead_.pop_front();
    bell_->changed.NotifyAll();
  } else {
    work->status = ended;
  }
  return ended;
}

Status DeviceBatches::End(Work* work) {
  Status ended = EndDeviceBatch(work->crossing, work->result,
                                *work->on().lane(), &work->planned);
  // They may be let go, and others be read in their place.
  work->records.clear();
  if (ended.ok()) {
    work->on().Lend();
    for (size_t i = 0; i < work->planned.arrays.size(); ++i) {
      work->batch.images.push_back(std::make_shared<DeviceImages>(
          std::static_pointer_cast<DeviceSlot>(work->slot), i,
          std::move(work->planned.arrays[i])));
    }
  }
  slots_.Return(work->slot.get());
  work->slot = nullptr;
  return ended;
}

}  // namespace liquid
