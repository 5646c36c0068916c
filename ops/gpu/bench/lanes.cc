#include "ops/gpu/bench/lanes.h"

#include <algorithm>
#include <cstring>

#include "ops/core/clock.h"
#include "ops/gpu/driver/l3_batch.h"
#include "ops/image/image_maker.h"

namespace liquid {
namespace {

// Pixels that are decoded already.
class DecodedImage : public StoredImage {
 public:
  DecodedImage(const ImageInfo& info, const std::vector<uint8_t>& pixels)
      : info_(info), pixels_(pixels) {}
  const ImageInfo& info() const override { return info_; }
  uint32_t Draft(uint32_t /*most*/) const override { return 1; }
  Status Decode(uint32_t /*draft*/, const Window& window, uint8_t* out,
                size_t row_stride) override {
    const size_t pixel = info_.BytesPerPixel();
    for (uint32_t y = 0; y < window.height; ++y) {
      std::memcpy(
          out + y * row_stride,
          &pixels_[(window.y + y) * info_.RowBytes() + window.x * pixel],
          window.width * pixel);
    }
    return OkStatus();
  }

 private:
  const ImageInfo info_;
  const std::vector<uint8_t>& pixels_;
};

// What the processors make by the same steps.
Status MakeFinisher(const DeviceSteps& steps, Finisher* finisher) {
  FinishSpec spec;
  spec.type = steps.type;
  spec.channels_first = steps.planar;
  if (steps.type != PixelType::kUint8) {
    spec.mean = steps.mean;
    spec.std = steps.std;
  }
  return Finisher::Create(spec, finisher);
}

}  // namespace

BenchThreads::BenchThreads(size_t count) {
  for (size_t i = 1; i < count; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

BenchThreads::~BenchThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void BenchThreads::DoParts(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const size_t at = next_++;
    const std::function<void(size_t)>& part = *part_;
    ++working_;
    lock.unlock();
    part(at);
    lock.lock();
    --working_;
  }
}

void BenchThreads::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_) {
    DoParts(lock);
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_over_ || next_ < count_; });
  }
}

void BenchThreads::Run(size_t count, const std::function<void(size_t)>& part) {
  std::unique_lock<std::mutex> lock(mutex_);
  part_ = &part;
  next_ = 0;
  count_ = count;
  changed_.notify_all();
  DoParts(lock);
  changed_.wait(lock, [this] { return working_ == 0; });
}

void BenchThreads::Share(int64_t count,
                         const std::function<void(int64_t, int64_t)>& part) {
  const int64_t parts = std::min(static_cast<int64_t>(this->count()), count);
  Run(static_cast<size_t>(parts), [&](size_t i) {
    const auto at = static_cast<int64_t>(i);
    part(at * count / parts, (at + 1) * count / parts);
  });
}

Status BenchLanes::Make(const BenchDevice& device,
                        const Photographs& photographs,
                        const std::string& format, size_t count,
                        const DeviceSteps& steps, bool registered, size_t lanes,
                        BenchThreads* threads,
                        std::unique_ptr<BenchLanes>* made) {
  std::unique_ptr<BenchLanes> all(
      new BenchLanes(device, photographs, format, steps, threads));
  all->files_ = BenchFiles(photographs, format, count);
  const ImageInfo& info = photographs.info;
  all->plans_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    LIQUID_RETURN_IF_ERROR(PlanSample(
        steps.recipe, /*epoch=*/0, /*draw=*/i, info.height, info.width,
        /*orientation=*/1, steps.limits.max_pixels, &all->plans_[i]));
  }
  if (registered) LIQUID_RETURN_IF_ERROR(all->Register());
  DeviceBatch batch;
  LIQUID_RETURN_IF_ERROR(all->Plan(&batch));
  all->stored_bytes_ = batch.tasks.bytes;
  all->pixel_bytes_ = batch.arrays[0].bytes();
  const L3LaneLayout layout(batch.tasks, batch.files, batch.images);
  for (size_t i = 0; i < lanes; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->memory.pixels.resize(1);
    LIQUID_RETURN_IF_ERROR(
        L3Lane::Create(device.driver(), device.context(), &slot->lane));
    LIQUID_RETURN_IF_ERROR(
        device.Allocate(layout.device_size, &slot->memory.staging));
    LIQUID_RETURN_IF_ERROR(
        device.Allocate(all->pixel_bytes_, &slot->memory.pixels.front()));
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(device.driver(),
                   device.more().fill(slot->memory.pixels.front(), 0x5A,
                                      all->pixel_bytes_, device.stream()),
                   "to clear memory"));
    all->slots_.push_back(std::move(slot));
  }
  LIQUID_RETURN_IF_ERROR(device.Synchronize());
  *made = std::move(all);
  return OkStatus();
}

