#include "ops/dataset/decode/decode_batch_iterator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/core/clock.h"
#include "ops/dataset/decode/tensors.h"
#include "ops/dataset/source/record_block.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::Tensor;
using ::tensorflow::profiler::TraceMe;
using ::tensorflow::profiler::TraceMeEncode;

namespace {

// Slots that take about as long to decode as copying so many bytes are given
// out together: a few dozen microseconds, so that giving them out is cheap.
constexpr uint64_t kClaimCost = 256 << 10;
// Threads until the autotuner has measured, as for tf.data's own operators.
constexpr int64_t kInitialParallelism = 16;
// Batches in flight until the autotuner has measured, and at least. With one,
// nothing would be decoded while the last images of a batch are.
constexpr int64_t kLeastLookahead = 2;

int64_t Threads(tfd::IteratorContext* ctx) {
  return std::max(1, ctx->runner_threadpool_size());
}

}  // namespace

DecodeBatchIterator::DecodeBatchIterator(const Params& params)
    : IteratorOf(params),
      lookahead_(dataset()->message().lookahead),
      parallelism_(dataset()->message().parallelism),
      work_([this]() { return static_cast<int>(parallelism_.value()); },
            kClaimCost),
      repair_({dataset()->message().skip_errors,
               dataset()->message().repeat_to_fill},
              dataset()->decoder().allocator(), &queue_) {}

DecodeBatchIterator::~DecodeBatchIterator() {
  if (cancellation_ != nullptr) cancellation_->StartCancel();
  thread_.reset();  // joins
  input_.reset();   // before the manager that it registered with
  work_.Drain();    // the decoder writes into our batches until then
}

absl::Status DecodeBatchIterator::Initialize(tfd::IteratorContext* ctx) {
  // Cancels the input too when this iterator goes away undrained.
  tensorflow::CancellationManager* parent = ctx->cancellation_manager();
  cancellation_ =
      parent == nullptr
          ? std::make_unique<tensorflow::CancellationManager>()
          : std::make_unique<tensorflow::CancellationManager>(parent);
  const auto token = cancellation_->get_cancellation_token();
  if (!cancellation_->RegisterCallback(token, [this]() {
        queue_.Cancel();
        work_.Cancel();
      })) {
    return absl::CancelledError("the iterator was cancelled");
  }
  parallelism_.Start(std::min(kInitialParallelism, Threads(ctx)));
  lookahead_.Start(LeastLookahead());
  delivered_ = std::make_unique<tfd::MemoryCheckpoint>(ctx->id_registry());
  tfd::IteratorContext nested = InputContext(ctx);
  TF_RETURN_IF_ERROR(
      dataset()->input()->MakeIterator(&nested, this, prefix(), &input_));
  MergeInput(ctx, nested.checkpoint());
  return absl::OkStatus();
}

std::shared_ptr<tfd::model::Node> DecodeBatchIterator::CreateNode(
    tfd::IteratorContext* ctx, tfd::model::Node::Args args) const {
  return tfd::model::MakeAsyncKnownRatioNode(
      std::move(args), /*ratio=*/1,
      {parallelism_.Parameter(tfd::model::kParallelism, 1, Threads(ctx)),
       lookahead_.Parameter(tfd::model::kBufferSize, LeastLookahead(),
                            dataset()->message().most_lookahead)});
}

