#include "ops/engine/batch_pipeline.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ops/core/clock.h"
#include "ops/core/condition.h"

namespace liquid {
namespace {

// Slots that take about as long to decode as copying so many bytes are given
// out together: a few dozen microseconds, so that giving them out is cheap.
constexpr uint64_t kClaimCost = 256 << 10;

// Items that several threads take from one list.
class SharedItems {
 public:
  explicit SharedItems(std::vector<uint32_t> items)
      : items_(std::move(items)) {}

  size_t size() const { return items_.size(); }

  // Works until all items are taken.
  void Work(const std::function<void(uint32_t)>& work) {
    for (size_t i; (i = next_++) < items_.size();) {
      work(items_[i]);
      std::lock_guard<std::mutex> lock(mu_);
      if (++finished_ == items_.size()) all_.NotifyAll();
    }
  }
  // Waits until work has returned for all.
  void Wait() {
    std::unique_lock<std::mutex> lock(mu_);
    all_.Wait(lock, [this]() { return finished_ == items_.size(); });
  }

 private:
  const std::vector<uint32_t> items_;
  std::atomic<size_t> next_{0};
  std::mutex mu_;
  Condition all_;
  size_t finished_ = 0;  // guarded by mu_
};

}  // namespace

BatchPipeline::BatchPipeline(const BatchDecoder* decoder,
                             const std::vector<OutputFeature>* features,
                             const DecodeMessage& message,
                             Surroundings surroundings)
    : decoder_(decoder),
      features_(features),
      message_(message),
      around_(std::move(surroundings)),
      work_([this]() { return static_cast<int>(around_.parallelism()); },
            kClaimCost),
      repair_({message.skip_errors, message.repeat_to_fill},
              decoder->allocator(), &queue_) {}

void BatchPipeline::Cancel() {
  queue_.Cancel();
  work_.Cancel();
}

void BatchPipeline::PushEnd(const Status& status,
                            std::shared_ptr<PendingBatch> batch) {
  batch->input_status = status;
  batch->end_of_sequence = true;
  queue_.Push(std::move(batch), /*decoding=*/false);
}

void BatchPipeline::Produce() {
  while (queue_.WaitForRoom(static_cast<size_t>(around_.lookahead()))) {
    auto batch = std::make_shared<PendingBatch>();
    Input input;
    const Status read = around_.read(&input);
    batch->token = std::move(input.token);
    if (input.block == nullptr) return PushEnd(read, std::move(batch));
    WorkQueue::Job job;
    const Status prepared =
        decoder_->Prepare(std::move(input.block), batch.get(), &job.costs);
    if (!prepared.ok()) return PushEnd(prepared, std::move(batch));
    job.work = [this, batch](const uint32_t* slots, size_t count) {
      around_.decode(*batch, count, [&]() {
        return decoder_->Decode(slots, count, batch.get());
      });
    };
    job.done = [this, batch]() { Decoded(batch); };
    queue_.Push(std::move(batch), /*decoding=*/true);
    work_.Add(std::move(job), around_.runner);
  }
}

void BatchPipeline::Finished(PendingBatch* batch) {
  around_.buffered(batch->pixel_bytes, 1);
  queue_.Finished(batch);
}

bool BatchPipeline::Stays(const PendingBatch& batch) const {
  if (message_.skip_errors) return false;
  if (message_.round_batch &&
      batch.slots.size() < static_cast<size_t>(message_.batch_size)) {
    return false;
  }
  return std::none_of(batch.slots.begin(), batch.slots.end(), IsBad);
}

// What is mixed ahead is there when it is asked for.
void BatchPipeline::Decoded(const std::shared_ptr<PendingBatch>& batch) {
  const BatchMixer* const mixer = decoder_->config().mixer.get();
  std::vector<uint32_t> items;
  if (mixer == nullptr || !mixer->mixes_here() || !Stays(*batch) ||
      !mixer->Begin(decoder_->allocator(), batch.get(), &items).ok()) {
    return Finished(batch.get());  // an error comes again where it is told
  }
  batch->pixel_bytes += static_cast<int64_t>(batch->mixed.bytes());
  WorkQueue::Job job;
  job.costs.assign(items.size(),
                   2 * batch->mixed.bytes() / batch->blends.size());
  job.work = [mixer, batch, items = std::move(items)](const uint32_t* some,
                                                      size_t count) {
    const double begun = MonotonicSeconds();
    for (size_t i = 0; i < count; ++i) mixer->Mix(items[some[i]], batch.get());
    batch->decode_nanos +=
        static_cast<int64_t>((MonotonicSeconds() - begun) * 1e9);
  };
  job.done = [this, mixer, batch]() {
    mixer->End(batch.get());
    Finished(batch.get());
  };
  work_.Add(std::move(job), around_.runner, /*first=*/true);
}

// The caller's thread works too, so that it waits for none that has not begun.
Status BatchPipeline::MixNow(PendingBatch* batch) {
  const BatchMixer* const mixer = decoder_->config().mixer.get();
  if (mixer == nullptr || !batch->blends.empty()) return OkStatus();
  std::vector<uint32_t> items;
  LIQUID_RETURN_IF_ERROR(mixer->Begin(decoder_->allocator(), batch, &items));
  if (items.empty()) return OkStatus();
  auto shared = std::make_shared<SharedItems>(std::move(items));
  const auto work = [mixer, batch](uint32_t item) { mixer->Mix(item, batch); };
  WorkQueue::Job help;
  const auto threads = std::max<int64_t>(around_.parallelism(), 1);
  help.costs.assign(std::min(shared->size(), static_cast<size_t>(threads)) - 1,
                    kClaimCost);
  help.work = [shared, work](const uint32_t*, size_t) { shared->Work(work); };
  help.done = []() {};
  work_.Add(std::move(help), around_.runner, /*first=*/true);
  shared->Work(work);
  shared->Wait();
  mixer->End(batch);
  return OkStatus();
}

Status BatchPipeline::Next(const Caller& caller, Batch* next) {
  if (Forked()) return ForkedError();
  *next = Batch();  // it may hold the one before
  std::unique_lock<std::mutex> lock(mu_);
  if (delivered_at_ == 0) delivered_at_ = MonotonicSeconds();
  for (;;) {
    const double asked = MonotonicSeconds();
    PendingBatch* first;
    caller.waits(true);
    const Status waited = queue_.Wait(0, &first);
    caller.waits(false);
    LIQUID_RETURN_IF_ERROR(waited);
    seconds_.wait += MonotonicSeconds() - asked;
    if (first == nullptr) {
      LIQUID_RETURN_IF_ERROR(queue_.input_status());
      if (std::exchange(nothing_delivered_, false)) return Empty();
      next->end = true;
      return OkStatus();
    }
    std::shared_ptr<PendingBatch> batch = queue_.Pop();
    around_.buffered(-batch->pixel_bytes, -1);
    if (batch->first_draw == 0 && !batch->part) nothing_delivered_ = true;
    batch->full =
        batch->slots.size() == static_cast<size_t>(message_.batch_size);
    LIQUID_RETURN_IF_ERROR(repair_.Repair(batch.get()));
    const BatchReport report = MakeReport(*batch);  // copies do not count
    const bool empty = batch->slots.empty();        // every sample was bad
    if (!empty) LIQUID_RETURN_IF_ERROR(Deliver(batch.get(), &next->outputs));
    // A batch that failed was not delivered: a checkpoint stands before it.
    caller.passed(batch->token.get());
    if (!empty) nothing_delivered_ = false;
    Report(*batch, report);
    if (empty) continue;
    next->token = batch->token;
    next->holds = std::move(batch);
    return OkStatus();
  }
}

Status BatchPipeline::ForkedError() {
  return Status(StatusCode::kFailedPrecondition,
                "this iterator belongs to the process that this one was forked "
                "from: make one here, or start the process by \"spawn\"");
}

Status BatchPipeline::Empty() const {
  return DataLoss("none of the " + std::to_string(repair_.skipped().size()) +
                  " samples of the epoch can be used: mend the dataset; the "
                  "first was " +
                  repair_.first_reason());
}

Status BatchPipeline::Deliver(PendingBatch* batch,
                              std::vector<Output>* outputs) {
  BatchAllocator* const allocator = decoder_->allocator();
  if (message_.round_batch) {
    LIQUID_RETURN_IF_ERROR(
        FillUp(allocator, batch, static_cast<size_t>(message_.batch_size)));
  }
  LIQUID_RETURN_IF_ERROR(MixNow(batch));
  return BuildOutputs(*features_, message_.ragged, allocator, batch, outputs);
}

void BatchPipeline::Report(const PendingBatch& batch, BatchReport report) {
  if (batch.run == nullptr) return;
  batch.run->Decoding(around_.parallelism(), around_.lookahead());
  seconds_.read += batch.read_seconds;
  seconds_.disk += batch.disk_seconds;
  seconds_.decode += batch.decode_nanos * 1e-9;
  if (!batch.slots.empty()) {
    const double now = MonotonicSeconds();
    seconds_.step = now - delivered_at_;
    delivered_at_ = now;
    report.seconds = std::exchange(seconds_, BatchSeconds());
    batch.run->Delivered(report);
  }
  // An epoch of which nothing was delivered is an error, and may be run again.
  if (!nothing_delivered_ && repair_.IsLast(batch)) batch.run->Complete();
}

std::vector<int64_t> BatchPipeline::Borrowed() const {
  std::unique_lock<std::mutex> lock(mu_);
  return repair_.Borrowed();
}

std::vector<int64_t> BatchPipeline::Skipped() const {
  std::unique_lock<std::mutex> lock(mu_);
  return repair_.skipped();
}

void BatchPipeline::Restore(const std::vector<int64_t>& borrowed,
                            std::vector<int64_t> skipped) {
  std::unique_lock<std::mutex> lock(mu_);
  repair_.SetBorrowed(borrowed);
  repair_.skipped() = std::move(skipped);
}

}  // namespace liquid
