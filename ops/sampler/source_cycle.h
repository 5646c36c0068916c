// The cycles of one source's samples, and where an epoch stands in them.
//
// The samples of an entry have one fixed order: in stored order, sample k of n
// has place (x + k s) mod n, with a step s near n / 1.618 that shares no factor
// with n, and x from the seed. So any span of the cycle is spread evenly over
// the stored order, however that is sorted, and nothing is kept of a sample but
// its entry.
//
// Two other orders of this kind, with other steps, say which samples are pinned
// and at what time of an epoch a sample is drawn. So both are spread evenly
// over the cycle, and over each other.
#ifndef LIQUID_OPS_SAMPLER_SOURCE_CYCLE_H_
#define LIQUID_OPS_SAMPLER_SOURCE_CYCLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/sampler/plan_spec.h"
#include "ops/sampler/weights.h"

namespace liquid {

// Thread-compatible. O(entries) memory. The spec's weights must outlive it.
class SourceCycle {
 public:
  // An order of an entry's samples: sample k has place first + k * step.
  struct Order {
    uint64_t first = 0;
    uint64_t step = 0;
  };
  struct Entry {
    uint64_t size = 0;
    CycleSpan span;
    Order cycle, pinning, time;
    uint64_t pinned = 0;    // so many places of `pinning` are pinned: they stay
    uint64_t resident = 0;  // samples; see below
  };
  struct Sample {
    uint64_t number = 0;
    size_t entry = 0;
    uint64_t place = 0;  // behind the start of the span
    uint64_t time = 0;   // place in the order of time
    bool pinned = false;
    bool resident = false;  // drawn from memory
  };

  // `spans`: of the source's entries. The `pinned` samples whose share is
  // greatest are pinned; fewer if fewer are ever drawn. *Resident* in an epoch
  // are those that it holds, `held`, which must outlive this; or all that are
  // pinned where it is null, in the epoch that fills memory. Those that are
  // pinned and not resident are added to `coming`, if it is given.
  SourceCycle(const PlanSpec& spec, uint32_t source,
              const std::vector<CycleSpan>& spans, uint64_t pinned,
              const SampleSet* held = nullptr, SampleSet* coming = nullptr);

  const std::vector<Entry>& entries() const { return entries_; }
  // Draws of the spans, and those of resident samples.
  uint64_t draws() const { return draws_; }
  uint64_t resident_draws() const { return resident_draws_; }

  // Calls use(Sample) for each sample in stored order. O(samples).
  template <typename Use>
  void ForEach(Use use) const {
    struct State {
      uint64_t place, pinning, time;
    };
    std::vector<State> states;
    states.reserve(entries_.size());
    for (const Entry& e : entries_) {
      states.push_back({Behind(e, e.cycle.first, e.span.start), e.pinning.first,
                        e.time.first});
    }
    Sample sample;
    const uint64_t samples = weights_->samples(source_);
    for (; sample.number < samples; ++sample.number) {
      sample.entry = weights_->entry(source_, sample.number);
      const Entry& entry = entries_[sample.entry];
      State& state = states[sample.entry];
      sample.place = state.place;
      sample.time = state.time;
      sample.pinned = state.pinning < entry.pinned;
      sample.resident =
          held_ == nullptr ? sample.pinned : held_->contains(sample.number);
      use(sample);
      state.place = Sum(entry, state.place, entry.cycle.step);
      state.pinning = Sum(entry, state.pinning, entry.pinning.step);
      state.time = Sum(entry, state.time, entry.time.step);
    }
  }

 private:
  static uint64_t Sum(const Entry& entry, uint64_t a, uint64_t b) {
    const uint64_t sum = a + b;
    return sum < entry.size ? sum : sum - entry.size;
  }
  // How far a place lies behind the one that is number `start` of the cycle.
  static uint64_t Behind(const Entry& entry, uint64_t place, uint64_t start) {
    if (entry.size == 0) return 0;
    return Sum(entry, place, entry.size - start % entry.size);
  }

  const Weights* const weights_;
  const size_t source_;
  const SampleSet* const held_;
  std::vector<Entry> entries_;
  uint64_t draws_ = 0;
  uint64_t resident_draws_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_SOURCE_CYCLE_H_
