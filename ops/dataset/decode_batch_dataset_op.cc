// Liquid>DecodeBatchDataset: decodes blocks of records into batch tensors.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/batch_assembler.h"
#include "ops/dataset/batch_decoder.h"
#include "ops/dataset/record_block.h"
#include "ops/tf_status.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

constexpr size_t kMaxFormats = 256;

// Attributes, as given.
struct Attributes {
  std::vector<std::string> features;
  std::vector<std::string> masks;
  bool ragged = false;
  bool random_crop = false;
  bool skip_errors = false;
  bool repeat_to_fill = false;
  tensorflow::DataTypeVector output_types;
  std::vector<tensorflow::PartialTensorShape> output_shapes;
};

struct Arguments {
  int64_t batch_size = 0;
  int64_t crop_height = 0;
  int64_t crop_width = 0;
  int64_t seed = 0;
  int64_t max_pixels = 0;
  int64_t lookahead = 0;  // batches in flight
  int64_t parallelism = 0;
};

class DecodeBatchDatasetOp : public tfd::UnaryDatasetOpKernel {
 public:
  explicit DecodeBatchDatasetOp(OpKernelConstruction* ctx);

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase* input,
                   tfd::DatasetBase** output) override;

 private:
  class Dataset;
  absl::Status Configure(const Arguments& arguments, DecodeConfig* config,
                         std::vector<OutputFeature>* features) const;
  Attributes attributes_;
};

class DecodeBatchDatasetOp::Dataset : public tfd::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, const tfd::DatasetBase* input,
          Attributes attributes, Arguments arguments, DecodeConfig config,
          std::vector<OutputFeature> features)
      : DatasetBase(tfd::DatasetContext(ctx)),
        input_(input),
        attributes_(std::move(attributes)),
        arguments_(arguments),
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
    std::vector<tensorflow::Node*> nodes(8);
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input_, &nodes[0]));
    const Arguments& a = arguments_;
    const int64_t numbers[] = {a.batch_size, a.crop_height, a.crop_width,
                               a.seed,       a.max_pixels,  a.lookahead,
                               a.parallelism};
    for (int i = 0; i < 7; ++i) {
      TF_RETURN_IF_ERROR(b->AddScalar(numbers[i], &nodes[1 + i]));
    }
    const Attributes& t = attributes_;
    std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> attrs(6);
    const auto set = [&](int i, absl::string_view name, const auto& value) {
      attrs[i].first = name;
      b->BuildAttrValue(value, &attrs[i].second);
    };
    set(0, "features", t.features);
    set(1, "masks", t.masks);
    set(2, "ragged", t.ragged);
    set(3, "random_crop", t.random_crop);
    set(4, "skip_errors", t.skip_errors);
    set(5, "repeat_to_fill", t.repeat_to_fill);
    return b->AddDataset(this, nodes, attrs, output);
  }

 private:
  class Iterator;
  const tfd::DatasetBase* const input_;
  const Attributes attributes_;
  const Arguments arguments_;
  const BatchDecoder decoder_;
  const std::vector<OutputFeature> features_;
};

