// Draws single samples of a format whose records hold many.
//
// The record is what a region holds, keeps, evicts and loads; its samples are
// drawn singly. Records that are taken from the region are *open*, and a draw
// takes a uniformly random sample of the open ones, so that the samples of one
// record spread over the draws. A record is open until its last one is drawn.
//
// Three things happen to the j-th record of an epoch:
//  - It is taken when there is room for its samples: open records have W of
//    them, W being the format's `fill`, or two records where that is more.
//  - Its turn comes in a batch: each full batch has the floor or the ceiling of
//    the mean number of turns, and of them keeps and evicts likewise. At its
//    turn a record is counted, and the next one is loaded where it is evicted.
//    So what a batch costs the disk does not depend on chance. With shuffle off
//    its turn comes in the batch of its first draw.
//  - Its samples are drawn, from before its turn until after it. Left to
//    chance the last one would come after W (ln k + .6) draws for records of k
//    samples, all of them with the record in memory; so of the 3 P + 1 records
//    that may be open, P = W / k, the oldest one gives the draw where a record
//    could be taken and has no place.
// In memory are so at most the region's C + S + P records (P are taken before
// their turn) and 3 P + 1 open ones whose turn is over.
#ifndef LIQUID_OPS_SAMPLER_OPEN_RECORDS_H_
#define LIQUID_OPS_SAMPLER_OPEN_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/rng.h"
#include "ops/sampler/mixture.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/region.h"

namespace liquid {

// Thread-compatible. O(records + W) memory; O(1) expected time per draw, and
// O(P) for the oldest record's, which are few.
class OpenRecords {
 public:
  // `total`: samples of all formats. `batch_size` <= total. `held` must outlive
  // it, and `kept` collects the records that are kept.
  OpenRecords(const PlanSpec& spec, uint32_t format, int64_t epoch,
              uint64_t batch_size, uint64_t total, const SampleSet& held,
              SampleSet* kept);

  uint64_t loads() const { return region_.loads(); }
  // Records whose turn comes in this batch; those of them that are kept.
  const BatchPart& turns() const { return turns_; }

  // The turns of a batch that draws `samples`, before its first draw.
  void BeginBatch(uint64_t samples);
  // Requires that samples are left.
  Draw Next();

 private:
  // An open record.
  struct Open {
    uint64_t order = 0;  // how many records were taken before it
    uint64_t record = 0;
    int64_t load = 0;
    bool keep = false;
    std::vector<uint32_t> samples;  // not drawn
  };

  void Turn(bool keep);
  void TakeRecord();
  bool NextFate();
  Draw DrawFrom(size_t open, size_t sample);
  Draw DrawAny();
  Draw DrawOldest();
  Draw NextStored();

  const uint32_t format_;
  const bool shuffle_;
  const uint64_t cached_;
  const uint64_t records_;
  SampleSet* const kept_;        // not owned
  std::vector<uint64_t> first_;  // first sample of each record, and their end
  Region region_;
  RandomStream random_;
  // Turns of each batch, and the fates of records in the order in which they
  // are taken: one table, at two places.
  const BatchTable table_;
  BatchTable turn_table_;
  BatchTable fate_table_;
  std::vector<BatchPart> parts_;  // scratch
  std::vector<uint8_t> fates_;    // of records still to be taken, last first
  BatchPart turns_;
  uint64_t largest_ = 0;       // samples of the largest record
  uint64_t most_ = 0;          // samples of open records
  uint64_t taken_ = 0;         // records
  uint64_t turned_ = 0;        // records whose turn has come
  uint64_t stored_end_ = 0;    // with shuffle off: samples through this batch
  uint64_t open_samples_ = 0;  // samples
  size_t most_open_ = 0;
  std::vector<Open> open_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_OPEN_RECORDS_H_
