#include "ops/reader/read_order.h"

#include <algorithm>
#include <utility>

#include "ops/sampler/weighted_source.h"

namespace liquid {

SampleSet Retained(const PlanSpec& spec, uint32_t format,
                   const MemoryLimits& limits) {
  if (spec.weights == nullptr) return SampleSet();
  const uint64_t pinned = spec.formats[format].cached;
  SampleSet retained = PinnedSamples(spec, format, pinned);
  if (limits.kept >= pinned) return retained;
  const SampleSet fitting = PinnedSamples(spec, format, limits.kept);
  for (size_t i = 0; i < retained.words().size(); ++i) {
    retained.words()[i] &= fitting.words()[i];
  }
  return retained;
}

ReadRange FindRange(EpochPlan* plan, uint32_t format, uint64_t end) {
  ReadRange range;
  range.end = end;
  range.drawn = SampleSet(StoredCount(plan->spec().formats[format]));
  while (plan->position() < std::min(end, plan->size())) {
    const Draw draw = plan->Next();
    if (draw.format != format) continue;
    if (range.drawn.contains(draw.record)) {
      ++range.again[draw.record];
    } else {
      range.drawn.insert(draw.record);
    }
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
      weighted_(plan_->spec().weights != nullptr),
      retained_(Retained(plan_->spec(), format, limits_)),
      loads_(plan_->spec(), format, plan_->epoch(), &plan_->held()[format]),
      resident_(at_hand_.records.count()) {
  at_hand_.groups.resize(groups_.size());
  if (weighted_) {
    plan_->TellLoads(format);
    // Of them, memory has no others.
    retained_left_ = retained_.count() - resident_;
    return;
  }
  if (plan_->position() == 0) return;
  // Begun in the middle: what was loaded before is no longer in memory.
  loaded_ = plan_->loads(format);
  uint64_t record;
  for (uint64_t i = 0; i < loaded_; ++i) loads_.Next(&record);
}

bool ReadOrder::NextLoad(uint64_t* record) {
  if (weighted_) return plan_->TakeLoad(format_, record);
  if (loaded_ == plan_->loads(format_)) return false;
  ++loaded_;
  return loads_.Next(record);
}

// Whether the range has a draw of a record for which there was no read yet;
// that is then what is read.
bool ReadOrder::ClaimDraw(uint64_t record) {
  if (range_.end >= plan_->size()) return true;
  if (!range_.drawn.contains(record)) return false;
  if (!weighted_) return true;
  const auto again = range_.again.find(record);
  if (again == range_.again.end()) {
    range_.drawn.erase(record);
  } else if (--again->second == 0) {
    range_.again.erase(again);
  }
  return true;
}

uint32_t ReadOrder::FidelityNow() const {
  const PlanSpec& spec = plan_->spec();
  return std::min(fidelity_.At(plan_->position() / spec.batch_size),
                  spec.formats[format_].groups);
}

PlannedRead ReadOrder::ReadOf(uint64_t record, uint32_t fidelity) const {
  return {record, groups_.empty() ? 0 : std::min(fidelity, groups_[record]),
          plan_->position()};
}

bool ReadOrder::Serves(const PlannedRead& wanted) const {
  return at_hand_.records.contains(wanted.record) &&
         (groups_.empty() || at_hand_.groups[wanted.record] >= wanted.groups);
}

// Of a retained record, which is not read again.
bool ReadOrder::IsThere(uint64_t record) const {
  return weighted_ && retained_.contains(record) &&
         at_hand_.records.contains(record);
}

// Retained records have theirs: it is not for others until they are there.
bool ReadOrder::HasRoom(uint64_t record) const {
  if (!weighted_) return resident_ < limits_.resident;
  return retained_.contains(record) ||
         resident_ + retained_left_ < limits_.resident;
}

void ReadOrder::Arrive(const PlannedRead& read) {
  resident_ += !at_hand_.records.contains(read.record);
  if (weighted_ && retained_.contains(read.record)) --retained_left_;
  at_hand_.records.insert(read.record);
  if (!groups_.empty()) at_hand_.groups[read.record] = read.groups;
}

bool ReadOrder::Next(PlannedRead* read) {
  for (;;) {
    uint64_t record;
    while (NextLoad(&record)) {
      if (IsThere(record)) continue;
      if (!HasRoom(record)) continue;  // read at its draw
      if (!ClaimDraw(record)) continue;
      *read = ReadOf(record, FidelityNow());
      if (weighted_ && at_hand_.records.contains(record)) {
        ++more_loads_[record];
      }
      Arrive(*read);
      return true;
    }
    if (plan_->position() >= std::min(range_.end, plan_->size())) return false;
    const uint32_t fidelity = FidelityNow();
    const Draw draw = plan_->Next();
    if (draw.format != format_) continue;
    *read = ReadOf(draw.record, fidelity);
    const bool served = Serves(*read);
    if (!served) {
      Arrive(*read);
      ClaimDraw(draw.record);
    }
    Leave(draw);
    if (!served) return true;
  }
}

// What a draw leaves of its record in memory.
void ReadOrder::Leave(const Draw& draw) {
  if (weighted_ && draw.keep && retained_.contains(draw.record)) return;
  if (!weighted_ && !draw.last) return;
  const auto more = more_loads_.find(draw.record);
  if (more != more_loads_.end()) {
    if (--more->second == 0) more_loads_.erase(more);
    return;
  }
  at_hand_.records.erase(draw.record);
  --resident_;
  if (!weighted_ && draw.keep && kept_ < limits_.kept) {
    ++kept_;
    ++resident_;
  }
}

}  // namespace liquid
