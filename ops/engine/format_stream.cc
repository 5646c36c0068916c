#include "ops/engine/format_stream.h"

#include <algorithm>
#include <utility>

#include "ops/codecs/codec.h"
#include "ops/reader/tiered_source.h"

namespace liquid {

Status FormatFiles::CheckMessage(const FormatMessage& message, ReadMode* mode) {
  const std::vector<int64_t>& splits = message.splits;
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] > splits[i - 1]) continue;
    return InvalidArgument("splits[" + std::to_string(i) + "] (" +
                           std::to_string(splits[i]) + ") must be above " +
                           std::to_string(splits[i - 1]) +
                           ", the one before it");
  }
  constexpr auto kMost = static_cast<int64_t>(kLastFormat);
  for (const int64_t other : message.replica_formats) {
    if (other <= kMost) continue;
    return InvalidArgument("replica_formats (" + std::to_string(other) +
                           ") must be in 0.." + std::to_string(kMost));
  }
  return ParseReadMode(message.reader, mode);
}

Status FormatFiles::CheckPlan(const FormatSpec& format) const {
  const PcrSet* const pcr = opened.pcr.get();
  const bool same =
      pcr == nullptr
          ? format.files == opened.samples->FileCounts() &&
                format.record_samples.empty()
          : format.record_samples == pcr->RecordSamples() &&
                format.files == std::vector<uint64_t>(pcr->records(), 1);
  if (same) return OkStatus();
  return InvalidArgument(
      "interleave: the plan's files are not those of " + message.index +
      ": pass the datasets that format_dataset() made, in one order");
}

Status FormatStream::Create(const FormatFiles& files, const FormatPlan* plan,
                            uint64_t records,
                            std::unique_ptr<FormatStream>* made) {
  std::unique_ptr<FormatStream> stream(new FormatStream(files));
  stream->source_ = files.opened.samples;
  if (files.opened.pcr != nullptr) stream->source_ = files.opened.pcr;
  stream->records_ = records;
  TurnSource turns;
  StreamOptions options;
  options.mode = files.mode;
  options.depth = static_cast<int>(files.message.threads);
  options.lookahead_bytes =
      static_cast<uint64_t>(files.message.lookahead_bytes);
  // One by one, so that each record knows what the page cache had of it.
  if (options.mode == ReadMode::kCached) options.max_read_bytes = 0;
  if (plan != nullptr) {
    LIQUID_RETURN_IF_ERROR(stream->TurnsOf(*plan, &turns));
    options.group = plan->reads;
  } else {
    LIQUID_RETURN_IF_ERROR(stream->StoredTurns(&turns));
    // A format by itself has no budget but this.
    stream->spare_ = BufferPool::Process().Allow(options.lookahead_bytes);
  }
  stream->stream_ = std::make_shared<RecordStream>(stream->source_,
                                                   std::move(turns), options);
  *made = std::move(stream);
  return OkStatus();
}

Status FormatStream::StoredTurns(TurnSource* turns) const {
  const std::shared_ptr<PcrSet>& pcr = files_.opened.pcr;
  const uint64_t size =
      pcr == nullptr ? files_.opened.samples->size() : pcr->records();
  if (records_ > size) {
    return InvalidArgument(
        "the checkpoint stands behind record " + std::to_string(records_) +
        " of " + std::to_string(size) + ": it was saved by another dataset");
  }
  *turns = [next = records_, size, pcr](ReadTurn* read) mutable {
    if (next == size) return false;
    read->position =
        pcr == nullptr ? next : pcr->PositionOf(next, kFullFidelity);
    ++next;
    return true;
  };
  return OkStatus();
}

Status FormatStream::TurnsOf(const FormatPlan& plan, TurnSource* turns) {
  planned_ = true;
  tell_method_ = plan.tell_method;
  const std::shared_ptr<PcrSet>& pcr = files_.opened.pcr;
  LIQUID_RETURN_IF_ERROR(files_.CheckPlan(plan.format()));
  std::unique_ptr<ReadOrder> order;
  LIQUID_RETURN_IF_ERROR(plan.MakeReadOrder(
      pcr == nullptr ? std::vector<uint32_t>() : pcr->RecordGroups(), &order));
  std::shared_ptr<TieredSource> tiered;
  if (plan.tier != nullptr && pcr == nullptr) {
    tiered = std::make_shared<TieredSource>(source_, plan.tier, plan.number);
    source_ = tiered;
  }
  *turns = [order = std::shared_ptr<ReadOrder>(std::move(order)), pcr,
            tiered](ReadTurn* read) {
    PlannedRead next;
    if (!order->Next(&next)) return false;
    uint64_t position = next.record;
    if (pcr != nullptr) position = pcr->PositionOf(next.record, next.groups);
    if (tiered != nullptr) position = tiered->PositionOf(next.record);
    *read = {position, next.turn};
    return true;
  };
  return OkStatus();
}

Status FormatStream::Next(RecordBlock* block) {
  std::vector<RecordPtr> records;
  LIQUID_RETURN_IF_ERROR(NextRecords(&records));
  TellMethod();
  if (records.empty()) return OkStatus();
  block->retries = stream_->TakeRetries();
  block->items.reserve(records.size());
  const size_t count = records.size();
  for (RecordPtr& record : records) AddTo(block, std::move(record));
  if (planned_) return OkStatus();
  // As an interleave numbers its samples.
  block->first_draw = samples_;
  records_ += count;
  samples_ += block->items.size();
  return OkStatus();
}

Status FormatStream::NextRecords(std::vector<RecordPtr>* records) {
  if (planned_) return stream_->Next(kBlockRecords, records);
  // An interleave takes what is there; by itself a format gives blocks that do
  // not depend on the disk's pace.
  auto left = static_cast<uint64_t>(
      std::max<int64_t>(1, files_.message.lookahead_bytes));
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

// In stored order come samples, whatever their records hold.
void FormatStream::AddTo(RecordBlock* block, RecordPtr record) const {
  RecordBlock::Item item;
  if (planned_ || record->samples == nullptr) {
    item.record = std::move(record);
    block->items.push_back(std::move(item));
    return;
  }
  const PcrSet& pcr = *files_.opened.pcr;
  for (uint64_t i = pcr.FirstSample(record->position);
       i < pcr.FirstSample(record->position + 1); ++i) {
    item.record = record->samples->Get(*record, i, kFullFidelity);
    block->items.push_back(item);
  }
}

// Once, after the first read.
void FormatStream::TellMethod() {
  if (!tell_method_) return;
  const std::string method = stream_->method();
  if (method.empty()) return;
  tell_method_(method);
  tell_method_ = nullptr;
}

}  // namespace liquid