// A thread pulls blocks and starts their decoding; GetNext waits for the first
// one. The state is that of the last *delivered* batch: every batch carries the
// input's checkpoint as it was behind its block.
class DecodeBatchDatasetOp::Dataset::Iterator
    : public tfd::DatasetIterator<DecodeBatchDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params) : DatasetIterator<Dataset>(params) {}

  ~Iterator() override {
    if (cancellation_ != nullptr) cancellation_->StartCancel();
    thread_.reset();  // joins
    input_.reset();   // before the manager that it registered with
    std::unique_lock<std::mutex> lock(mu_);
    // The decoder writes into our batches until its last task has ended.
    while (running_ > 0) changed_.wait(lock);
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
    if (!cancellation_->RegisterCallback(token, [this]() { Cancel(); })) {
      return absl::CancelledError("the iterator was cancelled");
    }
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
    return tfd::model::MakeAsyncKnownRatioNode(std::move(args), /*ratio=*/1,
                                               {});
  }

  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    std::unique_lock<std::mutex> lock(mu_);
    StartThread(ctx);
    for (;;) {
      const uint64_t waited_from = tensorflow::EnvTime::NowNanos();
      TF_RETURN_IF_ERROR(WaitFor(ctx, 0, lock));
      const double waited =
          (tensorflow::EnvTime::NowNanos() - waited_from) * 1e-9;
      std::shared_ptr<PendingBatch> batch = queue_.front();
      *end_of_sequence = batch->end_of_sequence;
      if (batch->end_of_sequence) return batch->input_status;  // stays
      queue_.pop_front();
      changed_.notify_all();
      TF_RETURN_IF_ERROR(batch->input_status);
      MergeInput(ctx, batch->checkpoint.get());
      TF_RETURN_IF_ERROR(Repair(ctx, batch.get(), lock));
      Report(batch.get(), waited);
      if (batch->slots.empty()) continue;
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
    TF_RETURN_IF_ERROR(
        writer->WriteTensor(prefix(), "borrowed", AsTensor(borrowed_)));
    return writer->WriteTensor(prefix(), "skipped", AsTensor(skipped_));
  }

  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    tfd::IteratorContext nested = InputContext(ctx);
    TF_RETURN_IF_ERROR(RestoreInput(&nested, reader, input_));
    MergeInput(ctx, nested.checkpoint());
    TF_RETURN_IF_ERROR(ReadVector(reader, "borrowed", &borrowed_));
    return ReadVector(reader, "skipped", &skipped_);
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

  void MergeInput(tfd::IteratorContext* ctx, tfd::MemoryCheckpoint* state) {
    if (ctx->symbolic_checkpoint()) {
      ctx->MergeCheckpoint(state);
    } else {
      delivered_->Merge(state);
    }
  }

  void Cancel() {
    std::unique_lock<std::mutex> lock(mu_);
    cancelled_ = true;
    changed_.notify_all();
  }

  void StartThread(tfd::IteratorContext* ctx) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (thread_ != nullptr) return;
    limit_ = static_cast<size_t>(dataset()->arguments_.lookahead);
    auto own = std::make_shared<tfd::IteratorContext>(InputContext(ctx));
    thread_ = ctx->StartThread("liquid_decode_batch",
                               [this, own]() { Produce(own.get()); });
  }

  void Produce(tfd::IteratorContext* ctx) {
    const int parallelism =
        dataset()->arguments_.parallelism > 0
            ? static_cast<int>(dataset()->arguments_.parallelism)
            : std::max(1, ctx->runner_threadpool_size());
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mu_);
        while (!cancelled_ && queue_.size() >= limit_) changed_.wait(lock);
        if (cancelled_) return;
      }
      auto batch = std::make_shared<PendingBatch>();
      tfd::IteratorContext nested(ctx);
      std::vector<Tensor> element;
      batch->input_status =
          input_->GetNext(&nested, &element, &batch->end_of_sequence);
      batch->checkpoint =
          std::make_unique<tfd::MemoryCheckpoint>(ctx->id_registry());
      batch->checkpoint->Merge(nested.checkpoint());
      const RecordBlock* block =
          element.size() == 1 ? BlockOf(element[0]) : nullptr;
      if (batch->input_status.ok() && !batch->end_of_sequence &&
          block == nullptr) {
        batch->input_status = absl::InvalidArgumentError(
            "decode_and_batch: the input's elements must be those of "
            "interleave() or format_dataset()");
      }
      const bool stop = batch->end_of_sequence || !batch->input_status.ok();
      {
        std::unique_lock<std::mutex> lock(mu_);
        batch->done = stop;
        batch->end_of_sequence |= stop;
        if (!stop) ++running_;
        queue_.push_back(batch);
        changed_.notify_all();
        if (stop) return;
      }
      dataset()->decoder_.Start(*block, ctx->allocator({}), *ctx->runner(),
                                parallelism, batch, [this, batch]() {
                                  std::unique_lock<std::mutex> lock(mu_);
                                  batch->done = true;
                                  --running_;
                                  changed_.notify_all();
                                });
    }
  }

  // Waits until batch `i` of the queue is there and decoded.
  absl::Status WaitFor(tfd::IteratorContext* ctx, size_t i,
                       std::unique_lock<std::mutex>& lock)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto ready = [&]() {
      return (i < queue_.size() && queue_[i]->done) ||
             (!queue_.empty() && queue_.back()->end_of_sequence &&
              queue_.back()->done && i >= queue_.size());
    };
    limit_ = std::max(limit_, i + 1);
    changed_.notify_all();
    RecordStop(ctx);
    while (!cancelled_ && !ready()) changed_.wait(lock);
    RecordStart(ctx);
    limit_ = static_cast<size_t>(dataset()->arguments_.lookahead);
    if (cancelled_) return absl::CancelledError("the iterator was cancelled");
    ApplyBorrowed(i);
    return absl::OkStatus();
  }

  // After a restore: samples that an earlier batch had taken are gone.
  void ApplyBorrowed(size_t i) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (borrowed_.empty() || i >= queue_.size()) return;
    for (Slot& slot : queue_[i]->slots) {
      if (std::find(borrowed_.begin(), borrowed_.end(),
                    static_cast<int64_t>(slot.draw)) != borrowed_.end()) {
        slot.taken = true;
      }
    }
  }

  // Deals with bad records: an error, or others in their place.
  absl::Status Repair(tfd::IteratorContext* ctx, PendingBatch* batch,
                      std::unique_lock<std::mutex>& lock)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    batch->full = batch->slots.size() ==
                  static_cast<size_t>(dataset()->arguments_.batch_size);
    for (size_t i = 0; i < batch->slots.size(); ++i) {
      Slot& slot = batch->slots[i];
      if (slot.taken) {
        borrowed_.erase(std::find(borrowed_.begin(), borrowed_.end(),
                                  static_cast<int64_t>(slot.draw)));
      } else if (!IsBad(slot)) {
        continue;
      } else if (!dataset()->attributes_.skip_errors) {
        return ToTf(slot.status);
      } else {
        NoteSkipped(*batch, slot);
      }
      TF_RETURN_IF_ERROR(Borrow(ctx, batch, i, lock));
    }
    if (dataset()->attributes_.repeat_to_fill) FillByRepeating(batch);
    DropGaps(batch);
    return absl::OkStatus();
  }

  // Fills a gap with the next draw of its format.
  absl::Status Borrow(tfd::IteratorContext* ctx, PendingBatch* batch,
                      size_t gap, std::unique_lock<std::mutex>& lock)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const uint32_t format = batch->slots[gap].item.format;
    for (size_t ahead = 0;; ++ahead) {
      TF_RETURN_IF_ERROR(WaitFor(ctx, ahead, lock));
      if (ahead >= queue_.size() || queue_[ahead]->end_of_sequence) break;
      PendingBatch* donor = queue_[ahead].get();
      for (size_t i = 0; i < donor->slots.size(); ++i) {
        const Slot& slot = donor->slots[i];
        if (slot.item.format != format || slot.taken || IsBad(slot)) continue;
        FillGap(batch, gap, donor, i);
        borrowed_.push_back(static_cast<int64_t>(slot.draw));
        return absl::OkStatus();
      }
    }
    batch->slots[gap].taken = true;  // nothing is left: the batch is shorter
    return absl::OkStatus();
  }

  void FillByRepeating(PendingBatch* batch) {
    const auto good = std::find_if(
        batch->slots.begin(), batch->slots.end(),
        [](const Slot& slot) { return !slot.taken && !IsBad(slot); });
    if (good == batch->slots.end()) return;
    const auto from = static_cast<size_t>(good - batch->slots.begin());
    for (size_t i = 0; i < batch->slots.size(); ++i) {
      if (batch->slots[i].taken) RepeatInto(batch, i, from);
    }
  }

  void NoteSkipped(const PendingBatch& batch, const Slot& slot)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Record& record = *slot.item.record;
    skipped_.push_back(static_cast<int64_t>(record.row.sample));
    if (batch.run != nullptr) {
      batch.run->Skipped(
          {slot.item.format, record.row.sample, slot.status.message()});
    }
  }

  void Report(PendingBatch* batch, double waited)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (batch->run == nullptr) return;
    batch->run->AddSeconds(0, batch->decode_nanos * 1e-9, waited);
    if (!batch->slots.empty()) {
      size_t formats = 0;
      for (const Slot& slot : batch->slots) {
        formats = std::max<size_t>(formats, slot.item.format + 1);
      }
      batch->run->Delivered(MakeReport(*batch, std::min(formats, kMaxFormats)));
    }
    // A batch whose every sample was taken by this one brings nothing more.
    bool last = batch->last;
    for (const auto& next : queue_) {
      if (last || next->end_of_sequence || !next->done) break;
      const bool spent = std::all_of(
          next->slots.begin(), next->slots.end(),
          [](const Slot& slot) { return slot.taken || IsBad(slot); });
      if (!spent || !dataset()->attributes_.skip_errors) break;
      last = next->last;
    }
    if (last) batch->run->Complete();
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

  std::unique_ptr<tensorflow::CancellationManager> cancellation_;
  std::unique_ptr<tfd::IteratorBase> input_;

  std::mutex mu_;
  std::condition_variable changed_;
  bool cancelled_ TF_GUARDED_BY(mu_) = false;
  size_t limit_ TF_GUARDED_BY(mu_) = 0;     // most batches in the queue
  int64_t running_ TF_GUARDED_BY(mu_) = 0;  // batches being decoded
  std::deque<std::shared_ptr<PendingBatch>> queue_ TF_GUARDED_BY(mu_);
  std::unique_ptr<tfd::MemoryCheckpoint> delivered_ TF_GUARDED_BY(mu_);
  std::vector<int64_t> borrowed_ TF_GUARDED_BY(mu_);  // draws, see Borrow
  std::vector<int64_t> skipped_ TF_GUARDED_BY(mu_);   // sample numbers
  std::unique_ptr<tensorflow::Thread> thread_;
};

