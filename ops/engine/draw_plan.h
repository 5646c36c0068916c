// Which samples are drawn, in which order, by what iterators: the message, and
// the arrays that are shared and not copied.
#ifndef LIQUID_OPS_ENGINE_DRAW_PLAN_H_
#define LIQUID_OPS_ENGINE_DRAW_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ops/core/status.h"
#include "ops/engine/snapshot.h"
#include "ops/message/messages.h"
#include "ops/reader/tier.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// Values that lie somewhere else, and outlive this.
template <typename T>
struct Span {
  const T* data = nullptr;
  size_t size = 0;
};

struct DrawPlan {
  InterleaveMessage message;
  Span<uint16_t> groups;         // of samples, where there are shares
  Span<uint32_t> record_blocks;  // of each record, where there is a tier
  int64_t epoch = -1;            // -1: the snapshot counts
  int64_t first_step = 0;        // of `epoch`
  int64_t steps = -1;            // -1: to the epoch's end

  // Takes `epoch`, `first_step` and `steps`. Error: InvalidArgument that names
  // input, value and constraint.
  Status SetRange(Span<int64_t> range);
  // The draw of an epoch of `samples` before which an iterator ends.
  uint64_t EndDraw(uint64_t samples) const;
  // The plan of `datasets` formats. Error: likewise.
  Status MakeSpec(size_t datasets, std::shared_ptr<const PlanSpec>* spec) const;
  // What a new snapshot of this plan is told. Error: likewise.
  Status MakeConfig(std::shared_ptr<const PlanSpec> spec,
                    Snapshot::Config* config) const;

 private:
  Status MakeWeights(PlanSpec* spec) const;
  Status MakeTier(const PlanSpec& spec, Tier::Options* options) const;
};

// Of all that must be equal for a checkpoint to fit. What is cached may differ
// (Snapshot::Restore). `view`: which samples are read.
int64_t Fingerprint(const PlanSpec& spec, int64_t view);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_DRAW_PLAN_H_
