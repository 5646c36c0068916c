#include "ops/reader/read_order.h"

#include <utility>

namespace liquid {

ReadOrder::ReadOrder(std::unique_ptr<EpochPlan> plan, uint32_t format,
                     SampleSet in_memory)
    : plan_(std::move(plan)),
      format_(format),
      in_memory_(std::move(in_memory)),
      loads_(plan_->spec(), format, plan_->epoch(), &plan_->held()[format]),
      loaded_before_(plan_->position() == 0 ? 0 : plan_->loads(format)),
      loaded_(loaded_before_) {
  uint64_t skipped;
  for (uint64_t i = 0; i < loaded_before_; ++i) loads_.Next(&skipped);
}

bool ReadOrder::Next(uint64_t* sample) {
  for (;;) {
    if (loaded_ < plan_->loads(format_)) {
      ++loaded_;
      return loads_.Next(sample);
    }
    if (plan_->position() == plan_->size()) return false;
    const Draw draw = plan_->Next();
    if (draw.format != format_) continue;
    const bool loaded_here = draw.load != Draw::kHeld &&
                             static_cast<uint64_t>(draw.load) >= loaded_before_;
    const bool remembered =
        draw.load == Draw::kHeld && in_memory_.contains(draw.sample);
    if (!loaded_here && !remembered) {
      *sample = draw.sample;
      return true;
    }
  }
}

}  // namespace liquid
