// The records of one epoch on their way from disk or memory into blocks.
#ifndef LIQUID_OPS_ENGINE_EPOCH_DRAWS_H_
#define LIQUID_OPS_ENGINE_EPOCH_DRAWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ops/core/number_map.h"
#include "ops/core/status.h"
#include "ops/engine/load_ledger.h"
#include "ops/engine/record_block.h"
#include "ops/engine/snapshot.h"
#include "ops/reader/read_group.h"
#include "ops/reader/read_order.h"
#include "ops/reader/tier.h"
#include "ops/sampler/fidelity.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

namespace liquid {

// Executes a plan. Invariant between two calls: the plan stands at the next
// draw; `region_` has every record that was read or held and of which samples
// are still to be drawn; `next_` has every drawn record that is kept.
//
// Thread-compatible. The snapshot must outlive it.
class EpochDraws {
 public:
  struct Options {
    uint64_t cache_bytes = 0;        // most bytes kept for the next epoch
    std::vector<uint64_t> kept;      // most records of each format kept for it
    std::vector<uint64_t> resident;  // most of them in memory, drawn or not
    // What is kept of a record is its pixels, with masks of so many bytes each.
    bool keep_pixels = false;
    uint64_t mask_bytes = 0;
    bool drop_remainder = false;
    uint64_t end = UINT64_MAX;  // the draw before which to end
    // Only a rest of the epoch is drawn, under numbers that no other epoch has.
    bool rest = false;
    Fidelity fidelity;
    std::shared_ptr<Tier> tier = nullptr;  // of the run; null for none
    // Where images of what is kept go on a device, and how much of what is
    // newly kept, by its bytes; null for none.
    std::shared_ptr<Arena> arena = nullptr;
    double device_share = 0;
    // Whose time blocks tell of; null where none does.
    std::shared_ptr<ReadGroup> reads = nullptr;
  };
  // Reads on in one format; no records at its end.
  using ReadMore =
      std::function<Status(uint32_t format, std::vector<RecordPtr>*)>;

  static Status Create(Snapshot* snapshot, Snapshot::Lease lease,
                       const Options& options,
                       std::unique_ptr<EpochDraws>* draws);
  // Leaves what is in memory to the next epoch.
  ~EpochDraws();

  const EpochPlan& plan() const { return *plan_; }
  const std::shared_ptr<const PlanSpec>& spec() const { return spec_; }
  EpochRun& run() const { return *run_; }
  // Held records of a format that are in memory. Before the first Next.
  AtHand at_hand(uint32_t format) const;

  // Whether the epoch has another block.
  bool AtEnd() const;
  // Draws the next batch. After an error the epoch cannot go on.
  Status Next(const ReadMore& read, RecordBlock* block);

 private:
  EpochDraws(Snapshot* snapshot, Snapshot::Lease lease, const Options& options,
             std::unique_ptr<EpochPlan> plan);

  bool NeedsRead(const Draw& draw) const;
  void Prefetch(const std::vector<Draw>& draws, size_t i) const;
  bool HasSamples(uint32_t format) const {
    return !spec_->formats[format].record_samples.empty();
  }
  void CountTurns(RecordBlock* block);
  void CountDisk(RecordBlock* block);
  Status Obtain(const Draw& draw, uint32_t fidelity, bool owner,
                const ReadMore& read, RecordBlock::Item* item,
                RecordBlock* block);
  Status ReadOn(const Draw& draw, const ReadMore& read, RecordBlock* block);
  void Leave(const Draw& draw, bool owner, RecordMap::iterator found,
             RecordBlock::Item* item);
  void Arrive(uint32_t format, RecordPtr record, RecordBlock* block);
  void Keep(const Draw& draw, RecordPtr record, RecordBlock::Item* item);
  bool HasCount(const Draw& draw) const;
  bool HasBytes(const Record& record) const;
  void KeepOnDevice(const Draw& draw, RecordPtr record,
                    std::shared_ptr<const Arena::Piece> place,
                    RecordBlock::Item* item);
  std::shared_ptr<const Arena::Piece> TakePlace(const Record& record);
  uint64_t KeptBytes(const Record& record) const;
  void Finish();
  void Release(const HeldSets* next);

  Snapshot* const snapshot_;
  const Options options_;
  const std::shared_ptr<const PlanSpec> spec_;
  const std::shared_ptr<EpochRun> run_;
  const std::unique_ptr<EpochPlan> plan_;
  std::vector<SampleSet> at_hand_;  // when the run began, and not read again
  std::vector<RecordMap> region_;
  // Disk bytes of records that were read and of which no sample is drawn yet.
  std::vector<NumberMap<uint64_t>> fresh_;
  std::vector<RecordMap> next_;
  // With weights, of each format: pinned records, where the epoch fills memory
  // with them; those that it has room for; and see ReadOrder.
  std::vector<SampleSet> filling_, retained_;
  std::vector<NumberMap<uint64_t>> more_loads_;
  std::vector<LoadLedger> ledgers_;
  uint64_t kept_bytes_ = 0;  // in memory
  // Of images that are newly kept: all, and those that go to a device.
  double new_bytes_ = 0, moved_bytes_ = 0;
  double disk_seconds_ = 0;  // that blocks have told of
  bool released_ = false;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_EPOCH_DRAWS_H_
