#include "ops/dataset/decode/decode_batch_iterator.h"

#include <algorithm>
#include <optional>
#include <utility>

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
      parallelism_(dataset()->message().parallelism) {
  BatchPipeline::Surroundings around;
  around.read = [this](BatchPipeline::Input* input) {
    return Read(own_.get(), input);
  };
  around.runner = [this](std::function<void()> work) {
    (*own_->runner())(std::move(work));
  };
  around.parallelism = [this]() { return parallelism_.value(); };
  around.lookahead = [this]() { return lookahead_.value(); };
  around.buffered = [this](int64_t bytes, int64_t batches) {
    if (model_node() != nullptr) {
      model_node()->record_buffer_event(bytes, batches);
    }
  };
  around.decode = [this](const PendingBatch& batch, size_t images,
                         const std::function<int64_t()>& work) {
    Decode(batch, images, work);
  };
  pipeline_ = std::make_unique<BatchPipeline>(
      &dataset()->decoder(), &dataset()->features(), dataset()->message(),
      std::move(around));
}

DecodeBatchIterator::~DecodeBatchIterator() {
  if (cancellation_ != nullptr) cancellation_->StartCancel();
  thread_.reset();    // joins
  input_.reset();     // before the manager that it registered with
  pipeline_.reset();  // threads write into its batches until then
}

absl::Status DecodeBatchIterator::Initialize(tfd::IteratorContext* ctx) {
  // Cancels the input too when this iterator goes away undrained.
  tensorflow::CancellationManager* parent = ctx->cancellation_manager();
  cancellation_ =
      parent == nullptr
          ? std::make_unique<tensorflow::CancellationManager>()
          : std::make_unique<tensorflow::CancellationManager>(parent);
  const auto token = cancellation_->get_cancellation_token();
  if (!cancellation_->RegisterCallback(token,
                                       [this]() { pipeline_->Cancel(); })) {
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
  if (pipeline_->Forked()) return ToTf(pipeline_->ForkedError());
  std::unique_lock<std::mutex> lock(mu_);
  Start(ctx);
  BatchPipeline::Caller caller;
  std::optional<TraceMe> trace;
  caller.waits = [&](bool waits) {
    if (waits) {
      RecordStop(ctx);
      trace.emplace("Liquid Batch wait");
    } else {
      trace.reset();
      RecordStart(ctx);
    }
  };
  caller.passed = [&](void* state) {
    MergeInput(ctx, static_cast<tfd::MemoryCheckpoint*>(state));
  };
  BatchPipeline::Batch batch;
  TF_RETURN_IF_ERROR(ToTf(pipeline_->Next(caller, &batch)));
  *end_of_sequence = batch.end;
  *out_tensors = ToTensors(std::move(batch.outputs));
  return absl::OkStatus();
}

absl::Status DecodeBatchIterator::SaveInternal(
    tfd::SerializationContext* ctx, tfd::IteratorStateWriter* writer) {
  std::unique_lock<std::mutex> lock(mu_);
  if (!ctx->symbolic_checkpoint()) {
    TF_RETURN_IF_ERROR(delivered_->Save(writer));
  }
  TF_RETURN_IF_ERROR(WriteVector(writer, "borrowed", pipeline_->Borrowed()));
  return WriteVector(writer, "skipped", pipeline_->Skipped());
}

absl::Status DecodeBatchIterator::RestoreInternal(
    tfd::IteratorContext* ctx, tfd::IteratorStateReader* reader) {
  std::unique_lock<std::mutex> lock(mu_);
  tfd::IteratorContext nested = InputContext(ctx);
  TF_RETURN_IF_ERROR(RestoreInput(&nested, reader, input_));
  MergeInput(ctx, nested.checkpoint());
  std::vector<int64_t> borrowed, skipped;
  TF_RETURN_IF_ERROR(ReadVector(reader, "borrowed", -1, &borrowed));
  TF_RETURN_IF_ERROR(ReadVector(reader, "skipped", -1, &skipped));
  pipeline_->Restore(borrowed, std::move(skipped));
  return absl::OkStatus();
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

void DecodeBatchIterator::Start(tfd::IteratorContext* ctx) {
  if (thread_ != nullptr) return;
  own_ = std::make_shared<tfd::IteratorContext>(InputContext(ctx));
  thread_ = ctx->StartThread("liquid_decode_batch",
                             [this]() { pipeline_->Produce(); });
}

int64_t DecodeBatchIterator::LeastLookahead() const {
  return std::min(kLeastLookahead, dataset()->message().most_lookahead);
}

Status DecodeBatchIterator::Read(tfd::IteratorContext* ctx,
                                 BatchPipeline::Input* input) {
  TraceMe trace("Liquid Read wait");
  tfd::IteratorContext nested(ctx);
  std::vector<Tensor> element;
  bool end_of_sequence = false;
  RecordStart(ctx);
  const absl::Status read =
      input_->GetNext(&nested, &element, &end_of_sequence);
  RecordStop(ctx);
  const auto state =
      std::make_shared<tfd::MemoryCheckpoint>(ctx->id_registry());
  state->Merge(nested.checkpoint());
  input->token = state;
  if (!read.ok() || end_of_sequence) return FromTf(read);
  if (element.size() == 1) input->block = BlockOf(element[0]);
  if (input->block != nullptr) return OkStatus();
  return InvalidArgument(
      "decode_and_batch: the input's elements must be those of interleave() or "
      "format_dataset()");
}

void DecodeBatchIterator::Decode(const PendingBatch& batch, size_t images,
                                 const std::function<int64_t()>& work) {
  TraceMe trace([&]() {
    return TraceMeEncode(
        "Liquid Decode",
        {{"epoch", batch.epoch},
         {"batch", batch.first_draw /
                       static_cast<uint64_t>(dataset()->message().batch_size)},
         {"images", images}});
  });
  const int64_t nanos = work();
  if (model_node() != nullptr) model_node()->add_processing_time(nanos);
}

}  // namespace liquid
