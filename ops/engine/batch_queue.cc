#include "ops/engine/batch_queue.h"

#include <algorithm>
#include <utility>

namespace liquid {

bool BatchQueue::WaitForRoom(size_t limit) {
  std::unique_lock<std::mutex> lock(mu_);
  changed_.Wait(lock, [this, limit]() {
    return cancelled_ || batches_.size() < std::max(limit, wanted_);
  });
  return !cancelled_;
}

void BatchQueue::Push(std::shared_ptr<PendingBatch> batch, bool decoding) {
  std::lock_guard<std::mutex> lock(mu_);
  batch->done = !decoding;
  batches_.push_back(std::move(batch));
  changed_.NotifyAll();
}

void BatchQueue::Finished(PendingBatch* batch) {
  std::lock_guard<std::mutex> lock(mu_);
  batch->done = true;
  changed_.NotifyAll();
}

Status BatchQueue::Wait(size_t i, PendingBatch** batch) {
  std::unique_lock<std::mutex> lock(mu_);
  wanted_ = i + 1;
  changed_.NotifyAll();
  const auto ended = [this, i]() {
    return !batches_.empty() && batches_.back()->end_of_sequence &&
           i + 1 >= batches_.size();
  };
  changed_.Wait(lock, [&]() {
    return cancelled_ || ended() || (i < batches_.size() && batches_[i]->done);
  });
  wanted_ = 0;
  if (cancelled_) return Cancelled("the iterator was cancelled");
  *batch = ended() ? nullptr : batches_[i].get();
  return OkStatus();
}

PendingBatch* BatchQueue::Peek(size_t i) {
  std::lock_guard<std::mutex> lock(mu_);
  const bool there =
      i < batches_.size() && batches_[i]->done && !batches_[i]->end_of_sequence;
  return there ? batches_[i].get() : nullptr;
}

std::shared_ptr<PendingBatch> BatchQueue::Pop() {
  std::lock_guard<std::mutex> lock(mu_);
  std::shared_ptr<PendingBatch> batch = std::move(batches_.front());
  batches_.pop_front();
  changed_.NotifyAll();
  return batch;
}

Status BatchQueue::input_status() const {
  std::lock_guard<std::mutex> lock(mu_);
  return batches_.back()->input_status;
}

void BatchQueue::Cancel() {
  std::lock_guard<std::mutex> lock(mu_);
  cancelled_ = true;
  changed_.NotifyAll();
}

}  // namespace liquid