absl::Status DecodeBatchIterator::GetNextInternal(
    tfd::IteratorContext* ctx, std::vector<Tensor>* out_tensors,
    bool* end_of_sequence) {
  if (Forked()) {
    return absl::FailedPreconditionError(
        "this iterator belongs to the process that this one was forked from: "
        "make one here, or start the process by \"spawn\"");
  }
  std::unique_lock<std::mutex> lock(mu_);
  *end_of_sequence = false;
  StartThread(ctx);
  if (delivered_at_ == 0) delivered_at_ = MonotonicSeconds();
  for (;;) {
    const double asked = MonotonicSeconds();
    PendingBatch* first;
    RecordStop(ctx);
    const absl::Status waited = ToTf(WaitForFirst(&first));
    RecordStart(ctx);
    TF_RETURN_IF_ERROR(waited);
    seconds_.wait += MonotonicSeconds() - asked;
    if (first == nullptr) {
      TF_RETURN_IF_ERROR(ToTf(queue_.input_status()));
      if (std::exchange(nothing_delivered_, false)) return Empty();
      *end_of_sequence = true;
      return absl::OkStatus();
    }
    const std::shared_ptr<PendingBatch> batch = queue_.Pop();
    RecordBuffered(-batch->pixel_bytes, -1);
    if (batch->first_draw == 0 && !batch->part) nothing_delivered_ = true;
    batch->full = batch->slots.size() ==
                  static_cast<size_t>(dataset()->message().batch_size);
    TF_RETURN_IF_ERROR(ToTf(repair_.Repair(batch.get())));
    const BatchReport report = MakeReport(*batch);  // copies do not count
    const bool empty = batch->slots.empty();        // every sample was bad
    if (!empty) TF_RETURN_IF_ERROR(Deliver(batch.get(), out_tensors));
    // A batch that failed was not delivered: a checkpoint stands before it.
    MergeInput(ctx, static_cast<tfd::MemoryCheckpoint*>(batch->token.get()));
    if (!empty) nothing_delivered_ = false;
    Report(*batch, report);
    if (!empty) return absl::OkStatus();
  }
}

absl::Status DecodeBatchIterator::Empty() {
  return absl::DataLossError(absl::StrCat(
      "none of the ", repair_.skipped().size(),
      " samples of the epoch can be used: mend the dataset; the first was ",
      repair_.first_reason()));
}

absl::Status DecodeBatchIterator::Deliver(PendingBatch* batch,
                                          std::vector<Tensor>* out_tensors) {
  BatchAllocator* const allocator = dataset()->decoder().allocator();
  if (dataset()->message().round_batch) {
    TF_RETURN_IF_ERROR(
        ToTf(FillUp(allocator, batch,
                    static_cast<size_t>(dataset()->message().batch_size))));
  }
  std::vector<Output> outputs;
  TF_RETURN_IF_ERROR(
      ToTf(BuildOutputs(dataset()->features(), dataset()->message().ragged,
                        allocator, batch, &outputs)));
  *out_tensors = ToTensors(std::move(outputs));
  return absl::OkStatus();
}

absl::Status DecodeBatchIterator::SaveInternal(
    tfd::SerializationContext* ctx, tfd::IteratorStateWriter* writer) {
  std::unique_lock<std::mutex> lock(mu_);
  if (!ctx->symbolic_checkpoint()) {
    TF_RETURN_IF_ERROR(delivered_->Save(writer));
  }
  TF_RETURN_IF_ERROR(WriteVector(writer, "borrowed", repair_.Borrowed()));
  return WriteVector(writer, "skipped", repair_.skipped());
}

absl::Status DecodeBatchIterator::RestoreInternal(
    tfd::IteratorContext* ctx, tfd::IteratorStateReader* reader) {
  std::unique_lock<std::mutex> lock(mu_);
  tfd::IteratorContext nested = InputContext(ctx);
  TF_RETURN_IF_ERROR(RestoreInput(&nested, reader, input_));
  MergeInput(ctx, nested.checkpoint());
  std::vector<int64_t> borrowed;
  TF_RETURN_IF_ERROR(ReadVector(reader, "borrowed", -1, &borrowed));
  repair_.SetBorrowed(borrowed);
  return ReadVector(reader, "skipped", -1, &repair_.skipped());
}

// The input always saves its state into the context that it is called with:
// a few counters per block, whatever way the checkpoint itself is written.
tfd::IteratorContext DecodeBatchIterator::InputContext(
    tfd::IteratorContext* ctx) {
  tfd::IteratorContext::Params params(ctx);
  params.symbolic_checkpoint = true;
  params.cancellation_manager = cancellation_.get();
  return tfd::IteratorContext(std::move(params));
}

