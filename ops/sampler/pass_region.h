// One source's samples in memory while an epoch of weighted samples is planned:
// those that are resident (SourceCycle), or the others.
//
// The draws of an epoch are cut into *passes*. Where a source has one group, a
// pass ends where its cycle does: it draws each sample once, but for the first
// and the last pass of an epoch. Where it has several, the k-th of a sample's c
// draws is in the pass of the time (k + t) / c of the epoch, t being the
// sample's own time in [0, 1): so groups have their shares in each. There are
// as many passes as the most frequent sample has draws, and kMostPasses at
// most.
//
// A pass is loaded in disk order and drawn in random order. The next pass may
// be loaded, but is not drawn, before the last draw of this one.
//
// Samples that are not resident are read for each draw: every load is drawn
// once, and every draw makes room for the next load. What has several draws in
// a pass is spread evenly over its loads. A pinned sample among them, which is
// then drawn for the first time, stays in memory.
//
// A resident sample is in memory; or, in the epoch that fills it, it is loaded
// before its first draw, two loads for a draw.
#ifndef LIQUID_OPS_SAMPLER_PASS_REGION_H_
#define LIQUID_OPS_SAMPLER_PASS_REGION_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ops/core/rng.h"
#include "ops/sampler/load_order.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/source_cycle.h"

namespace liquid {

// Thread-compatible. 2 bits for each sample of the source, and 8 bytes for each
// draw that is in memory. O(samples) for each pass, else O(1) amortised.
class PassRegion {
 public:
  static constexpr uint64_t kMostPasses = 16;
  struct Taken {
    uint64_t sample = 0;
    int64_t load = -1;  // as in Draw
  };
  // What is told of each load: its sample.
  using Told = std::vector<uint32_t>;

  // The region of resident samples where `in_memory` is given: what is there,
  // to which draws must be added. `room`: samples that are loaded before the
  // first draw, and of others at most. All must outlive it.
  PassRegion(const PlanSpec& spec, uint32_t source, int64_t epoch,
             const SourceCycle& cycle, const SampleSet* in_memory,
             uint64_t room, uint64_t* loads, Told* told);

  // The next draw. Requires that one is left.
  Taken Take();
  // Loads what there is room for after a draw, and what the next one needs; the
  // draw has been added to what is in memory.
  void Turn();

 private:
  struct Member {
    static constexpr uint32_t kHeld = 0xFFFFFFFF;
    uint32_t sample;
    uint32_t load;
  };
  // Of an entry's samples in a pass that have a number of draws in the epoch:
  // how often they are drawn, and once more from the place `more` on, once less
  // from `less` on.
  struct Part {
    uint64_t draws = 0, more = 0, less = 0;
    uint64_t At(uint64_t place) const {
      return draws + (place >= more) - (place >= less);
    }
  };
  struct Parts {
    uint64_t below = 0;  // places of the span with one draw more
    Part fewer, most;
  };

  bool resident() const { return in_memory_ != nullptr; }
  void CountPasses();
  uint64_t Boundary(const SourceCycle::Entry& entry, uint64_t pass) const;
  Parts PartsOf(const SourceCycle::Entry& entry) const;
  void NextPass();
  void Add(uint32_t sample, uint32_t load, uint64_t copies);
  bool Load();
  void MakeReady();

  const PlanSpec& spec_;
  const uint32_t source_;
  const SourceCycle& cycle_;
  const SampleSet* const in_memory_;
  const uint64_t room_;
  uint64_t* const loads_;
  Told* const told_;
  RandomStream random_, files_, repeats_random_;
  bool one_group_ = false;
  uint64_t left_ = 0;  // draws
  uint64_t passes_ = 0;
  uint64_t loading_ = 0;  // passes that were begun to be loaded
  uint64_t drawing_ = 0;  // of these, those that were begun to be drawn
  SampleSet unwanted_;    // of the pass that is loaded
  std::unique_ptr<LoadOrder> order_;
  std::vector<uint32_t> repeats_;  // samples with several loads in the pass
  std::unordered_map<uint32_t, uint64_t>
      copies_;  // draws of one load, if not 1
  uint64_t single_ = 0, single_left_ = 0, several_ = 0;  // loads of the pass
  uint64_t owed_ = 0;                                    // to repeats_
  std::vector<Member> members_;  // in memory and not drawn, of this pass
  std::vector<Member> waiting_;  // likewise, of the next
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_PASS_REGION_H_
