// Liquid>FormatDataset: reads one format's records ahead of their use.
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/dataset/dataset.h"
#include "ops/dataset/source/plan_context.h"
#include "ops/dataset/source/record_block.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/tf_status.h"
#include "ops/message/messages.h"
#include "ops/reader/open_shards.h"
#include "ops/reader/record_stream.h"
#include "ops/reader/tiered_source.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

class FormatIterator;

class FormatDataset : public DatasetOf<FormatDataset, FormatIterator> {
 public:
  static constexpr char kName[] = "LiquidFormat";

  static absl::Status Make(OpKernelContext* ctx, tfd::DatasetBase** output) {
    tstring plan;
    FormatMessage message;
    Tensor chosen;  // uint8, a bit for each sample number
    FileAccess access;
    TF_RETURN_IF_ERROR(ReadPlan(ctx, &plan, &message));
    TF_RETURN_IF_ERROR(Check(message));
    TF_RETURN_IF_ERROR(ReadVector(ctx, "chosen", &chosen));
    access.patience = static_cast<double>(message.patience);
    TF_RETURN_IF_ERROR(ToTf(ParseReadMode(message.reader, &access.mode)));
    const auto bits = chosen.vec<uint8_t>();
    OpenedShards opened;
    TF_RETURN_IF_ERROR(ToTf(OpenShards(
        message, ByteSpan(bits.data(), static_cast<size_t>(bits.size())),
        MakeOpener(ctx->env(), access), &opened)));
    *output =
        new FormatDataset(ctx, std::move(plan), std::move(chosen),
                          std::move(message), access.mode, std::move(opened));
    return absl::OkStatus();
  }

  const FormatMessage& message() const { return message_; }
  ReadMode mode() const { return mode_; }
  const std::shared_ptr<ShardSet>& shards() const { return opened_.samples; }
  const std::shared_ptr<PcrSet>& pcr() const { return opened_.pcr; }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    std::vector<tensorflow::Node*> nodes(2);
    TF_RETURN_IF_ERROR(b->AddScalar(plan_, &nodes[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(chosen_, &nodes[1]));
    return b->AddDataset(this, nodes, {}, output);
  }

 private:
  FormatDataset(OpKernelContext* ctx, tstring plan, Tensor chosen,
                FormatMessage message, ReadMode mode, OpenedShards opened)
      : DatasetOf(ctx, {}, tensorflow::DT_VARIANT),
        plan_(std::move(plan)),
        chosen_(std::move(chosen)),
        message_(std::move(message)),
        mode_(mode),
        opened_(std::move(opened)) {}

  // Error: InvalidArgument for what the message cannot see by itself.
  static absl::Status Check(const FormatMessage& message) {
    const std::vector<int64_t>& splits = message.splits;
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] > splits[i - 1]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("splits[", i, "] (", splits[i], ") must be above ",
                       splits[i - 1], ", the one before it"));
    }
    constexpr auto kMost = static_cast<int64_t>(kLastFormat);
    for (const int64_t other : message.replica_formats) {
      if (other <= kMost) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("replica_formats (", other, ") must be in 0..", kMost));
    }
    return absl::OkStatus();
  }

  // As given, so that the dataset can be serialized again.
  const tstring plan_;
  const Tensor chosen_;
  const FormatMessage message_;
  const ReadMode mode_;
  const OpenedShards opened_;
};

class FormatIterator : public SourceIterator<FormatDataset> {
 public:
  using SourceIterator::SourceIterator;

 protected:
  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    TF_RETURN_IF_ERROR(Start(ctx));
    std::vector<RecordPtr> records;
    TF_RETURN_IF_ERROR(ToTf(NextRecords(&records)));
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
    return WriteNumbers(writer, {{"records", records_}, {"samples", samples_}});
  }
  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (!reader->Contains(prefix(), "records")) return absl::OkStatus();
    return ReadNumbers(reader,
                       {{"records", &records_}, {"samples", &samples_}});
  }

 private:
  Status NextRecords(std::vector<RecordPtr>* records) {
    tensorflow::profiler::TraceMe trace([this]() {
      return tensorflow::profiler::TraceMeEncode(
          "Liquid Records wait", {{"format", dataset()->message().format}});
    });
    if (planned_) return stream_->Next(kBlockRecords, records);
    // An interleave takes what is there; by itself a source gives blocks that
    // do not depend on the disk's pace.
    auto left = static_cast<uint64_t>(
        std::max<int64_t>(1, dataset()->message().lookahead_bytes));
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
    options.mode = dataset()->mode();
    options.depth = static_cast<int>(dataset()->message().threads);
    options.lookahead_bytes =
        static_cast<uint64_t>(dataset()->message().lookahead_bytes);
    // One by one, so that each record knows what the page cache had of it.
    if (options.mode == ReadMode::kCached) options.max_read_bytes = 0;
    std::shared_ptr<RecordSource> source = dataset()->shards();
    if (dataset()->pcr() != nullptr) source = dataset()->pcr();
    if (tiered_ != nullptr) source = tiered_;
    // A source by itself has no budget but this.
    if (!planned_)
      spare_ = BufferPool::Process().Allow(options.lookahead_bytes);
    stream_ = std::make_shared<RecordStream>(std::move(source),
                                             std::move(turns), options);
    return CancelBy(ctx, [stream = stream_]() { stream->Cancel(); });
  }

  // By itself a source gives samples, whatever its records hold.
  void AddTo(RecordBlock* block, RecordPtr record) const {
    RecordBlock::Item item;
    if (planned_ || record->samples == nullptr) {
      item.record = std::move(record);
      block->items.push_back(std::move(item));
      return;
    }
    const PcrSet& pcr = *dataset()->pcr();
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
    tensorflow::core::RefCountPtr<PlanContext> plan;
    const absl::Status found = FindContext(ctx, &plan);
    const ShardSet& shards = *dataset()->shards();
    const PcrSet* const pcr = dataset()->pcr().get();
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
                pcr = dataset()->pcr()](ReadTurn* read) mutable {
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
          dataset()->message().index,
          ": pass the datasets that format_dataset() made, in one order"));
    }
    std::unique_ptr<ReadOrder> order;
    TF_RETURN_IF_ERROR(ToTf(plan->MakeReadOrder(
        pcr == nullptr ? std::vector<uint32_t>() : pcr->RecordGroups(),
        &order)));
    if (plan->tier() != nullptr && pcr == nullptr) {
      tiered_ = std::make_shared<TieredSource>(dataset()->shards(),
                                               plan->tier(), plan->number());
    }
    *turns = [order = std::shared_ptr<ReadOrder>(std::move(order)),
              pcr = dataset()->pcr(), tiered = tiered_](ReadTurn* read) {
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
  std::function<void(const std::string&)> tell_method_;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>FormatDataset").Device(tensorflow::DEVICE_CPU),
    DatasetOp<FormatDataset>);

}  // namespace
}  // namespace liquid
