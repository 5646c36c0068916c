#include "ops/reader/read_order.h"

#include <utility>

namespace liquid {

ReadOrder::ReadOrder(std::unique_ptr<EpochPlan> plan, uint32_t format,
                     SampleSet in_memory, const MemoryLimits& limits)
    : plan_(std::move(plan)),
      format_(format),
      limits_(limits),
      at_hand_(std::move(in_memory)),
      loads_(plan_->spec(), format, plan_->epoch(), &plan_->held()[format]),
      resident_(at_hand_.count()) {
  if (plan_->position() == 0) return;
  // Begun in the middle: what was loaded before is no longer in memory.
  loaded_ = plan_->loads(format);
  uint64_t sample;
  for (uint64_t i = 0; i < loaded_; ++i) loads_.Next(&sample);
}

bool ReadOrder::Next(uint64_t* sample) {
  for (;;) {
    while (loaded_ < plan_->loads(format_)) {
      ++loaded_;
      if (!loads_.Next(sample)) return false;
      if (resident_ >= limits_.resident) continue;  // read at its draw
      ++resident_;
      at_hand_.insert(*sample);
      return true;
    }
    if (plan_->position() == plan_->size()) return false;
    const Draw draw = plan_->Next();
    if (draw.format != format_) continue;
    const bool was_at_hand = at_hand_.contains(draw.sample);
    if (was_at_hand) {
      at_hand_.erase(draw.sample);
      --resident_;
    }
    if (draw.keep && kept_ < limits_.kept) {
      ++kept_;
      ++resident_;
    }
    if (!was_at_hand) {
      *sample = draw.sample;
      return true;
    }
  }
}

}  // namespace liquid
