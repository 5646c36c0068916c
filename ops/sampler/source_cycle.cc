#include "ops/sampler/source_cycle.h"

#include <numeric>

#include "ops/core/rng.h"

namespace liquid {
namespace {

// 2^64 times the fractional parts of the golden section and of the roots of 2
// and 3: runs of their multiples are spread evenly, by themselves and together.
constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
constexpr uint64_t kRootOf2 = 0x6A09E667F3BCC908;
constexpr uint64_t kRootOf3 = 0xBB67AE8584CAA73B;

// About `part` / 2^64 of n, and a step that meets all of n places.
uint64_t StepOf(uint64_t n, uint64_t part) {
  auto step =
      static_cast<uint64_t>(static_cast<unsigned __int128>(n) * part >> 64);
  while (std::gcd(step, n) != 1) ++step;
  return step % n;
}

}  // namespace

SourceCycle::SourceCycle(const PlanSpec& spec, uint32_t source,
                         const std::vector<CycleSpan>& spans, uint64_t pinned,
                         const SampleSet* held, SampleSet* coming)
    : weights_(spec.weights.get()), source_(source), held_(held) {
  const std::vector<uint64_t>& sizes = weights_->sizes(source);
  const std::vector<CycleSpan>& first = weights_->first_spans()[source];
  const std::vector<uint64_t> greatest = weights_->Greatest(source, pinned);
  for (size_t k = 0; k < sizes.size(); ++k) {
    Entry entry;
    entry.size = sizes[k];
    entry.span = spans[k];
    entry.pinned = greatest[k];
    if (entry.size > 0) {
      RandomStream random(spec.seed, k, RngPurpose::kCycle,
                          static_cast<uint8_t>(source));
      const uint64_t n = entry.size;
      entry.cycle = {random.Below(n), StepOf(n, kGolden)};
      entry.pinning = {random.Below(n), StepOf(n, kRootOf2)};
      entry.time = {random.Below(n), StepOf(n, kRootOf3)};
      if (weights_->HasFixedParts(source, k)) {
        // What this worker draws in every epoch, before what others do.
        entry.pinning = {Behind(entry, entry.cycle.first, first[k].start),
                         entry.cycle.step};
      }
      draws_ += entry.span.length;
    }
    entries_.push_back(entry);
  }
  if (pinned == 0) return;
  ForEach([this, coming](const Sample& sample) {
    if (!sample.resident) {
      if (sample.pinned && coming != nullptr) coming->insert(sample.number);
      return;
    }
    Entry& entry = entries_[sample.entry];
    ++entry.resident;
    resident_draws_ += entry.span.length / entry.size +
                       (sample.place < entry.span.length % entry.size);
  });
}

}  // namespace liquid
