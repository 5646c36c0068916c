#include "ops/gpu/bench/lanes.h"

#include <algorithm>

#include "ops/core/clock.h"

namespace liquid {

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

Status BenchLanes::Make(const BenchDevice& device,
                        const Photographs& photographs,
                        const std::string& format, size_t count, size_t lanes,
                        BenchThreads* threads,
                        std::unique_ptr<BenchLanes>* made) {
  std::unique_ptr<BenchLanes> all(new BenchLanes(device, photographs, threads));
  all->files_ = BenchFiles(photographs, format, count);
  all->output_ = BenchOutput(photographs.info, false);
  L3DeviceBatch plan;
  LIQUID_RETURN_IF_ERROR(PlanL3Device(all->files_, {}, &plan));
  all->stored_bytes_ = plan.bytes;
  const size_t pixels = photographs.info.PixelBytes() * count;
  for (size_t i = 0; i < lanes; ++i) {
    auto slot = std::make_unique<Slot>();
    LIQUID_RETURN_IF_ERROR(
        L3Lane::Create(device.driver(), device.context(), &slot->lane));
    LIQUID_RETURN_IF_ERROR(
        device.Allocate(L3LaneLayout(plan, all->files_, nullptr).device_size,
                        &slot->memory.staging));
    LIQUID_RETURN_IF_ERROR(device.Allocate(pixels, &slot->memory.pixels));
    LIQUID_RETURN_IF_ERROR(CudaStatus(
        device.driver(),
        device.more().fill(slot->memory.pixels, 0x5A, pixels, device.stream()),
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
    device_.driver().free(slot->memory.pixels);
  }
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
  return CheckL3Device(files_, slot.plan, slot.lane->findings());
}

Status BenchLanes::Start() {
  Slot& slot = *slots_[turn_++ % slots_.size()];
  LIQUID_RETURN_IF_ERROR(Wait(slot));
  const double begin = MonotonicSeconds();
  slot.plan = {};
  LIQUID_RETURN_IF_ERROR(PlanL3Device(files_, {}, &slot.plan));
  slot.parts.plan = 1e3 * (MonotonicSeconds() - begin);
  slot.is_done = false;
  // A first one is under way, so that it also waits for its memory.
  LIQUID_RETURN_IF_ERROR(slot.lane->WaitFor(device_.stream()));
  const L3LaneLayout layout(slot.plan, files_, nullptr);
  LIQUID_RETURN_IF_ERROR(slot.lane->Start(
      slot.plan, nullptr, layout,
      [&](uint8_t* bytes) {
        const double before = MonotonicSeconds();
        const L3DeviceCopy* const copies = layout.gathered.data();
        const size_t count = layout.gathered.size();
        const size_t parts = std::min(threads_->count(), count);
        threads_->Run(parts, [&](size_t i) {
          CopyL3Files(files_, copies + i * count / parts,
                      copies + (i + 1) * count / parts, bytes);
        });
        slot.parts.fill = 1e3 * (MonotonicSeconds() - before);
      },
      output_, "u8_u8", slot.memory,
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
  for (const auto& slot : slots_) {
    LIQUID_RETURN_IF_ERROR(CheckBenchPixels(device_, photographs_,
                                            files_.size(), BenchOut::kU8, false,
                                            slot->memory.pixels, what));
  }
  return OkStatus();
}

}  // namespace liquid
