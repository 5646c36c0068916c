// Liquid>FormatDataset: reads one format's records ahead of their use.
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/dataset/open_shards.h"
#include "ops/dataset/plan_context.h"
#include "ops/dataset/record_block.h"
#include "ops/reader/record_stream.h"
#include "ops/tf_status.h"
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
using ::tensorflow::tstring;

struct Arguments {
  std::string directory;
  int64_t index_crc32c = 0;
  std::vector<tstring> paths;
  int64_t split = 0;
  int64_t format = 0;
  int64_t start = 0;
  int64_t length = -1;  // -1: all
  int64_t threads = 0;
  int64_t lookahead_bytes = 0;
  tstring reader;
  bool page_cache = false;
};

class FormatDatasetOp : public tfd::DatasetOpKernel {
 public:
  explicit FormatDatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("page_cache", &page_cache_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase** output) override;

 private:
  class Dataset;

  bool page_cache_;
};

class FormatDatasetOp::Dataset : public tfd::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, Arguments arguments, ReadMode mode,
          std::shared_ptr<ShardSet> shards, std::shared_ptr<PcrSet> pcr)
      : DatasetBase(tfd::DatasetContext(ctx)),
        arguments_(std::move(arguments)),
        mode_(mode),
        shards_(std::move(shards)),
        pcr_(std::move(pcr)) {}

  std::unique_ptr<tfd::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

  const tensorflow::DataTypeVector& output_dtypes() const override {
    static const auto* const kTypes =
        new tensorflow::DataTypeVector({tensorflow::DT_VARIANT});
    return *kTypes;
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    static const auto* const kShapes =
        new std::vector<tensorflow::PartialTensorShape>(
            {tensorflow::PartialTensorShape({})});
    return *kShapes;
  }
  std::string DebugString() const override {
    return "Liquid>FormatDatasetOp::Dataset";
  }
  absl::Status InputDatasets(
      std::vector<const tfd::DatasetBase*>* inputs) const override {
    inputs->clear();
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override { return absl::OkStatus(); }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    const Arguments& a = arguments_;
    std::vector<tensorflow::Node*> inputs(10);
    TF_RETURN_IF_ERROR(b->AddScalar(tstring(a.directory), &inputs[0]));
    TF_RETURN_IF_ERROR(b->AddScalar(a.index_crc32c, &inputs[1]));
    TF_RETURN_IF_ERROR(b->AddVector(a.paths, &inputs[2]));
    const int64_t numbers[] = {a.split,  a.format,  a.start,
                               a.length, a.threads, a.lookahead_bytes};
    for (int i = 0; i < 6; ++i) {
      TF_RETURN_IF_ERROR(b->AddScalar(numbers[i], &inputs[3 + i]));
    }
    TF_RETURN_IF_ERROR(b->AddScalar(a.reader, &inputs[9]));
    tensorflow::AttrValue page_cache;
    b->BuildAttrValue(a.page_cache, &page_cache);
    return b->AddDataset(this, inputs, {{"page_cache", page_cache}}, output);
  }

 private:
  class Iterator;
  const Arguments arguments_;
  const ReadMode mode_;
  const std::shared_ptr<ShardSet> shards_;
  const std::shared_ptr<PcrSet> pcr_;  // null for other formats
};

