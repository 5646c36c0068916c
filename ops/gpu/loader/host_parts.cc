#include "ops/gpu/loader/host_parts.h"

#include <algorithm>
#include <mutex>

#include "ops/core/condition.h"

namespace liquid {
namespace {

// What is copied by the host, by so many threads at most: the bus is as fast.
constexpr int64_t kMostParts = 8;
// Work that is not worth a thread.
constexpr int64_t kFewCycles = 1 << 20;

}  // namespace

Status HostParts::Create(int64_t most, std::unique_ptr<HostParts>* parts) {
  std::unique_ptr<HostParts> made(new HostParts());
  made->most_ = std::min(most, kMostParts);
  LIQUID_RETURN_IF_ERROR(Threads::Create(made->most_, &made->threads_));
  *parts = std::move(made);
  return OkStatus();
}

void HostParts::Run(int64_t count, int64_t cycles,
                    const std::function<void(int64_t, int64_t)>& part) {
  const int64_t parts = std::min(count, most_);
  if (parts < 2 || count * cycles < kFewCycles) return part(0, count);
  std::mutex mu;
  Condition changed;
  int64_t left = parts;
  for (int64_t i = 0; i < parts; ++i) {
    threads_->Run([&, i] {
      part(i * count / parts, (i + 1) * count / parts);
      std::lock_guard<std::mutex> lock(mu);
      --left;
      changed.NotifyAll();
    });
  }
  std::unique_lock<std::mutex> lock(mu);
  changed.Wait(lock, [&] { return left == 0; });
}

}  // namespace liquid
