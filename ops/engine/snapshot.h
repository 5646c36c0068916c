// The deterministic cache: what outlives an epoch.
//
// Shared by every iterator of one dataset: the epoch counter, the plan's chain
// of held sets, the records kept in memory, and the counters.
// The plan never depends on what memory really holds: a held sample that is
// missing is read again, a record that the plan does not hold is dropped.
#ifndef LIQUID_OPS_ENGINE_SNAPSHOT_H_
#define LIQUID_OPS_ENGINE_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/core/arena.h"
#include "ops/core/number_map.h"
#include "ops/core/status.h"
#include "ops/engine/epoch_mixes.h"
#include "ops/engine/epoch_run.h"
#include "ops/engine/stats.h"
#include "ops/reader/record.h"
#include "ops/reader/tier.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// What an epoch is drawn from, as the one knows it who draws.
class DrawSource {
 public:
  virtual ~DrawSource() = default;
};

// Records of one format by position.
using RecordMap = NumberMap<RecordPtr>;

// Held by std::shared_ptr. Thread-safe.
class Snapshot : public std::enable_shared_from_this<Snapshot> {
 public:
  struct Config {
    std::shared_ptr<const PlanSpec> spec;
    std::vector<std::string> formats;  // names, in the plan's order
    int64_t initial_epoch = 0;
    uint64_t initial_step = 0;  // batches of it that were already delivered,
                                // or kUnknown
    uint64_t spare_bytes = 0;   // free memory that is kept for later
    Tier::Options tier = {};    // without a folder there is none
  };

  // The step of a place that is yet to be sought.
  static constexpr uint64_t kUnknown = UINT64_MAX;

  // Where an iterator begins.
  struct Place {
    int64_t epoch = 0;
    uint64_t step = 0;  // batches to leave out
    // Of an epoch that other numbers of workers began: draws what they left of
    // it, in the place of the snapshot's own source. Else null.
    std::shared_ptr<const DrawSource> rest = nullptr;
  };

  // An epoch as one iterator runs it.
  struct Lease {
    std::shared_ptr<const PlanSpec> spec;
    int64_t epoch = 0;
    uint64_t position = 0;          // draws already made
    HeldSets held;                  // of the plan, at the epoch's start
    std::vector<RecordMap> memory;  // what of it is at hand
    std::shared_ptr<EpochRun> run;
  };

  // Null where there is none. What `Own` says of the cache holds for it, too.
  std::shared_ptr<Tier> tier() const;
  // Memory of a device, for a part of what is kept; it stays as long as the
  // snapshot and all that lies there. One that is set in the place of another
  // is for what is kept from then on. Null for none.
  void SetArena(std::shared_ptr<Arena> arena);
  std::shared_ptr<Arena> arena() const;
  // The plan of the epoch after one, where it is decided; else that of the one.
  std::shared_ptr<const PlanSpec> SpecAfter(int64_t epoch) const;

  // The first call decides; a later one with another plan is an error.
  Status Configure(const Config& config);

  // What a new iterator runs: the epoch after the last complete one.
  Place Next() const;
  // What was sought last, which may be complete by now.
  Place Sought() const;
  // Cached samples per format, where formats share none.
  std::vector<uint64_t> Cached() const;
  // Of formats that share samples: decides the mixes of the epochs from `first`
  // on, each as EpochMixes has it. What was decided before stays. Error:
  // InvalidArgument where they are none, or leave an epoch out.
  Status Decide(int64_t first, const std::vector<std::vector<int64_t>>& mixes);
  // The mixes that are decided: EpochMixes::Numbers of the first `epochs`, or
  // of all. Empty where formats share no samples.
  std::vector<int64_t> Mixes(int64_t epochs = INT64_MAX) const;

  // Gives out an epoch from its batch `step` on. Its order depends on its
  // number alone, and on the mixes where formats share samples: these must be
  // decided. Its records come from memory only for the one run that owns the
  // cache. Errors: InvalidArgument for no epoch, or one that is not decided;
  // FailedPrecondition for a step that is kUnknown.
  Status Take(int64_t epoch, uint64_t step, Lease* lease);
  // Adds a run to a lease of the rest of an epoch. Memory holds nothing of it:
  // its records have numbers of their own.
  void LendRest(Lease* lease);
  // Goes on in `epoch` at a draw, as a checkpoint says, with as many cached
  // samples per format as it says, or its mixes: a cache="auto" that this
  // machine resolved otherwise gives way. An epoch whose every batch was
  // delivered (`complete`) is followed by the next. Error: InvalidArgument that
  // names what does not fit the plan.
  Status Restore(const std::vector<uint64_t>& cached,
                 const std::vector<int64_t>& mixes, int64_t epoch,
                 uint64_t position, HeldSets held, bool complete, Lease* lease);
  // Makes `place` the next, with as many cached samples per format, or the
  // mixes; none given leaves them as they are. Error: likewise; nothing has
  // changed.
  Status Seek(Place place, const std::vector<uint64_t>& cached,
              const std::vector<int64_t>& mixes);

  // Whether `run` owns the cache; it becomes the owner where there is
  // none.
  bool Own(const EpochRun* run);
  // Ends the ownership and leaves records for the next epoch. `next` is what
  // that epoch's plan holds, or null where this one was abandoned.
  void Release(const EpochRun* run, int64_t epoch, const HeldSets* next,
               std::vector<RecordMap> memory);

  // Drops what is kept, and keeps nothing from now on: nobody will begin an
  // epoch, though who made datasets of it, such as graphs, may have it for
  // ever.
  void Forget();

  // See StatsBoard.
  void SetReading(uint32_t format, const std::string& method) {
    stats_.SetReading(format, method);
  }
  std::string StatsJson(bool with_batches) const;

 private:
  friend class SnapshotRun;

  // All that follow need mu_.
  Status SetCached(const std::vector<uint64_t>& cached);
  Status SetMixes(const std::vector<int64_t>& mixes);
  std::shared_ptr<const PlanSpec> SpecOf(int64_t epoch) const;
  Status CheckDecided(int64_t epoch) const;
  Status HeldBefore(int64_t epoch, HeldSets* held);
  void Lend(Lease* lease);
  void Remember(int64_t epoch, HeldSets held);

  mutable std::mutex mu_;
  // All but stats_ guarded by mu_.
  Config config_;  // as the first caller gave it
  std::shared_ptr<const PlanSpec> spec_;
  // Of formats that share samples, else null: then it is spec_ in every epoch.
  std::unique_ptr<EpochMixes> mixes_;
  int64_t next_epoch_ = 0;
  Place sought_;
  const EpochRun* owner_ = nullptr;
  bool is_forgotten_ = false;
  // What the epochs before the last two that were planned have kept.
  std::map<int64_t, HeldSets> chain_;
  std::vector<RecordMap> memory_;
  // Between epochs too, for as long as the dataset lives.
  BufferPool::Allowance spare_;
  std::shared_ptr<Tier> tier_;
  std::shared_ptr<Arena> arena_;
  StatsBoard stats_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_SNAPSHOT_H_
