#include "ops/reader/read_order.h"

#include <algorithm>
#include <utility>

namespace liquid {

ReadRange FindRange(EpochPlan* plan, uint32_t format, uint64_t end) {
  ReadRange range;
  range.end = end;
  range.drawn = SampleSet(StoredCount(plan->spec().formats[format]));
  while (plan->position() < std::min(end, plan->size())) {
    const Draw draw = plan->Next();
    if (draw.format == format) range.drawn.insert(draw.record);
  }
  return range;
}

ReadOrder::ReadOrder(std::unique_ptr<EpochPlan> plan, uint32_t format,
                     AtHand at_hand, const MemoryLimits& limits,
                     Fidelity fidelity, std::vector<uint32_t> groups,
                     ReadRange range)
    : plan_(std::move(plan)),
      range_(std::move(range)),
      format_(format),
      limits_(limits),
      fidelity_(std::move(fidelity)),
      groups_(std::move(groups)),
      at_hand_(std::move(at_hand)),
      loads_(plan_->spec(), format, plan_->epoch(), &plan_->held()[format]),
      resident_(at_hand_.records.count()) {
  at_hand_.groups.resize(groups_.size());
  if (plan_->position() == 0) return;
  // Begun in the middle: what was loaded before is no longer in memory.
  loaded_ = plan_->loads(format);
  uint64_t record;
  for (uint64_t i = 0; i < loaded_; ++i) loads_.Next(&record);
}

bool ReadOrder::IsDrawn(uint64_t record) const {
  return range_.end >= plan_->size() || range_.drawn.contains(record);
}

uint32_t ReadOrder::FidelityNow() const {
  return fidelity_.At(plan_->position() / plan_->spec().batch_size);
}

PlannedRead ReadOrder::ReadOf(uint64_t record, uint32_t fidelity) const {
  return {record, groups_.empty() ? 0 : std::min(fidelity, groups_[record])};
}

bool ReadOrder::Serves(const PlannedRead& wanted) const {
  return at_hand_.records.contains(wanted.record) &&
         (groups_.empty() || at_hand_.groups[wanted.record] >= wanted.groups);
}

void ReadOrder::Arrive(const PlannedRead& read) {
  resident_ += !at_hand_.records.contains(read.record);
  at_hand_.records.insert(read.record);
  if (!groups_.empty()) at_hand_.groups[read.record] = read.groups;
}

bool ReadOrder::Next(PlannedRead* read) {
  for (;;) {
    while (loaded_ < plan_->loads(format_)) {
      ++loaded_;
      uint64_t record;
      if (!loads_.Next(&record)) return false;
      if (!IsDrawn(record)) continue;
      if (resident_ >= limits_.resident) continue;  // read at its draw
      *read = ReadOf(record, FidelityNow());
      Arrive(*read);
      return true;
    }
    if (plan_->position() >= std::min(range_.end, plan_->size())) return false;
    const uint32_t fidelity = FidelityNow();
    const Draw draw = plan_->Next();
    if (draw.format != format_) continue;
    *read = ReadOf(draw.record, fidelity);
    const bool served = Serves(*read);
    if (!served) Arrive(*read);
    if (draw.last) {
      at_hand_.records.erase(draw.record);
      --resident_;
      if (draw.keep && kept_ < limits_.kept) {
        ++kept_;
        ++resident_;
      }
    }
    if (!served) return true;
  }
}

}  // namespace liquid
