#include "ops/sampler/weighted_source.h"

#include <algorithm>
#include <utility>

#include "ops/sampler/mixture.h"

namespace liquid {
namespace {

// Places of a cycle of `size`, as ranges that do not meet.
class Places {
 public:
  explicit Places(uint64_t size) : size_(size) {}

  void Insert(const CycleSpan& span) {
    if (size_ == 0 || span.length == 0) return;
    const uint64_t begin = span.start % size_;
    const uint64_t end = begin + std::min(span.length, size_);
    Insert(begin, std::min(end, size_));
    if (end > size_) Insert(0, end - size_);
  }
  bool contains(uint64_t place) const {
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), place,
        [](uint64_t p, const Range& range) { return p < range.begin; });
    return after != ranges_.begin() && place < std::prev(after)->end;
  }

 private:
  struct Range {
    uint64_t begin, end;
  };
  void Insert(uint64_t begin, uint64_t end) {
    const auto first =
        std::find_if(ranges_.begin(), ranges_.end(),
                     [&](const Range& range) { return range.end >= begin; });
    auto last = first;
    for (; last != ranges_.end() && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    ranges_.insert(ranges_.erase(first, last), {begin, end});
  }

  const uint64_t size_;
  std::vector<Range> ranges_;
};

// Its spans are empty: places are those of the cycle.
std::vector<CycleSpan> NoSpans(const PlanSpec& spec, size_t source) {
  return std::vector<CycleSpan>(spec.weights->sizes(source).size());
}

}  // namespace

SampleSet PinnedSamples(const PlanSpec& spec, size_t source, uint64_t most) {
  SampleSet pinned(StoredCount(spec.formats[source]));
  if (most == 0) return pinned;
  const SourceCycle cycle(spec, static_cast<uint32_t>(source),
                          NoSpans(spec, source), most);
  cycle.ForEach([&](const SourceCycle::Sample& sample) {
    if (sample.pinned) pinned.insert(sample.number);
  });
  return pinned;
}

HeldSets PinnedAt(const PlanSpec& spec, int64_t first_epoch, HeldSets held,
                  int64_t epoch) {
  std::vector<std::vector<Places>> drawn(held.size());
  bool any = false;
  for (size_t s = 0; s < held.size(); ++s) {
    any |= spec.formats[s].cached > 0;
    for (const uint64_t size : spec.weights->sizes(s))
      drawn[s].push_back(Places(size));
  }
  if (!any) return held;
  for (int64_t e = first_epoch; e < epoch; ++e) {
    const auto spans = spec.weights->Spans(e);
    for (size_t s = 0; s < held.size(); ++s) {
      for (size_t k = 0; k < spans[s].size(); ++k) {
        drawn[s][k].Insert(spans[s][k]);
      }
    }
  }
  for (size_t s = 0; s < held.size(); ++s) {
    if (spec.formats[s].cached == 0) continue;
    const SourceCycle cycle(spec, static_cast<uint32_t>(s), NoSpans(spec, s),
                            spec.formats[s].cached);
    cycle.ForEach([&](const SourceCycle::Sample& sample) {
      if (sample.pinned && drawn[s][sample.entry].contains(sample.place)) {
        held[s].insert(sample.number);
      }
    });
  }
  return held;
}

WeightedSource::WeightedSource(const PlanSpec& spec, uint32_t source,
                               int64_t epoch,
                               const std::vector<CycleSpan>& spans,
                               const SampleSet& held, SampleSet* kept)
    : spec_(spec),
      source_(source),
      epoch_(epoch),
      coming_(StoredCount(spec.formats[source])),
      cycle_(spec, source, spans, spec.formats[source].cached,
             held.count() == 0 ? nullptr : &held, &coming_),
      kept_(kept) {}

void WeightedSource::Begin(uint64_t batch_size, uint64_t size) {
  const FormatSpec& format = spec_.formats[source_];
  const auto share = [&](uint64_t draws) {
    return size == 0 ? 0 : MulDivCeil(batch_size, draws, size);
  };
  uint64_t resident = 0;
  for (const SourceCycle::Entry& entry : cycle_.entries()) {
    resident += entry.resident;
  }
  resident_ = std::make_unique<PassRegion>(
      spec_, source_, epoch_, cycle_, kept_,
      std::max(format.fill, share(resident_draws())), &loads_, &told_);
  streamed_ = std::make_unique<PassRegion>(
      spec_, source_, epoch_, cycle_, nullptr,
      std::max(share(draws() - resident_draws()),
               format.fill - std::min(format.fill, resident)),
      &loads_, &told_);
}

Draw WeightedSource::Next(bool resident) {
  if (!asked_) told_.clear();
  PassRegion& region = resident ? *resident_ : *streamed_;
  const PassRegion::Taken taken = region.Take();
  Draw draw;
  draw.format = source_;
  draw.sample = draw.record = taken.sample;
  draw.load = taken.load;
  draw.keep = resident || coming_.contains(taken.sample);
  draw.last = !draw.keep;
  if (draw.keep) kept_->insert(taken.sample);
  region.Turn();
  return draw;
}

bool WeightedSource::TakeLoad(uint64_t* sample) {
  if (taken_ == told_.size()) return false;
  *sample = told_[taken_++];
  if (taken_ == told_.size()) {
    told_.clear();
    taken_ = 0;
  }
  return true;
}

}  // namespace liquid