std::unique_ptr<tfd::IteratorBase>
DecodeBatchDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::LiquidDecodeBatch"});
}

DecodeBatchDatasetOp::DecodeBatchDatasetOp(OpKernelConstruction* ctx)
    : UnaryDatasetOpKernel(ctx) {
  Attributes& a = attributes_;
  OP_REQUIRES_OK(ctx, ctx->GetAttr("features", &a.features));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("masks", &a.masks));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("ragged", &a.ragged));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("random_crop", &a.random_crop));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("skip_errors", &a.skip_errors));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("repeat_to_fill", &a.repeat_to_fill));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("output_types", &a.output_types));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("output_shapes", &a.output_shapes));
}

absl::Status DecodeBatchDatasetOp::Configure(
    const Arguments& arguments, DecodeConfig* config,
    std::vector<OutputFeature>* features) const {
  const Attributes& a = attributes_;
  if (a.features.empty() || a.features.size() != a.output_types.size() ||
      a.features.size() != a.output_shapes.size()) {
    return absl::InvalidArgumentError(
        "features, output_types and output_shapes must have the same number "
        "of entries, at least one");
  }
  config->ragged = a.ragged;
  config->crop = {static_cast<uint32_t>(arguments.crop_height),
                  static_cast<uint32_t>(arguments.crop_width), a.random_crop,
                  static_cast<uint64_t>(arguments.seed)};
  config->limits.max_pixels = static_cast<uint64_t>(arguments.max_pixels);
  for (size_t i = 0; i < a.features.size(); ++i) {
    OutputFeature feature;
    feature.name = a.features[i];
    feature.dtype = a.output_types[i];
    const tensorflow::PartialTensorShape& shape = a.output_shapes[i];
    const bool mask = std::find(a.masks.begin(), a.masks.end(), feature.name) !=
                      a.masks.end();
    tensorflow::DataTypeVector types;
    if (feature.name == "image" || mask) {
      types = {tensorflow::DT_UINT8, tensorflow::DT_UINT16};
      const int rank = a.ragged ? 2 : 4;
      bool known = shape.dims() == rank;
      for (int d = 1; known && d < rank; ++d) known = shape.dim_size(d) > 0;
      if (!known) {
        return absl::InvalidArgumentError(
            absl::StrCat("output_shapes of ", feature.name, " (",
                         shape.DebugString(), ") must be ",
                         a.ragged ? "[pixels, channels]"
                                  : "[batch, height, width, channels]",
                         ", known but for the first"));
      }
      PixelFeature pixel;
      pixel.example_key = mask ? feature.name : "";
      pixel.dtype = feature.dtype;
      pixel.height = a.ragged ? 0 : shape.dim_size(1);
      pixel.width = a.ragged ? 0 : shape.dim_size(2);
      pixel.channels = shape.dim_size(rank - 1);
      feature.pixel = static_cast<int>(config->pixels.size());
      config->pixels.push_back(std::move(pixel));
    } else if (feature.name == "label") {
      types = {tensorflow::DT_INT64, tensorflow::DT_FLOAT};
      if (feature.dtype == tensorflow::DT_FLOAT) {
        feature.label_size = shape.dims() == 2 ? shape.dim_size(1) : -1;
        if (feature.label_size < 0) {
          return absl::InvalidArgumentError(
              "output_shapes of a float32 label must be [batch, size]");
        }
      }
    } else if (feature.name == "id") {
      types = {tensorflow::DT_INT64};
    } else if (feature.name == "window") {
      types = {tensorflow::DT_INT32};
    } else if (feature.name == "format" || feature.name == "bytes" ||
               feature.name == "example") {
      types = {tensorflow::DT_STRING};
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "features (\"", feature.name,
          "\") must be image, label, id, format, window, bytes, example, or "
          "one of masks"));
    }
    if (std::find(types.begin(), types.end(), feature.dtype) == types.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_types of ", feature.name, " (",
          tensorflow::DataTypeString(feature.dtype), ") does not fit it"));
    }
    features->push_back(std::move(feature));
  }
  return absl::OkStatus();
}