class FormatDatasetOp::Dataset::Iterator
    : public tfd::DatasetIterator<FormatDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params) : DatasetIterator<Dataset>(params) {}
  ~Iterator() override {
    if (deregister_) deregister_();
  }

  // Of an interleave's source nothing is saved: the plan says what is read.
  bool SymbolicCheckpointCompatible() const override { return true; }

 protected:
  std::shared_ptr<tfd::model::Node> CreateNode(
      tfd::IteratorContext* ctx, tfd::model::Node::Args args) const override {
    return tfd::model::MakeSourceNode(std::move(args));
  }

  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    TF_RETURN_IF_ERROR(Start(ctx));
    std::vector<RecordPtr> records;
    const Status status = NextRecords(&records);
    if (!status.ok()) return ToTf(status);
    TellMethod();
    *end_of_sequence = records.empty();
    if (records.empty()) return absl::OkStatus();
    RecordBlock block;
    block.retries = stream_->TakeRetries();
    block.items.reserve(records.size());
    for (RecordPtr& record : records) AddTo(&block, std::move(record));
    Count(records.size(), &block);
    out_tensors->push_back(ToTensor(std::move(block)));
    return absl::OkStatus();
  }

  absl::Status SaveInternal(tfd::SerializationContext* ctx,
                            tfd::IteratorStateWriter* writer) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (planned_) return absl::OkStatus();
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "records", records_));
    return writer->WriteScalar(prefix(), "samples", samples_);
  }
  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (!reader->Contains(prefix(), "records")) return absl::OkStatus();
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "records", &records_));
    return reader->ReadScalar(prefix(), "samples", &samples_);
  }

 private:
  Status NextRecords(std::vector<RecordPtr>* records) {
    tensorflow::profiler::TraceMe trace([this]() {
      return tensorflow::profiler::TraceMeEncode(
          "Liquid Records wait", {{"format", dataset()->arguments_.format}});
    });
    if (planned_) return stream_->Next(kBlockRecords, records);
    // An interleave takes what is there; by itself a source gives blocks that
    // do not depend on the disk's pace.
    auto left = static_cast<uint64_t>(
        std::max<int64_t>(1, dataset()->arguments_.lookahead_bytes));
    records->clear();
    do {
      std::vector<RecordPtr> more;
      LIQUID_RETURN_IF_ERROR(
          stream_->Next(kBlockRecords - records->size(), &more, left));
      if (more.empty()) break;
      for (RecordPtr& record : more) {
        left -= std::min(left, record->row.length);
        records->push_back(std::move(record));
      }
    } while (left > 0 && records->size() < kBlockRecords);
    return OkStatus();
  }

  // Starts reading at the first GetNext, when the interleave has its plan.
  absl::Status Start(tfd::IteratorContext* ctx) {
    std::unique_lock<std::mutex> lock(mu_);
    if (stream_ != nullptr) return absl::OkStatus();
    PositionSource positions;
    StreamOptions options;
    TF_RETURN_IF_ERROR(MakePositions(ctx, &positions, &options.clock));
    options.mode = dataset()->mode_;
    options.depth = static_cast<int>(dataset()->arguments_.threads);
    options.lookahead_bytes =
        static_cast<uint64_t>(dataset()->arguments_.lookahead_bytes);
    // One by one, so that each record knows what the page cache had of it.
    if (dataset()->arguments_.page_cache) options.max_read_bytes = 0;
    std::shared_ptr<RecordSource> source = dataset()->shards_;
    if (dataset()->pcr_ != nullptr) source = dataset()->pcr_;
    // A source by itself has no budget but this.
    if (!planned_)
      spare_ = BufferPool::Process().Allow(options.lookahead_bytes);
    stream_ = std::make_shared<RecordStream>(std::move(source),
                                             std::move(positions), options);
    if (ctx->cancellation_manager() == nullptr) return absl::OkStatus();
    tensorflow::CancellationManager* manager = ctx->cancellation_manager();
    const auto token = manager->get_cancellation_token();
    const bool registered = manager->RegisterCallback(
        token, [stream = stream_]() { stream->Cancel(); });
    if (!registered) return absl::CancelledError("reading was cancelled");
    deregister_ = [manager, token]() { manager->DeregisterCallback(token); };
    return absl::OkStatus();
  }

  // By itself a source gives samples, whatever its records hold.
  void AddTo(RecordBlock* block, RecordPtr record) const {
    RecordBlock::Item item;
    if (planned_ || record->samples == nullptr) {
      item.record = std::move(record);
      block->items.push_back(std::move(item));
      return;
    }
    const PcrSet& pcr = *dataset()->pcr_;
    for (uint64_t i = pcr.FirstSample(record->position);
         i < pcr.FirstSample(record->position + 1); ++i) {
      item.record = record->samples->Get(*record, i, kFullFidelity);
      block->items.push_back(item);
    }
  }

  // By itself a source numbers its samples as an interleave does.
  void Count(size_t records, RecordBlock* block) {
    if (planned_) return;
    std::unique_lock<std::mutex> lock(mu_);
    block->first_draw = static_cast<uint64_t>(samples_);
    records_ += static_cast<int64_t>(records);
    samples_ += static_cast<int64_t>(block->items.size());
  }

  // `clock`: that of the interleave, which stays null without one.
  absl::Status MakePositions(tfd::IteratorContext* ctx,
                             PositionSource* positions,
                             std::shared_ptr<ReadClock>* clock) {
    PlanContext* plan_or_null = nullptr;
    const absl::Status found =
        ctx->resource_mgr() == nullptr
            ? absl::NotFoundError("no resources")
            : ctx->resource_mgr()->Lookup(PlanContext::kContainer,
                                          PlanContext::kName, &plan_or_null);
    const tensorflow::core::RefCountPtr<PlanContext> plan(plan_or_null);
    const ShardSet& shards = *dataset()->shards_;
    const PcrSet* const pcr = dataset()->pcr_.get();
    if (absl::IsNotFound(found)) {
      // By itself a source is read in stored order.
      const uint64_t size = pcr == nullptr ? shards.size() : pcr->records();
      const auto begin = static_cast<uint64_t>(records_);
      if (begin > size) {
        return absl::InvalidArgumentError(
            absl::StrCat("the checkpoint stands behind record ", begin, " of ",
                         size, ": it was saved by another dataset"));
      }
      *positions = [next = begin, size,
                    pcr = dataset()->pcr_](uint64_t* position) mutable {
        if (next == size) return false;
        *position =
            pcr == nullptr ? next : pcr->PositionOf(next, kFullFidelity);
        ++next;
        return true;
      };
      return absl::OkStatus();
    }
    TF_RETURN_IF_ERROR(found);
    planned_ = true;
    const FormatSpec& format = plan->format();
    const bool same =
        pcr == nullptr
            ? format.files == shards.FileCounts() &&
                  format.record_samples.empty()
            : format.record_samples == pcr->RecordSamples() &&
                  format.files == std::vector<uint64_t>(pcr->records(), 1);
    if (!same) {
      return absl::InvalidArgumentError(absl::StrCat(
          "interleave: the plan's file_counts are not those of ",
          dataset()->arguments_.directory,
          ": pass the datasets that format_dataset() made, in one order"));
    }
    std::unique_ptr<ReadOrder> order;
    const Status made = plan->MakeReadOrder(
        pcr == nullptr ? std::vector<uint32_t>() : pcr->RecordGroups(), &order);
    if (!made.ok()) return ToTf(made);
    *positions = [order = std::shared_ptr<ReadOrder>(std::move(order)),
                  pcr = dataset()->pcr_](uint64_t* position) {
      PlannedRead read;
      if (!order->Next(&read)) return false;
      *position = pcr == nullptr ? read.record
                                 : pcr->PositionOf(read.record, read.groups);
      return true;
    };
    tell_method_ = plan->tell_method();
    *clock = plan->clock();
    return absl::OkStatus();
  }

  // Once, after the first read.
  void TellMethod() {
    std::unique_lock<std::mutex> lock(mu_);
    if (!tell_method_) return;
    const std::string method = stream_->method();
    if (method.empty()) return;
    tell_method_(method);
    tell_method_ = nullptr;
  }

  std::mutex mu_;
  bool planned_ = false;  // set before stream_
  // That were given, of a source by itself; guarded by mu_.
  int64_t records_ = 0;
  int64_t samples_ = 0;
  BufferPool::Allowance spare_;
  std::shared_ptr<RecordStream> stream_;
  std::function<void()> deregister_;
  std::function<void(const std::string&)> tell_method_;
};