void DecodeBatchIterator::MergeInput(tfd::IteratorContext* ctx,
                                     tfd::MemoryCheckpoint* state) {
  if (ctx->symbolic_checkpoint()) {
    ctx->MergeCheckpoint(state);
  } else {
    delivered_->Merge(state);
  }
}

void DecodeBatchIterator::StartThread(tfd::IteratorContext* ctx) {
  if (thread_ != nullptr) return;
  auto own = std::make_shared<tfd::IteratorContext>(InputContext(ctx));
  thread_ = ctx->StartThread("liquid_decode_batch",
                             [this, own]() { Produce(own.get()); });
}

Status DecodeBatchIterator::WaitForFirst(PendingBatch** first) {
  TraceMe trace("Liquid Batch wait");
  return queue_.Wait(0, first);
}

int64_t DecodeBatchIterator::LeastLookahead() const {
  return std::min(kLeastLookahead, dataset()->message().most_lookahead);
}

void DecodeBatchIterator::RecordBuffered(int64_t bytes, int64_t batches) {
  if (model_node() != nullptr) {
    model_node()->record_buffer_event(bytes, batches);
  }
}

void DecodeBatchIterator::PushEnd(const Status& status,
                                  std::shared_ptr<PendingBatch> batch) {
  batch->input_status = status;
  batch->end_of_sequence = true;
  queue_.Push(std::move(batch), /*decoding=*/false);
}

void DecodeBatchIterator::Produce(tfd::IteratorContext* ctx) {
  while (queue_.WaitForRoom(static_cast<size_t>(lookahead_.value()))) {
    auto batch = std::make_shared<PendingBatch>();
    tfd::IteratorContext nested(ctx);
    std::vector<Tensor> element;
    RecordStart(ctx);
    batch->input_status =
        FromTf(Read(&nested, &element, &batch->end_of_sequence));
    RecordStop(ctx);
    const auto state =
        std::make_shared<tfd::MemoryCheckpoint>(ctx->id_registry());
    state->Merge(nested.checkpoint());
    batch->token = state;
    std::shared_ptr<const RecordBlock> block =
        element.size() == 1 ? BlockOf(element[0]) : nullptr;
    if (block == nullptr) {
      Status status = batch->input_status;
      if (status.ok() && !batch->end_of_sequence) {
        status = InvalidArgument(
            "decode_and_batch: the input's elements must be those of "
            "interleave() or format_dataset()");
      }
      return PushEnd(status, std::move(batch));
    }
    WorkQueue::Job job;
    const Status prepared =
        dataset()->decoder().Prepare(std::move(block), batch.get(), &job.costs);
    if (!prepared.ok()) return PushEnd(prepared, std::move(batch));
    job.work = [this, batch](const uint32_t* slots, size_t count) {
      Decode(slots, count, batch.get());
    };
    job.done = [this, batch]() {
      RecordBuffered(batch->pixel_bytes, 1);
      queue_.Finished(batch.get());
    };
    queue_.Push(std::move(batch), /*decoding=*/true);
    work_.Add(std::move(job), *ctx->runner());
  }
}

absl::Status DecodeBatchIterator::Read(tfd::IteratorContext* ctx,
                                       std::vector<Tensor>* element,
                                       bool* end_of_sequence) {
  TraceMe trace("Liquid Read wait");
  return input_->GetNext(ctx, element, end_of_sequence);
}

void DecodeBatchIterator::Decode(const uint32_t* slots, size_t count,
                                 PendingBatch* batch) {
  TraceMe trace([&]() {
    return TraceMeEncode(
        "Liquid Decode",
        {{"epoch", batch->epoch},
         {"batch", batch->first_draw /
                       static_cast<uint64_t>(dataset()->message().batch_size)},
         {"images", count}});
  });
  const int64_t nanos = dataset()->decoder().Decode(slots, count, batch);
  if (model_node() != nullptr) model_node()->add_processing_time(nanos);
}

void DecodeBatchIterator::Report(const PendingBatch& batch,
                                 BatchReport report) {
  if (batch.run == nullptr) return;
  batch.run->Decoding(parallelism_.value(), lookahead_.value());
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

}  // namespace liquid
