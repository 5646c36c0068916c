// Liquid>DecodeBatchDataset: decodes blocks of records into batch tensors.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/batch_assembler.h"
#include "ops/dataset/batch_decoder.h"
#include "ops/dataset/batch_queue.h"
#include "ops/dataset/batch_repair.h"
#include "ops/dataset/decode_options.h"
#include "ops/dataset/record_block.h"
#include "ops/dataset/tuned_number.h"
#include "ops/dataset/work_queue.h"
#include "ops/tf_status.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::profiler::TraceMe;
using ::tensorflow::profiler::TraceMeEncode;

// Slots that take about as long to decode as copying so many bytes are given
// out together: a few dozen microseconds, so that giving them out is cheap.
constexpr uint64_t kClaimCost = 256 << 10;
// Threads until the autotuner has measured, as for tf.data's own operators.
constexpr int64_t kInitialParallelism = 16;
// Batches in flight until the autotuner has measured, and at least. With one,
// nothing would be decoded while the last images of a batch are.
constexpr int64_t kLeastLookahead = 2;

class DecodeBatchDatasetOp : public tfd::UnaryDatasetOpKernel {
 public:
  explicit DecodeBatchDatasetOp(OpKernelConstruction* ctx)
      : UnaryDatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, attributes_.Read(ctx));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase* input,
                   tfd::DatasetBase** output) override;

 private:
  class Dataset;
  DecodeAttributes attributes_;
};

class DecodeBatchDatasetOp::Dataset : public tfd::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, const tfd::DatasetBase* input,
          DecodeAttributes attributes, DecodeInputs inputs, DecodeConfig config,
          std::vector<OutputFeature> features)
      : DatasetBase(tfd::DatasetContext(ctx)),
        input_(input),
        attributes_(std::move(attributes)),
        inputs_(inputs),
        decoder_(std::move(config)),
        features_(std::move(features)) {
    input_->Ref();
  }
  ~Dataset() override { input_->Unref(); }

  std::unique_ptr<tfd::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

  const tensorflow::DataTypeVector& output_dtypes() const override {
    return attributes_.output_types;
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    return attributes_.output_shapes;
  }
  std::string DebugString() const override {
    return "Liquid>DecodeBatchDatasetOp::Dataset";
  }
  int64_t CardinalityInternal(tfd::CardinalityOptions options) const override {
    return input_->Cardinality(options);
  }
  absl::Status InputDatasets(
      std::vector<const tfd::DatasetBase*>* inputs) const override {
    inputs->assign({input_});
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override {
    return input_->CheckExternalState();
  }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    std::vector<tensorflow::Node*> nodes(11);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &nodes[0]));
    const DecodeInputs& a = inputs_;
    const int64_t numbers[] = {
        a.batch_size,     a.crop_height, a.crop_width, a.resize_height,
        a.resize_width,   a.seed,        a.max_pixels, a.lookahead,
        a.most_lookahead, a.parallelism};
    for (int i = 0; i < 10; ++i) {
      TF_RETURN_IF_ERROR(b->AddScalar(numbers[i], &nodes[1 + i]));
    }
    const DecodeAttributes& t = attributes_;
    std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs(10);
    const auto set = [&](int i, absl::string_view name, const auto& value) {
      attrs[i].first = name;
      b->BuildAttrValue(value, &attrs[i].second);
    };
    set(0, "features", t.features);
    set(1, "masks", t.masks);
    set(2, "ragged", t.ragged);
    set(3, "random_crop", t.random_crop);
    set(4, "random_area", t.random_area);
    set(5, "random_aspect", t.random_aspect);
    set(6, "mirror", t.mirror);
    set(7, "skip_errors", t.skip_errors);
    set(8, "repeat_to_fill", t.repeat_to_fill);
    set(9, "round_batch", t.round_batch);
    return b->AddDataset(this, nodes, attrs, output);
  }

 private:
  class Iterator;
  const tfd::DatasetBase* const input_;
  const DecodeAttributes attributes_;
  const DecodeInputs inputs_;
  const BatchDecoder decoder_;
  const std::vector<OutputFeature> features_;
};