std::unique_ptr<tfd::IteratorBase>
FormatDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::LiquidFormat"});
}

void FormatDatasetOp::MakeDataset(OpKernelContext* ctx,
                                  tfd::DatasetBase** output) {
  Arguments a;
  a.page_cache = page_cache_;
  tstring directory;
  OP_REQUIRES_OK(
      ctx, tfd::ParseScalarArgument<tstring>(ctx, "directory", &directory));
  a.directory = directory;
  OP_REQUIRES_OK(ctx,
                 tfd::ParseVectorArgument<tstring>(ctx, "paths", &a.paths));
  const std::pair<const char*, int64_t*> numbers[] = {
      {"index_crc32c", &a.index_crc32c},
      {"split", &a.split},
      {"format", &a.format},
      {"start", &a.start},
      {"length", &a.length},
      {"threads", &a.threads},
      {"lookahead_bytes", &a.lookahead_bytes}};
  for (const auto& [name, value] : numbers) {
    OP_REQUIRES_OK(ctx, tfd::ParseScalarArgument<int64_t>(ctx, name, value));
  }
  const auto require = [ctx](bool holds, const char* name, int64_t value,
                             const char* constraint) {
    if (!holds) {
      ctx->CtxFailure(absl::InvalidArgumentError(
          absl::StrCat(name, " (", value, ") must be ", constraint)));
    }
    return holds;
  };
  if (!require(a.split >= 0 && a.split < 256, "split", a.split, "in 0..255") ||
      !require(a.format >= 0 && a.format < 256, "format", a.format,
               "in 0..255") ||
      !require(a.index_crc32c >= 0 && a.index_crc32c <= UINT32_MAX,
               "index_crc32c", a.index_crc32c, "in 0..4294967295") ||
      !require(a.start >= 0, "start", a.start, "at least 0") ||
      !require(a.length >= -1, "length", a.length, "at least -1") ||
      !require(a.threads >= 1 && a.threads <= 256, "threads", a.threads,
               "in 1..256") ||
      !require(a.lookahead_bytes >= 0, "lookahead_bytes", a.lookahead_bytes,
               "at least 0")) {
    return;
  }
  OP_REQUIRES_OK(ctx,
                 tfd::ParseScalarArgument<tstring>(ctx, "reader", &a.reader));
  ReadMode mode;
  OP_REQUIRES_OK(ctx, ToTf(ParseReadMode(a.reader, &mode)));
  std::unique_ptr<ShardSet> shards;
  const Status opened =
      OpenShards(ctx->env(), a.directory, static_cast<uint32_t>(a.index_crc32c),
                 std::vector<std::string>(a.paths.begin(), a.paths.end()),
                 static_cast<uint8_t>(a.split), static_cast<uint8_t>(a.format),
                 mode, a.page_cache, &shards);
  OP_REQUIRES_OK(ctx, ToTf(opened));
  if (a.length >= 0) {
    const Status restricted = shards->Restrict(
        {static_cast<uint64_t>(a.start), static_cast<uint64_t>(a.length)});
    OP_REQUIRES_OK(ctx, ToTf(restricted));
  }
  std::shared_ptr<ShardSet> samples = std::move(shards);
  std::unique_ptr<PcrSet> pcr;
  if (a.format == static_cast<int64_t>(Format::kPcr)) {
    OP_REQUIRES_OK(
        ctx,
        ToTf(OpenPcr(ctx->env(), a.directory,
                     std::vector<std::string>(a.paths.begin(), a.paths.end()),
                     samples, &pcr)));
  }
  *output =
      new Dataset(ctx, std::move(a), mode, std::move(samples), std::move(pcr));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>FormatDataset").Device(tensorflow::DEVICE_CPU),
    FormatDatasetOp);

}  // namespace
}  // namespace liquid
