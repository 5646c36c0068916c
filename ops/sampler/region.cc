#include "ops/sampler/region.h"

#include <algorithm>

namespace liquid {

Region::Region(const PlanSpec& spec, uint32_t format, int64_t epoch,
               const Size& size, const SampleSet& held)
    : shuffle_(spec.shuffle),
      random_(spec.seed, static_cast<uint64_t>(epoch), RngPurpose::kRegionDraw,
              static_cast<uint8_t>(format)),
      order_(spec, format, epoch, &held) {
  const FormatSpec& f = spec.formats[format];
  const uint64_t records = RecordCount(f);
  held_count_ = held.count();
  on_disk_ = records - held_count_;
  if (records == 0) return;
  const uint64_t fill = std::min(size.fill, records);
  capacity_ = f.cached +
              std::max(size.share, fill > f.cached ? fill - f.cached : 0) +
              size.ahead;
  const bool ramp = held_count_ < f.cached;
  const uint64_t start =
      ramp ? std::min(capacity_, std::max(fill, size.share) + size.ahead)
           : capacity_;
  if (shuffle_) {
    members_.reserve(std::min(capacity_, records));
    const uint64_t stored = StoredCount(f);
    for (uint64_t i = 0; i < records; ++i) {
      const uint64_t record = RecordAt(f, i, stored);
      if (held.contains(record)) {
        members_.push_back({static_cast<uint32_t>(record), Member::kHeld});
      }
    }
  }
  undrawn_ = held_count_;
  while (undrawn_ < start && loads_ < on_disk_) Load();
}

}  // namespace liquid
