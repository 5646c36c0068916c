#include "ops/engine/threads.h"

#include <string>
#include <system_error>
#include <utility>

namespace liquid {

Status StartThread(std::function<void()> work, std::thread* thread) {
  try {
    *thread = std::thread(std::move(work));
    return OkStatus();
  } catch (const std::system_error& error) {
    return Unavailable(std::string("the system gives no more threads: ") +
                       error.what());
  }
}

Status Threads::Create(int64_t count, std::unique_ptr<Threads>* made) {
  std::unique_ptr<Threads> threads(new Threads());
  threads->threads_.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    std::thread thread;
    LIQUID_RETURN_IF_ERROR(
        StartThread([self = threads.get()]() { self->Work(); }, &thread));
    threads->threads_.push_back(std::move(thread));
  }
  *made = std::move(threads);
  return OkStatus();
}

Threads::~Threads() {
  {
    std::unique_lock<std::mutex> lock(mu_);
    ends_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Threads::Run(std::function<void()> work) {
  std::unique_lock<std::mutex> lock(mu_);
  waiting_.push_back(std::move(work));
  changed_.NotifyOne();
}

void Threads::Work() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock<std::mutex> lock(mu_);
      changed_.Wait(lock, [this]() { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace liquid
