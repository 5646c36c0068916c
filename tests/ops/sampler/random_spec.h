// Specs to plan, of every shape that has a special case.
#ifndef LIQUID_TESTS_OPS_SAMPLER_RANDOM_SPEC_H_
#define LIQUID_TESTS_OPS_SAMPLER_RANDOM_SPEC_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/core/rng.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/weights.h"

namespace liquid {

// A stream for tests: a pure function of `seed`.
inline RandomStream TestStream(uint64_t seed) {
  return RandomStream(seed, 0, RngPurpose::kBatchOrder);
}

// 1 to 5 formats of at most `most` samples each. Empty and one-sample formats,
// empty files, nothing and everything cached, fills of any size and batches
// larger than the dataset are all likely.
inline PlanSpec RandomSpec(RandomStream* random, uint64_t most) {
  PlanSpec spec;
  spec.seed = random->Next();
  spec.formats.resize(1 + random->Below(5));
  uint64_t total = 0;
  for (FormatSpec& format : spec.formats) {
    uint64_t samples = random->Below(most + 1);
    if (random->Below(6) == 0) samples = random->Below(2);
    total += samples;
    uint64_t left = samples;
    const uint64_t files = 1 + random->Below(12);
    for (uint64_t i = 1; i < files; ++i) {
      format.files.push_back(random->Below(left / 2 + 1));
      left -= format.files.back();
    }
    format.files.push_back(left);
    switch (random->Below(4)) {
      case 0:
        format.cached = 0;
        break;
      case 1:
        format.cached = samples;
        break;
      default:
        format.cached = random->Below(samples + 1);
    }
    format.fill = random->Below(2) == 0 ? 0 : random->Below(samples + 10);
  }
  spec.batch_size =
      1 + random->Below(random->Below(4) == 0 ? 2 * total + 2 : total / 8 + 1);
  return spec;
}

// Gives the samples of a spec weights, as those of one dataset or of several,
// each with groups that its formats share, or with one. Shares of nothing, of
// less than a sample and of many draws are likely. False where there is nothing
// to draw.
inline bool Weigh(RandomStream* random, PlanSpec* spec,
                  Weights::Options* made) {
  Weights::Options& options = *made;
  uint64_t total = 0;
  std::vector<uint64_t> sizes;
  uint32_t first = 0;
  uint32_t groups = 0;
  for (size_t f = 0; f < spec->formats.size(); ++f) {
    if (f == 0 || random->Below(2) == 0) {  // another dataset's
      first += groups;
      const uint64_t kinds[] = {1, 1 + random->Below(4), 1 + random->Below(30)};
      groups = static_cast<uint32_t>(kinds[random->Below(3)]);
      sizes.resize(first + groups);
    }
    SourceGroups source;
    source.first = first;
    source.samples = SampleCount(spec->formats[f]);
    for (uint64_t i = 0; groups > 1 && i < source.samples; ++i) {
      // Early groups are larger.
      const uint64_t below = 1 + random->Below(groups);
      source.entries.push_back(static_cast<uint16_t>(random->Below(below)));
      ++sizes[first + source.entries.back()];
    }
    if (groups == 1) sizes[first] += source.samples;
    total += source.samples;
    options.sources.push_back(std::move(source));
  }
  bool any = false;
  for (const uint64_t size : sizes) {
    const uint64_t shares[] = {size, size * (1 + random->Below(9)), 7,
                               random->Below(50), random->Next() >> 16};
    const uint64_t share = size == 0 ? 0 : shares[random->Below(5)];
    options.shares.push_back(share);
    any |= share > 0;
  }
  if (!any) return false;
  const uint64_t draws[] = {total, 1 + random->Below(3 * total + 1),
                            1 + random->Below(20)};
  options.samples_per_epoch = draws[random->Below(3)];
  return Weights::Create(options, &spec->weights).ok();
}

// Makes the samples of a format records of many: of one size with a shorter one
// at the end of each file, or of any sizes.
inline void GroupIntoRecords(RandomStream* random, FormatSpec* format) {
  const bool equal = random->Below(2) == 0;
  const uint64_t size = 1 + random->Below(12);
  for (uint64_t& in_file : format->files) {
    uint64_t records = 0;
    for (uint64_t left = in_file; left > 0; ++records) {
      const uint64_t samples =
          std::min(left, equal ? size : 1 + random->Below(size));
      format->record_samples.push_back(static_cast<uint32_t>(samples));
      left -= samples;
    }
    in_file = records;
  }
  format->cached = std::min(format->cached, RecordCount(*format));
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_SAMPLER_RANDOM_SPEC_H_