void DecodeBatchDatasetOp::MakeDataset(OpKernelContext* ctx,
                                       tfd::DatasetBase* input,
                                       tfd::DatasetBase** output) {
  Arguments a;
  const struct {
    const char* name;
    int64_t* value;
    int64_t least;
    int64_t most;
  } numbers[] = {{"batch_size", &a.batch_size, 1, 1 << 30},
                 {"crop_height", &a.crop_height, 0, 1 << 30},
                 {"crop_width", &a.crop_width, 0, 1 << 30},
                 {"seed", &a.seed, INT64_MIN, INT64_MAX},
                 {"max_pixels", &a.max_pixels, 1, INT64_MAX},
                 {"lookahead", &a.lookahead, 1, 1 << 20},
                 {"parallelism", &a.parallelism, 0, 1 << 16}};
  for (const auto& number : numbers) {
    OP_REQUIRES_OK(
        ctx, tfd::ParseScalarArgument<int64_t>(ctx, number.name, number.value));
    OP_REQUIRES(ctx,
                *number.value >= number.least && *number.value <= number.most,
                absl::InvalidArgumentError(absl::StrCat(
                    number.name, " (", *number.value, ") must be at least ",
                    number.least, " and at most ", number.most)));
  }
  OP_REQUIRES(ctx, (a.crop_height == 0) == (a.crop_width == 0),
              absl::InvalidArgumentError(
                  absl::StrCat("crop (", a.crop_height, ", ", a.crop_width,
                               ") must have both sides, or none")));
  DecodeConfig config;
  std::vector<OutputFeature> features;
  OP_REQUIRES_OK(ctx, Configure(a, &config, &features));
  *output = new Dataset(ctx, input, attributes_, a, std::move(config),
                        std::move(features));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeBatchDataset").Device(tensorflow::DEVICE_CPU),
    DecodeBatchDatasetOp);

}  // namespace
}  // namespace liquid
