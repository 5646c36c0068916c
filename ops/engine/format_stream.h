// The records of one format, read ahead of their use.
#ifndef LIQUID_OPS_ENGINE_FORMAT_STREAM_H_
#define LIQUID_OPS_ENGINE_FORMAT_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/buffer_pool.h"
#include "ops/core/status.h"
#include "ops/engine/format_plan.h"
#include "ops/engine/record_block.h"
#include "ops/message/messages.h"
#include "ops/reader/open_shards.h"
#include "ops/reader/read_engine.h"
#include "ops/reader/record_stream.h"

namespace liquid {

// An opened format of a dataset. Immutable, and so thread-safe.
struct FormatFiles {
  FormatMessage message;
  ReadMode mode = ReadMode::kAuto;
  OpenedShards opened;

  // Opens what the message names; `patience` and the mode are the opener's,
  // too. `chosen`: see OpenShards. Errors: likewise, and InvalidArgument for
  // what a message cannot see by itself.
  static Status CheckMessage(const FormatMessage& message, ReadMode* mode);
  // Error: InvalidArgument where a plan is that of other records.
  Status CheckPlan(const FormatSpec& format) const;
};

// One epoch of a format: what a plan says, or without one all of it in stored
// order, in blocks that do not depend on the disk's pace.
//
// Thread-compatible, but for Cancel. `files` must outlive it.
class FormatStream {
 public:
  // `plan`: null for stored order, from `records` on.
  static Status Create(const FormatFiles& files, const FormatPlan* plan,
                       uint64_t records, std::unique_ptr<FormatStream>* stream);

  // The next records, up to kBlockRecords of them; none at the end. In stored
  // order they are the samples that records hold, with numbers.
  Status Next(RecordBlock* block);
  // Makes every Next return Cancelled. Thread-safe.
  void Cancel() { stream_->Cancel(); }
  // Something that can cancel it after it has gone.
  std::shared_ptr<RecordStream> stream() const { return stream_; }

  bool planned() const { return planned_; }
  // Records and samples that were given, in stored order.
  uint64_t records() const { return records_; }
  uint64_t samples() const { return samples_; }
  void set_samples(uint64_t samples) { samples_ = samples; }

 private:
  explicit FormatStream(const FormatFiles& files) : files_(files) {}
  Status TurnsOf(const FormatPlan& plan, TurnSource* turns);
  Status StoredTurns(TurnSource* turns) const;
  Status NextRecords(std::vector<RecordPtr>* records);
  void AddTo(RecordBlock* block, RecordPtr record) const;
  void TellMethod();

  const FormatFiles& files_;
  bool planned_ = false;
  uint64_t records_ = 0;
  uint64_t samples_ = 0;
  BufferPool::Allowance spare_;
  std::shared_ptr<RecordSource> source_;
  std::shared_ptr<RecordStream> stream_;
  std::function<void(const std::string&)> tell_method_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_FORMAT_STREAM_H_
