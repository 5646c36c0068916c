// Liquid>FormatDataset: reads one format's records ahead of their use.
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/dataset/source/format_options.h"
#include "ops/dataset/source/open_shards.h"
#include "ops/dataset/source/plan_context.h"
#include "ops/dataset/source/record_block.h"
#include "ops/kernel/source_dataset.h"
#include "ops/kernel/tf_status.h"
#include "ops/reader/record_stream.h"
#include "ops/reader/tiered_source.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class FormatDatasetOp : public tfd::DatasetOpKernel {
 public:
  using DatasetOpKernel::DatasetOpKernel;

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase** output) override;

 private:
  class Dataset;
};

class FormatDatasetOp::Dataset : public SourceDataset {
 public:
  Dataset(OpKernelContext* ctx, const FileAccess& access, FormatInputs inputs,
          std::shared_ptr<ShardSet> shards, std::shared_ptr<PcrSet> pcr)
      : SourceDataset(ctx, tensorflow::DT_VARIANT),
        access_(access),
        inputs_(std::move(inputs)),
        shards_(std::move(shards)),
        pcr_(std::move(pcr)) {}

  std::unique_ptr<tfd::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    std::vector<tensorflow::Node*> nodes(2);
    TF_RETURN_IF_ERROR(b->AddScalar(inputs_.plan, &nodes[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(inputs_.chosen, &nodes[1]));
    return b->AddDataset(this, nodes, {}, output);
  }

 private:
  class Iterator;
  const FileAccess access_;
  const FormatInputs inputs_;
  const std::shared_ptr<ShardSet> shards_;
  const std::shared_ptr<PcrSet> pcr_;  // null for other formats
};

class FormatDatasetOp::Dataset::Iterator
    : public SourceIterator<FormatDatasetOp::Dataset> {
 public:
  using SourceIterator::SourceIterator;
  ~Iterator() override {
    if (deregister_) deregister_();
  }

 protected:
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

  // Of an interleave's source nothing is saved: the plan says what is read.
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
          "Liquid Records wait",
          {{"format", dataset()->inputs_.message.format}});
    });
    if (planned_) return stream_->Next(kBlockRecords, records);
    // An interleave takes what is there; by itself a source gives blocks that
    // do not depend on the disk's pace.
    auto left = static_cast<uint64_t>(
        std::max<int64_t>(1, dataset()->inputs_.message.lookahead_bytes));
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
    TurnSource turns;
    StreamOptions options;
    TF_RETURN_IF_ERROR(MakeTurns(ctx, &turns, &options.group));
    options.mode = dataset()->access_.mode;
    options.depth = static_cast<int>(dataset()->inputs_.message.threads);
    options.lookahead_bytes =
        static_cast<uint64_t>(dataset()->inputs_.message.lookahead_bytes);
    // One by one, so that each record knows what the page cache had of it.
    if (dataset()->access_.page_cache) options.max_read_bytes = 0;
    std::shared_ptr<RecordSource> source = dataset()->shards_;
    if (dataset()->pcr_ != nullptr) source = dataset()->pcr_;
    if (tiered_ != nullptr) source = tiered_;
    // A source by itself has no budget but this.
    if (!planned_)
      spare_ = BufferPool::Process().Allow(options.lookahead_bytes);
    stream_ = std::make_shared<RecordStream>(std::move(source),
                                             std::move(turns), options);
    return tensorflow::RegisterCancellationCallback(
        ctx->cancellation_manager(), [stream = stream_]() { stream->Cancel(); },
        &deregister_);
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

  // `group`: that of the interleave, which stays null without one.
  absl::Status MakeTurns(tfd::IteratorContext* ctx, TurnSource* turns,
                         std::shared_ptr<ReadGroup>* group) {
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
      *turns = [next = begin, size,
                pcr = dataset()->pcr_](ReadTurn* read) mutable {
        if (next == size) return false;
        read->position =
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
          "interleave: the plan's files are not those of ",
          dataset()->inputs_.message.index,
          ": pass the datasets that format_dataset() made, in one order"));
    }
    std::unique_ptr<ReadOrder> order;
    const Status made = plan->MakeReadOrder(
        pcr == nullptr ? std::vector<uint32_t>() : pcr->RecordGroups(), &order);
    if (!made.ok()) return ToTf(made);
    if (plan->tier() != nullptr && pcr == nullptr) {
      tiered_ = std::make_shared<TieredSource>(dataset()->shards_, plan->tier(),
                                               plan->number());
    }
    *turns = [order = std::shared_ptr<ReadOrder>(std::move(order)),
              pcr = dataset()->pcr_, tiered = tiered_](ReadTurn* read) {
      PlannedRead next;
      if (!order->Next(&next)) return false;
      uint64_t position = next.record;
      if (pcr != nullptr) position = pcr->PositionOf(next.record, next.groups);
      if (tiered != nullptr) position = tiered->PositionOf(next.record);
      *read = {position, next.turn};
      return true;
    };
    tell_method_ = plan->tell_method();
    *group = plan->reads();
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
  std::shared_ptr<TieredSource> tiered_;  // null without a tier
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
  FormatInputs inputs;
  OP_REQUIRES_OK(ctx, inputs.Read(ctx));
  const FormatMessage& given = inputs.message;
  FileAccess access;
  access.page_cache = given.page_cache;
  access.patience = static_cast<double>(given.patience);
  OP_REQUIRES_OK(ctx, ToTf(ParseReadMode(given.reader, &access.mode)));
  const ReplicaFiles replicas = {
      given.replica_paths,
      {given.replica_formats.begin(), given.replica_formats.end()}};
  const auto chosen = inputs.chosen.vec<uint8_t>();
  const Selection selection = {
      {given.splits.begin(), given.splits.end()},
      ByteSpan(chosen.data(), static_cast<size_t>(chosen.size()))};
  std::unique_ptr<ShardSet> shards;
  const Status opened = OpenShards(
      ctx->env(), given.index, static_cast<uint32_t>(given.index_crc32c),
      given.paths, selection, static_cast<uint8_t>(given.format), replicas,
      given.pcr_index, access, &shards);
  OP_REQUIRES_OK(ctx, ToTf(opened));
  if (given.length >= 0) {
    const Status restricted =
        shards->Restrict({static_cast<uint64_t>(given.start),
                          static_cast<uint64_t>(given.length)});
    OP_REQUIRES_OK(ctx, ToTf(restricted));
  }
  std::shared_ptr<ShardSet> samples = std::move(shards);
  std::unique_ptr<PcrSet> pcr;
  if (given.format == static_cast<int64_t>(Format::kPcr)) {
    OP_REQUIRES_OK(ctx, ToTf(OpenPcr(ctx->env(), given.pcr_index, given.paths,
                                     samples, &pcr)));
  }
  *output = new Dataset(ctx, access, std::move(inputs), std::move(samples),
                        std::move(pcr));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>FormatDataset").Device(tensorflow::DEVICE_CPU),
    FormatDatasetOp);

}  // namespace
}  // namespace liquid