// A thread pulls blocks and adds their slots to the work of tf.data's pool;
// GetNext waits for the first batch that is done. The state is that of the last
// *delivered* batch: every batch carries the input's checkpoint as it was
// behind its block.
class DecodeBatchDatasetOp::Dataset::Iterator
    : public tfd::DatasetIterator<DecodeBatchDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator<Dataset>(params),
        lookahead_(dataset()->inputs_.lookahead),
        parallelism_(dataset()->inputs_.parallelism),
        work_([this]() { return static_cast<int>(parallelism_.value()); },
              kClaimCost),
        repair_({dataset()->attributes_.skip_errors,
                 dataset()->attributes_.repeat_to_fill},
                &queue_) {}

  ~Iterator() override {
    if (cancellation_ != nullptr) cancellation_->StartCancel();
    thread_.reset();  // joins
    input_.reset();   // before the manager that it registered with
    work_.Drain();    // the decoder writes into our batches until then
  }

  bool SymbolicCheckpointCompatible() const override { return true; }

  absl::Status Initialize(tfd::IteratorContext* ctx) override {
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
        dataset()->input_->MakeIterator(&nested, this, prefix(), &input_));
    MergeInput(ctx, nested.checkpoint());
    return absl::OkStatus();
  }

 protected:
  std::shared_ptr<tfd::model::Node> CreateNode(
      tfd::IteratorContext* ctx, tfd::model::Node::Args args) const override {
    return tfd::model::MakeAsyncKnownRatioNode(
        std::move(args), /*ratio=*/1,
        {parallelism_.Parameter(tfd::model::kParallelism, 1, Threads(ctx)),
         lookahead_.Parameter(tfd::model::kBufferSize, LeastLookahead(),
                              dataset()->inputs_.most_lookahead)});
  }

  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    if (Forked()) {
      return absl::FailedPreconditionError(
          "this iterator belongs to the process that this one was forked from: "
          "make one here, or start the process by \"spawn\"");
    }
    std::unique_lock<std::mutex> lock(mu_);
    *end_of_sequence = false;
    StartThread(ctx);
    if (delivered_at_ == 0) delivered_at_ = tensorflow::EnvTime::NowNanos();
    for (;;) {
      const uint64_t asked = tensorflow::EnvTime::NowNanos();
      PendingBatch* first;
      RecordStop(ctx);
      const absl::Status waited = WaitForFirst(&first);
      RecordStart(ctx);
      TF_RETURN_IF_ERROR(waited);
      seconds_.wait += (tensorflow::EnvTime::NowNanos() - asked) * 1e-9;
      if (first == nullptr) {
        const absl::Status ended = queue_.input_status();
        *end_of_sequence = ended.ok();
        return ended;
      }
      const std::shared_ptr<PendingBatch> batch = queue_.Pop();
      RecordBuffered(-batch->pixel_bytes, -1);
      batch->full = batch->slots.size() ==
                    static_cast<size_t>(dataset()->inputs_.batch_size);
      MergeInput(ctx, batch->checkpoint.get());
      TF_RETURN_IF_ERROR(repair_.Repair(batch.get()));
      Report(*batch);
      if (batch->slots.empty()) continue;  // every sample of it was bad
      if (dataset()->attributes_.round_batch) {
        FillUp(batch.get(), static_cast<size_t>(dataset()->inputs_.batch_size));
      }
      return BuildOutputs(dataset()->features_, *batch,
                          dataset()->attributes_.ragged, out_tensors);
    }
  }

  absl::Status SaveInternal(tfd::SerializationContext* ctx,
                            tfd::IteratorStateWriter* writer) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (!ctx->symbolic_checkpoint()) {
      TF_RETURN_IF_ERROR(delivered_->Save(writer));
    }
    TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), "borrowed",
                                           AsTensor(repair_.borrowed())));
    return writer->WriteTensor(prefix(), "skipped",
                               AsTensor(repair_.skipped()));
  }

  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    tfd::IteratorContext nested = InputContext(ctx);
    TF_RETURN_IF_ERROR(RestoreInput(&nested, reader, input_));
    MergeInput(ctx, nested.checkpoint());
    TF_RETURN_IF_ERROR(ReadVector(reader, "borrowed", &repair_.borrowed()));
    return ReadVector(reader, "skipped", &repair_.skipped());
  }

 private:
  // The input always saves its state into the context that it is called with:
  // a few counters per block, whatever way the checkpoint itself is written.
  tfd::IteratorContext InputContext(tfd::IteratorContext* ctx) {
    tfd::IteratorContext::Params params(ctx);
    params.symbolic_checkpoint = true;
    params.cancellation_manager = cancellation_.get();
    return tfd::IteratorContext(std::move(params));
  }

  void MergeInput(tfd::IteratorContext* ctx, tfd::MemoryCheckpoint* state)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ctx->symbolic_checkpoint()) {
      ctx->MergeCheckpoint(state);
    } else {
      delivered_->Merge(state);
    }
  }

  // A forked child has memory and no threads: what one of them would have done
  // never happens, and a lock that one held is never free.
  bool Forked() const { return getpid() != process_; }

  void StartThread(tfd::IteratorContext* ctx) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (thread_ != nullptr) return;
    auto own = std::make_shared<tfd::IteratorContext>(InputContext(ctx));
    thread_ = ctx->StartThread("liquid_decode_batch",
                               [this, own]() { Produce(own.get()); });
  }

  absl::Status WaitForFirst(PendingBatch** first) {
    TraceMe trace("Liquid Batch wait");
    return queue_.Wait(0, first);
  }

  int64_t LeastLookahead() const {
    return std::min(kLeastLookahead, dataset()->inputs_.most_lookahead);
  }

  static int64_t Threads(tfd::IteratorContext* ctx) {
    return std::max(1, ctx->runner_threadpool_size());
  }

  void RecordBuffered(int64_t bytes, int64_t batches) {
    if (model_node() != nullptr) {
      model_node()->record_buffer_event(bytes, batches);
    }
  }

  void Produce(tfd::IteratorContext* ctx) {
    while (queue_.WaitForRoom(static_cast<size_t>(lookahead_.value()))) {
      auto batch = std::make_shared<PendingBatch>();
      tfd::IteratorContext nested(ctx);
      std::vector<Tensor> element;
      RecordStart(ctx);
      batch->input_status = Read(&nested, &element, &batch->end_of_sequence);
      RecordStop(ctx);
      batch->checkpoint =
          std::make_unique<tfd::MemoryCheckpoint>(ctx->id_registry());
      batch->checkpoint->Merge(nested.checkpoint());
      std::shared_ptr<const RecordBlock> block =
          element.size() == 1 ? BlockOf(element[0]) : nullptr;
      if (block == nullptr) {
        if (batch->input_status.ok() && !batch->end_of_sequence) {
          batch->input_status = absl::InvalidArgumentError(
              "decode_and_batch: the input's elements must be those of "
              "interleave() or format_dataset()");
        }
        batch->end_of_sequence = true;
        queue_.Push(std::move(batch), /*decoding=*/false);
        return;
      }
      WorkQueue::Job job;
      dataset()->decoder_.Prepare(std::move(block), ctx->allocator({}),
                                  batch.get(), &job.costs);
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

  absl::Status Read(tfd::IteratorContext* ctx, std::vector<Tensor>* element,
                    bool* end_of_sequence) {
    TraceMe trace("Liquid Read wait");
    return input_->GetNext(ctx, element, end_of_sequence);
  }

  void Decode(const uint32_t* slots, size_t count, PendingBatch* batch) {
    TraceMe trace([&]() {
      return TraceMeEncode(
          "Liquid Decode",
          {{"epoch", batch->epoch},
           {"batch", batch->first_draw /
                         static_cast<uint64_t>(dataset()->inputs_.batch_size)},
           {"images", count}});
    });
    const int64_t nanos = dataset()->decoder_.Decode(slots, count, batch);
    if (model_node() != nullptr) model_node()->add_processing_time(nanos);
  }

  void Report(const PendingBatch& batch) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (batch.run == nullptr) return;
    batch.run->Decoding(parallelism_.value(), lookahead_.value());
    seconds_.read += batch.read_seconds;
    seconds_.decode += batch.decode_nanos * 1e-9;
    if (!batch.slots.empty()) {
      const uint64_t now = tensorflow::EnvTime::NowNanos();
      seconds_.step = (now - delivered_at_) * 1e-9;
      delivered_at_ = now;
      BatchReport report = MakeReport(batch);
      report.seconds = std::exchange(seconds_, BatchSeconds());
      batch.run->Delivered(report);
    }
    if (repair_.IsLast(batch)) batch.run->Complete();
  }

  static Tensor AsTensor(const std::vector<int64_t>& values) {
    Tensor tensor(tensorflow::DT_INT64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.vec<int64_t>().data());
    return tensor;
  }

  absl::Status ReadVector(tfd::IteratorStateReader* reader, const char* key,
                          std::vector<int64_t>* values) {
    Tensor tensor;
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), key, &tensor));
    if (tensor.dtype() != tensorflow::DT_INT64 || tensor.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the checkpoint's ", key, " must be an int64 vector"));
    }
    const auto flat = tensor.vec<int64_t>();
    values->assign(flat.data(), flat.data() + flat.size());
    return absl::OkStatus();
  }

  const pid_t process_ = getpid();
  std::unique_ptr<tensorflow::CancellationManager> cancellation_;
  std::unique_ptr<tfd::IteratorBase> input_;
  TunedNumber lookahead_;    // batches in flight
  TunedNumber parallelism_;  // threads that decode them
  WorkQueue work_;
  BatchQueue queue_;

  std::mutex mu_;
  BatchRepair repair_ TF_GUARDED_BY(mu_);
  std::unique_ptr<tfd::MemoryCheckpoint> delivered_ TF_GUARDED_BY(mu_);
  std::unique_ptr<tensorflow::Thread> thread_ TF_GUARDED_BY(mu_);
  BatchSeconds seconds_ TF_GUARDED_BY(mu_);       // since the last delivery
  uint64_t delivered_at_ TF_GUARDED_BY(mu_) = 0;  // nanoseconds, or asked first
};

std::unique_ptr<tfd::IteratorBase>
DecodeBatchDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::LiquidDecodeBatch"});
}

void DecodeBatchDatasetOp::MakeDataset(OpKernelContext* ctx,
                                       tfd::DatasetBase* input,
                                       tfd::DatasetBase** output) {
  DecodeInputs inputs;
  DecodeConfig config;
  std::vector<OutputFeature> features;
  OP_REQUIRES_OK(ctx, inputs.Read(ctx));
  OP_REQUIRES_OK(ctx, Configure(attributes_, inputs, &config, &features));
  *output = new Dataset(ctx, input, attributes_, inputs, std::move(config),
                        std::move(features));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeBatchDataset").Device(tensorflow::DEVICE_CPU),
    DecodeBatchDatasetOp);

}  // namespace
}  // namespace liquid
