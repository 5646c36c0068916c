#include "ops/sampler/pass_region.h"

#include <algorithm>

#include "ops/sampler/mixture.h"

namespace liquid {

PassRegion::PassRegion(const PlanSpec& spec, uint32_t source, int64_t epoch,
                       const SourceCycle& cycle, const SampleSet* in_memory,
                       uint64_t room, uint64_t* loads, Told* told)
    : spec_(spec),
      source_(source),
      cycle_(cycle),
      in_memory_(in_memory),
      room_(room),
      loads_(loads),
      told_(told),
      random_(spec.seed, static_cast<uint64_t>(epoch),
              resident() ? RngPurpose::kPinnedDraw : RngPurpose::kRegionDraw,
              static_cast<uint8_t>(source)),
      files_(spec.seed, static_cast<uint64_t>(epoch),
             resident() ? RngPurpose::kPinnedOrder : RngPurpose::kFileOrder,
             static_cast<uint8_t>(source)),
      repeats_random_(spec.seed, static_cast<uint64_t>(epoch),
                      RngPurpose::kRepeats, static_cast<uint8_t>(source)) {
  left_ = resident() ? cycle.resident_draws()
                     : cycle.draws() - cycle.resident_draws();
  if (left_ == 0) return;
  CountPasses();
  NextPass();
  members_.swap(waiting_);
  drawing_ = loading_;
  while (members_.size() + waiting_.size() < room_ && Load()) {
  }
  MakeReady();
}

void PassRegion::CountPasses() {
  const auto& entries = cycle_.entries();
  one_group_ = std::count_if(entries.begin(), entries.end(),
                             [](const auto& e) { return e.size > 0; }) == 1;
  for (const SourceCycle::Entry& entry : entries) {
    const uint64_t here =
        resident() ? entry.resident : entry.size - entry.resident;
    if (here == 0 || entry.span.length == 0) continue;
    if (one_group_) {
      passes_ = 1;
      while (Boundary(entry, passes_) < entry.span.length) ++passes_;
    } else {
      const uint64_t most = (entry.span.length + entry.size - 1) / entry.size;
      passes_ = std::max(passes_, std::min(most, kMostPasses));
    }
  }
}

// Of a source of one group: the draw of its span with which a pass begins.
uint64_t PassRegion::Boundary(const SourceCycle::Entry& entry,
                              uint64_t pass) const {
  if (pass == 0) return 0;
  const uint64_t first = entry.size - entry.span.start % entry.size;
  return std::min(entry.span.length, first + (pass - 1) * entry.size);
}

// Of the pass that is loaded next.
PassRegion::Parts PassRegion::PartsOf(const SourceCycle::Entry& entry) const {
  Parts parts;
  if (entry.size == 0) return parts;
  if (one_group_) {
    const uint64_t begin = Boundary(entry, loading_);
    const uint64_t end = Boundary(entry, loading_ + 1);
    // Places below the remainder have had one draw more by then.
    parts.most = {end / entry.size - begin / entry.size, begin % entry.size,
                  end % entry.size};
    return parts;
  }
  // floor(draws * (pass + 1) / passes + t) - floor(draws * pass / passes + t),
  // of the time t in places.
  const auto part = [&](uint64_t draws) {
    const uint64_t begin = draws * loading_;
    const uint64_t end = begin + draws;
    const auto place = [&](uint64_t numerator) {
      return MulDivCeil(passes_ - numerator % passes_, entry.size, passes_);
    };
    return Part{end / passes_ - begin / passes_, place(end), place(begin)};
  };
  const uint64_t draws = entry.span.length / entry.size;
  parts.below = entry.span.length % entry.size;
  parts.fewer = part(draws);
  parts.most = part(draws + 1);
  return parts;
}

void PassRegion::NextPass() {
  std::vector<Parts> parts;
  for (const SourceCycle::Entry& entry : cycle_.entries()) {
    parts.push_back(PartsOf(entry));
  }
  ++loading_;
  unwanted_ = SampleSet(StoredCount(spec_.formats[source_]));
  for (uint64_t& word : unwanted_.words()) word = ~uint64_t{0};
  repeats_.clear();
  copies_.clear();
  single_ = 0;
  cycle_.ForEach([&](const SourceCycle::Sample& s) {
    if (s.resident != resident()) return;
    const Parts& of_entry = parts[s.entry];
    const Part& part =
        one_group_ || s.place < of_entry.below ? of_entry.most : of_entry.fewer;
    const uint64_t draws = part.At(one_group_ ? s.place : s.time);
    if (draws == 0) return;
    const auto sample = static_cast<uint32_t>(s.number);
    if (resident() && in_memory_->contains(sample)) {
      Add(sample, Member::kHeld, draws);
      return;
    }
    if (draws > 1 && !resident()) {
      repeats_.insert(repeats_.end(), draws, sample);
      return;
    }
    if (draws > 1) copies_[sample] = draws;
    unwanted_.erase(sample);
    ++single_;
  });
  single_left_ = single_;
  several_ = repeats_.size();
  owed_ = several_ / 2;
  repeats_random_.Shuffle(&repeats_);
  order_ = std::make_unique<LoadOrder>(&files_, spec_, source_, &unwanted_);
}

void PassRegion::Add(uint32_t sample, uint32_t load, uint64_t copies) {
  std::vector<Member>& members = loading_ == drawing_ ? members_ : waiting_;
  members.insert(members.end(), copies, {sample, load});
}

// Loads the next sample; false where that must wait for a draw, or there is
// none.
bool PassRegion::Load() {
  while (single_left_ == 0 && repeats_.empty()) {
    // Resident ones are in memory anyway, and need not be loaded early.
    if (resident() || loading_ > drawing_ || loading_ == passes_) return false;
    NextPass();
  }
  uint64_t sample = 0;
  uint64_t copies = 1;
  owed_ += several_;
  if (single_left_ == 0 || (!repeats_.empty() && owed_ >= single_ + several_)) {
    owed_ -= std::min(owed_, single_ + several_);
    sample = repeats_.back();
    repeats_.pop_back();
  } else {
    order_->Next(&sample);
    --single_left_;
    if (resident()) {
      const auto found = copies_.find(static_cast<uint32_t>(sample));
      if (found != copies_.end()) copies = found->second;
    }
  }
  Add(static_cast<uint32_t>(sample), static_cast<uint32_t>(*loads_), copies);
  ++*loads_;
  told_->push_back(static_cast<uint32_t>(sample));
  return true;
}

// Goes on to the pass that has the next draw, and loads one of its samples.
void PassRegion::MakeReady() {
  while (left_ > 0 && members_.empty()) {
    if (loading_ > drawing_) {
      members_.swap(waiting_);
      ++drawing_;
    } else if (!Load()) {
      NextPass();  // of resident samples, this one being over
    }
  }
}

PassRegion::Taken PassRegion::Take() {
  Member& member = members_[random_.Below(members_.size())];
  const Taken taken = {member.sample, member.load == Member::kHeld
                                          ? int64_t{-1}
                                          : int64_t{member.load}};
  member = members_.back();
  members_.pop_back();
  --left_;
  return taken;
}

void PassRegion::Turn() {
  for (int i = 0; i < 2; ++i) {
    const uint64_t undrawn = members_.size() + waiting_.size();
    if (!resident() && undrawn >= room_) break;
    if (!Load()) break;
  }
  MakeReady();
}

}  // namespace liquid
