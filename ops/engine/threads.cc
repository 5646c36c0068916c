#include "ops/engine/threads.h"

#include <utility>

namespace liquid {

Threads::Threads(int count) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this]() { Work(); });
  }
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
  changed_.NotifyAll();
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