BenchLanes::~BenchLanes() {
  for (const auto& slot : slots_) {
    (void)Wait(*slot);
    device_.driver().free(slot->memory.staging);
    device_.driver().free(slot->memory.pixels.front());
  }
  if (registered_ != nullptr) device_.driver().host_free(registered_);
}

// Each file once for each image of the batch, as records lie.
Status BenchLanes::Register() {
  size_t size = 0;
  for (const L3DeviceFile& file : files_) size += file.bytes.size;
  LIQUID_RETURN_IF_ERROR(device_.AllocatePinned(size, &registered_));
  uint8_t* to = registered_;
  for (L3DeviceFile& file : files_) {
    std::memcpy(to, file.bytes.data, file.bytes.size);
    file.bytes = ByteSpan(to, file.bytes.size);
    file.is_registered = true;
    to += file.bytes.size;
  }
  return OkStatus();
}

Status BenchLanes::Plan(DeviceBatch* batch) const {
  const ImageInfo& info = photographs_.info;
  batch->files = files_;
  batch->rows.assign(files_.size(), info);
  for (const SamplePlan& plan : plans_) {
    batch->inputs.push_back({&plan, info.height, info.width});
  }
  const auto parallel = [this](
                            int64_t count, int64_t /*cycles*/,
                            const std::function<void(int64_t, int64_t)>& part) {
    threads_->Share(count, part);
  };
  return PlanDeviceBatch(steps_, parallel, batch);
}

Status BenchLanes::Wait(Slot& slot) {
  if (!slot.is_under_way) return OkStatus();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return slot.is_done; });
  }
  slot.is_under_way = false;
  LIQUID_RETURN_IF_ERROR(slot.lane->Ended(slot.result, &slot.parts.device));
  parts_ = slot.parts;
  return CheckL3Device(slot.batch.files, slot.batch.tasks,
                       slot.lane->findings());
}

Status BenchLanes::Start() {
  Slot& slot = *slots_[turn_++ % slots_.size()];
  LIQUID_RETURN_IF_ERROR(Wait(slot));
  const double begin = MonotonicSeconds();
  slot.batch = DeviceBatch();
  LIQUID_RETURN_IF_ERROR(Plan(&slot.batch));
  const L3LaneLayout layout(slot.batch.tasks, slot.batch.files,
                            slot.batch.images);
  slot.parts.plan = 1e3 * (MonotonicSeconds() - begin);
  slot.parts.fill = 0;
  slot.is_done = false;
  // A first one is under way, so that it also waits for its memory.
  LIQUID_RETURN_IF_ERROR(slot.lane->WaitFor(device_.stream()));
  const auto fill = [&](int64_t count, int64_t /*cycles*/,
                        const std::function<void(int64_t, int64_t)>& part) {
    const double before = MonotonicSeconds();
    threads_->Share(count, part);
    slot.parts.fill = 1e3 * (MonotonicSeconds() - before);
  };
  LIQUID_RETURN_IF_ERROR(
      StartDeviceBatch(slot.batch, layout, fill, slot.memory, slot.lane.get(),
                       [this, &slot](CuResult result) {
                         std::lock_guard<std::mutex> lock(mutex_);
                         slot.result = result;
                         slot.is_done = true;
                         done_.notify_all();
                       }));
  slot.is_under_way = true;
  return OkStatus();
}

Status BenchLanes::Finish() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    LIQUID_RETURN_IF_ERROR(Wait(*slots_[(turn_ + i) % slots_.size()]));
  }
  return OkStatus();
}

Status BenchLanes::Check(const std::string& what) const {
  Finisher finisher;
  LIQUID_RETURN_IF_ERROR(MakeFinisher(steps_, &finisher));
  const ImageMaker maker(steps_.recipe, finisher, /*mask=*/false);
  MakerScratch scratch;
  const size_t count = files_.size();
  const size_t size = pixel_bytes_ / count;
  std::vector<uint8_t> expected(size), got(size);
  for (size_t i = 0; i < count; ++i) {
    const Photograph& image =
        photographs_.images[i % photographs_.images.size()];
    DecodedImage stored(photographs_.info, image.Pixels(format_));
    LIQUID_RETURN_IF_ERROR(
        maker.Make(plans_[i], &stored, &scratch, expected.data()));
    for (const auto& slot : slots_) {
      LIQUID_RETURN_IF_ERROR(device_.CopyOut(
          got.data(), slot->memory.pixels.front() + i * size, size));
      if (got != expected) {
        return DataLoss(what + ": image " + std::to_string(i) +
                        " has other pixels than on the processors");
      }
    }
  }
  return OkStatus();
}

}  // namespace liquid
