// Counters of what was delivered, by epoch.
#ifndef LIQUID_OPS_ENGINE_STATS_H_
#define LIQUID_OPS_ENGINE_STATS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/arena.h"
#include "ops/engine/epoch_run.h"
#include "ops/reader/tier.h"

namespace liquid {

// Thread-safe. Memory is bounded, to about 3 MB for two formats: the last
// kMaxBatches batches, the last kMaxEpochs epochs and the first kMaxSkipped bad
// records, and fallbacks, are kept one by one, the rest as sums.
class StatsBoard {
 public:
  static constexpr size_t kMaxBatches = 1 << 14;
  static constexpr size_t kMaxEpochs = 1 << 10;
  static constexpr size_t kMaxSkipped = 100;

  // What is so at the moment.
  struct Now {
    int64_t next_epoch = 0;
    uint64_t cached_records = 0;  // between epochs
    uint64_t cached_bytes = 0;
    uint64_t pool_used = 0;  // of the process
    uint64_t pool_kept = 0;
    std::vector<int64_t> mixes;  // of every epoch; see EpochMixes
    std::optional<Tier::Counters> tier = {};
    std::optional<Arena::Counters> arena = {};
    Tier::Count device_records = {};  // of those that are cached
  };

  void SetFormats(std::vector<std::string> formats);
  // What a format's records are read with, such as "io_uring+direct".
  void SetReading(uint32_t format, const std::string& method);
  void AddBatch(const BatchReport& report);
  // Of an epoch's batches; see EpochRun.
  void SetFidelity(int64_t epoch, std::vector<int64_t> steps);
  void SetFill(int64_t epoch, uint64_t bytes, double seconds);
  void AddRead(int64_t epoch, uint32_t groups, uint64_t disk_bytes);
  void AddTierRead(int64_t epoch, uint64_t bytes);
  // Of an image of a delivered batch.
  void AddDecode(int64_t epoch, uint32_t format, bool by_library,
                 double seconds);
  void AddRetries(int64_t epoch, uint32_t format, uint64_t reads);
  void AddSkipped(int64_t epoch, const SkippedRecord& record);
  void SetDecoding(int64_t epoch, int64_t parallelism, int64_t lookahead);
  // One JSON object: formats, reading, next_epoch, mixes, cached {records,
  // bytes}, pool {used, kept}, tier and gpu where there is one, epochs, earlier
  // (the sums of `count` epochs that were too many), skipped, fallbacks, and
  // `batches` where asked for.
  std::string Json(const Now& now, bool with_batches) const;

 private:
  struct Epoch {
    std::vector<uint64_t> samples, hits, loads, memory_hits, gpu_hits, bytes,
        skipped, fallbacks, retries, decodes, libjpeg_decodes;
    std::vector<double> decode_seconds;
    uint64_t batches = 0;
    uint64_t disk_bytes = 0;
    Tier::Count tier;  // read there
    BatchSeconds seconds;
    uint64_t fill_bytes = 0;
    double fill_seconds = 0;
    int64_t parallelism = 0;
    int64_t lookahead = 0;
    std::vector<int64_t> fidelity;                // batch and groups in turn
    std::map<uint32_t, uint64_t> bytes_by_group;  // read, by the last group
  };
  // Counts by format, with their names in JSON.
  static const std::pair<const char*, std::vector<uint64_t> Epoch::*>
      kCounts[11];
  // A batch without its counts, which lie in counts_.
  struct Batch {
    int64_t epoch = 0;
    uint64_t first_draw = 0;
    bool full = false;
    std::shared_ptr<const BatchCost> cost;
    BatchSeconds seconds;
  };
  Epoch& At(int64_t epoch);
  void AddFallback(const Fallback& fallback, Epoch* epoch);
  Epoch NewEpoch() const;
  void WriteEpoch(const Epoch& epoch, std::ostream& out) const;
  void WriteBatches(std::ostream& out) const;

  mutable std::mutex mu_;
  // All below guarded by mu_.
  std::vector<std::string> formats_;
  std::map<uint32_t, std::string> reading_;
  std::map<int64_t, Epoch> epochs_;
  uint64_t earlier_count_ = 0;
  Epoch earlier_;  // sums
  std::deque<Batch> batches_;
  // Of each batch: samples, hits, loads and memory hits of each format.
  std::deque<uint32_t> counts_;
  std::vector<SkippedRecord> skipped_;
  uint64_t skipped_total_ = 0;
  std::vector<Fallback> fallbacks_;
  uint64_t fallbacks_total_ = 0;
  uint64_t other_pixels_ = 0;  // of them
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_STATS_H_
