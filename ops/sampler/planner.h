// The planner: which sample comes next, from where, and whether it is kept.
//
// A pure function of (spec, epoch, held): no TensorFlow, no I/O, no clock, no
// platform-dependent library. Threads, disk speed and prefetching can therefore
// change how fast an epoch runs, never what it yields.
// (Liquid, APSys '23, section 4.2; docs/determinism.md.)
//
// What is loaded, kept and evicted is a *record*: in most formats a sample, in
// some (PCR) many samples, which are then drawn singly: open_records.h. Of
// these read "sample" as "record" below.
//
// Every format has a *region* of samples in memory. When an epoch begins it is
// the set that the last epoch kept. Each draw takes a uniformly random sample
// of the current region; it is either kept for the next epoch or evicted, and
// then the next sample in disk order that was not held when the epoch began is
// loaded in its place.
//
// In memory. A kept sample frees no place, so a region has room for more than
// the cached samples: for a slack of S_f, the format's share of a batch or what
// `fill` asks beyond C_f, whichever is more. With H_f samples held at the start
// (none or C_f; or, of a section, any number up to C_f: see CarryOver):
//  - Before the first draw, samples are loaded until C_f + S_f are in memory;
//    in an epoch that starts with less than C_f held, only until `fill` or a
//    batch's share is. Waiting for the whole cache would delay the
//    first batch.
//  - After each draw, up to two samples are loaded while there is room. Once
//    the region is full that is one for each evicted draw; before, it is a
//    ramp.
// So a region is never empty while draws of its format remain. In memory are
// u undrawn and k kept samples, with k <= C_f. If the disk has more, either
// memory is full, and u = C_f + S_f - k >= S_f >= 1; or it is not yet, and then
// every draw so far has brought two samples for the one that it took, so that u
// has not fallen since the start, where it was at least S_f. If the disk has no
// more, the undrawn samples are all in memory.
//
// With shuffle off, draw j of a format is its sample j; inside a batch the
// formats follow one another; the first C_f samples of each format are kept.
// How many samples of a batch are kept is then not constant.
//
// Where samples have weights, an epoch draws some of them several times, and
// others not at all; pass_region.h says in which order. Those that are cached
// are then *pinned*: the same in all epochs, kept from their first draw on. A
// batch has a constant number of draws of samples that were held when the epoch
// began, and of others, each of which is a load; in an epoch that held none, of
// pinned samples and of others. A sample that is not pinned may be loaded again
// before its last draw.
//
// That is the policy of Liquid. Two others are there to be compared with it,
// in batches of the same composition; see CachePolicy.
//
// Thread-compatible. Samples of a format are numbered 0..N_f-1 in stored order.
#ifndef LIQUID_OPS_SAMPLER_PLANNER_H_
#define LIQUID_OPS_SAMPLER_PLANNER_H_

#include <cstdint>
#include <memory>

#include "ops/core/status.h"
#include "ops/sampler/mixture.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

struct Draw {
  static constexpr int64_t kHeld = -1;
  uint32_t format = 0;
  uint64_t sample = 0;
  int64_t load =
      kHeld;          // which load of its format brought its record, or kHeld
  bool keep = false;  // its record stays for the next epoch
  uint64_t record = sample;
  bool last = true;  // of its record in this epoch; a pinned one has none

  bool operator==(const Draw& other) const {
    return format == other.format && sample == other.sample &&
           load == other.load && keep == other.keep && record == other.record &&
           last == other.last;
  }
};

class EpochPlan {
 public:
  // `held` must hold, per format, either nothing or exactly `cached` samples;
  // with shuffle off, these are the first ones. Of a section it may hold any
  // number of its samples up to `cached`, and with weights any that are pinned.
  // O(samples) bits of memory and 8
  // bytes for each sample of a region, not of its content.
  // Error: InvalidArgument that names argument, value and constraint.
  static Status Create(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
                       HeldSets held, std::unique_ptr<EpochPlan>* plan);
  ~EpochPlan();

  // Draws in the epoch: EpochSize of the spec.
  uint64_t size() const;
  // Draws made so far.
  uint64_t position() const;
  int64_t epoch() const;
  const PlanSpec& spec() const;
  // What the regions held when the epoch began.
  const HeldSets& held() const;
  // Format of the next draw. Requires position() < size().
  uint32_t PeekFormat() const;
  // Loads of `format` that come before the next draw, from the epoch's start.
  uint64_t loads(uint32_t format) const;
  // In a format of records of many samples: those whose turn comes in the batch
  // of the next draw, and which of them are kept. Requires position() < size().
  BatchPart turns(uint32_t format) const;
  // Makes the next draw. Requires position() < size(). O(1) amortised.
  Draw Next();
  // Makes `draws` draws, or all that are left if these are fewer.
  void Skip(uint64_t draws);
  // From now on TakeLoad tells of the loads of `format`: all where no draw was
  // made before, else those that come with later draws. With weights only.
  void TellLoads(uint32_t format);
  // The record of the next load of `format` that comes before the next draw and
  // was not told; false where there is none.
  bool TakeLoad(uint32_t format, uint64_t* record);
  // The sets kept so far; after the last draw, the next epoch's `held`.
  const HeldSets& kept() const;

 private:
  struct State;
  explicit EpochPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What the regions hold when `epoch` begins, every epoch before it having been
// planned from `first_epoch` on, at whose start they held `held`. O(draws), or
// immediate where each format is cached whole or not at all.
Status HeldAt(std::shared_ptr<const PlanSpec> spec, int64_t first_epoch,
              HeldSets held, int64_t epoch, HeldSets* result);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_PLANNER_H_
