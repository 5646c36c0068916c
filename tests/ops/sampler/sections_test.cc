// Formats that share samples: sections of them, other ones in each epoch.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::sections_test {
namespace {

using testing::HasSubstr;

// Cuts `samples` into files.
std::vector<uint64_t> Files(RandomStream* random, uint64_t samples) {
  std::vector<uint64_t> files;
  for (; samples > 0; samples -= files.back()) {
    files.push_back(1 + random->Below(samples));
  }
  return files;
}

// Every format has all of `samples`, and none has a section yet.
PlanSpec Replicas(RandomStream* random, uint64_t samples) {
  PlanSpec spec;
  spec.seed = random->Next();
  spec.batch_size = 1 + random->Below(samples / 8 + 1);
  spec.formats.resize(1 + random->Below(4));
  for (FormatSpec& format : spec.formats) {
    format.files = Files(random, samples);
  }
  return spec;
}

// Gives each format a section, one behind the other, with caches of any size.
void Cut(RandomStream* random, uint64_t samples, PlanSpec* spec) {
  uint64_t first = 0;
  for (FormatSpec& format : spec->formats) {
    const bool last = &format == &spec->formats.back();
    format.first = first;
    format.count = last ? samples - first : random->Below(samples - first + 1);
    format.fill = random->Below(format.count + 1);
    const uint64_t cached[] = {0, format.count,
                               random->Below(format.count + 1)};
    format.cached = cached[random->Below(3)];
    first += format.count;
  }
}

std::unique_ptr<EpochPlan> Plan(const PlanSpec& spec, int64_t epoch,
                                const HeldSets& held) {
  std::unique_ptr<EpochPlan> plan;
  const Status made = EpochPlan::Create(std::make_shared<const PlanSpec>(spec),
                                        epoch, held, &plan);
  EXPECT_TRUE(made.ok()) << made.message();
  return plan;
}

TEST(PartsTest, EverySampleOnceInEveryEpochWhateverTheParts) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random = TestStream(seed);
    const uint64_t samples = 1 + random.Below(200);
    PlanSpec spec = Replicas(&random, samples);
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      Cut(&random, samples, &spec);
      held = CarryOver(spec, held);
      const auto plan = Plan(spec, epoch, held);
      ASSERT_EQ(plan->size(), samples);
      std::vector<int> drawn(samples);
      std::vector<uint64_t> loads(spec.formats.size());
      while (plan->position() < plan->size()) {
        const Draw draw = plan->Next();
        const FormatSpec& format = spec.formats[draw.format];
        ASSERT_GE(draw.sample, format.first);
        ASSERT_LT(draw.sample, format.first + format.count);
        ++drawn[draw.sample];
        EXPECT_EQ(draw.load == Draw::kHeld,
                  held[draw.format].contains(draw.sample));
        loads[draw.format] += draw.load != Draw::kHeld;
      }
      EXPECT_THAT(drawn, testing::Each(1)) << "seed " << seed;
      for (size_t f = 0; f < spec.formats.size(); ++f) {
        EXPECT_EQ(plan->kept()[f].count(), spec.formats[f].cached);
        EXPECT_EQ(loads[f], spec.formats[f].count - held[f].count());
        EXPECT_EQ(plan->loads(f), loads[f]);
      }
      held = plan->kept();
    }
  }
}

TEST(PartsTest, WhatIsHeldIsBounded) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random = TestStream(1000 + seed);
    const uint64_t samples = 100 + random.Below(200);
    PlanSpec spec = Replicas(&random, samples);
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      Cut(&random, samples, &spec);
      held = CarryOver(spec, held);
      const auto plan = Plan(spec, epoch, held);
      std::vector<uint64_t> drawn(spec.formats.size());
      std::vector<uint64_t> kept(spec.formats.size());
      while (plan->position() < plan->size()) {
        for (uint32_t f = 0; f < spec.formats.size(); ++f) {
          const FormatSpec& format = spec.formats[f];
          const uint64_t share =
              (std::min(spec.batch_size, samples) * format.count + samples -
               1) /
              samples;
          const uint64_t slack = std::max(
              share, format.fill - std::min(format.fill, format.cached));
          const uint64_t resident =
              held[f].count() + plan->loads(f) - drawn[f] + kept[f];
          EXPECT_LE(resident, format.cached + slack);
        }
        const Draw draw = plan->Next();
        ++drawn[draw.format];
        kept[draw.format] += draw.keep;
      }
      held = plan->kept();
    }
  }
}

TEST(PartsTest, APartIsPlannedAsAFormatOfItsOwn) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random = TestStream(2000 + seed);
    const uint64_t samples = 1 + random.Below(300);
    PlanSpec sections = Replicas(&random, samples);
    Cut(&random, samples, &sections);
    PlanSpec own = sections;
    for (FormatSpec& format : own.formats) {
      std::vector<uint64_t> files;
      uint64_t at = 0;
      for (const uint64_t in_file : format.files) {
        const uint64_t begin = std::max(at, format.first);
        const uint64_t end =
            std::min(at += in_file, format.first + format.count);
        if (begin < end) files.push_back(end - begin);
      }
      format.files = files;
      format.first = 0;
      format.count = FormatSpec::kWhole;
    }
    HeldSets held = NothingHeld(sections), own_held = NothingHeld(own);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto plan = Plan(sections, epoch, held);
      const auto expected = Plan(own, epoch, own_held);
      while (plan->position() < plan->size()) {
        Draw draw = plan->Next();
        draw.sample -= sections.formats[draw.format].first;
        draw.record = draw.sample;
        ASSERT_EQ(draw, expected->Next());
      }
      held = CarryOver(sections, plan->kept());
      EXPECT_EQ(held, plan->kept());
      own_held = expected->kept();
    }
    HeldSets later;
    const auto shared = std::make_shared<const PlanSpec>(sections);
    ASSERT_TRUE(HeldAt(shared, 0, NothingHeld(sections), 3, &later).ok());
    EXPECT_EQ(later, held);
  }
}

TEST(PartsTest, CarriedSamplesAreSpreadOverThePart) {
  PlanSpec spec;
  spec.formats = {{{100}, 10, 0}};
  spec.formats[0].first = 20;
  spec.formats[0].count = 60;
  HeldSets kept = NothingHeld(spec);
  for (uint64_t i = 0; i < 100; i += 2) kept[0].insert(i);
  const HeldSets held = CarryOver(spec, kept);
  std::vector<uint64_t> found;
  for (uint64_t i = 0; i < 100; ++i) {
    if (held[0].contains(i)) found.push_back(i);
  }
  EXPECT_THAT(found,
              testing::ElementsAre(20, 26, 32, 38, 44, 50, 56, 62, 68, 74));
}

// The same records of many samples at two or three fidelities. A section begins
// where the one before it ends, and goes on at the first record.
PlanSpec Fidelities(RandomStream* random) {
  PlanSpec spec;
  spec.seed = random->Next();
  const uint64_t records = 3 + random->Below(40);
  FormatSpec format;
  format.files.assign(records, 1);
  for (uint64_t i = 0; i < records; ++i) {
    format.record_samples.push_back(
        static_cast<uint32_t>(1 + random->Below(9)));
  }
  spec.formats.assign(2 + random->Below(2), format);
  spec.batch_size = 1 + random->Below(SampleCount(format) / 4 + 1);
  return spec;
}

void CutFrom(RandomStream* random, uint64_t first, PlanSpec* spec) {
  const uint64_t records = StoredCount(spec->formats[0]);
  uint64_t left = records;
  uint64_t after = spec->formats.size();
  for (FormatSpec& format : spec->formats) {
    --after;
    format.first = first % records;
    format.count = after == 0 ? left : 1 + random->Below(left - after);
    const uint64_t cached[] = {0, format.count,
                               random->Below(format.count + 1)};
    format.cached = cached[random->Below(3)];
    format.fill = random->Below(SampleCount(format) + 1);
    first += format.count;
    left -= format.count;
  }
}

bool InPart(const FormatSpec& format, uint64_t record) {
  const uint64_t stored = StoredCount(format);
  return (record + stored - format.first) % stored < format.count;
}

// Runs epochs, each of sections that `cut` makes: every sample once, in batches
// of one composition.
void ExpectFair(PlanSpec spec, const std::function<void(PlanSpec*)>& cut) {
  const uint64_t samples = SampleCount(spec.formats[0]);
  HeldSets held = NothingHeld(spec);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    cut(&spec);
    held = CarryOver(spec, held);
    const auto plan = Plan(spec, epoch, held);
    ASSERT_EQ(plan->size(), samples);
    std::vector<int> drawn(samples);
    std::vector<std::vector<uint64_t>> of_batch(spec.formats.size());
    while (plan->position() < plan->size()) {
      const bool full = samples - plan->position() >= spec.batch_size;
      std::vector<uint64_t> counts(spec.formats.size());
      for (uint64_t i = 0; i < spec.batch_size; ++i) {
        if (plan->position() == plan->size()) break;
        const Draw draw = plan->Next();
        ASSERT_TRUE(InPart(spec.formats[draw.format], draw.record));
        EXPECT_EQ(draw.load == Draw::kHeld,
                  held[draw.format].contains(draw.record));
        ++drawn[draw.sample];
        ++counts[draw.format];
      }
      for (size_t f = 0; full && f < counts.size(); ++f) {
        of_batch[f].push_back(counts[f]);
      }
    }
    EXPECT_THAT(drawn, testing::Each(1));
    for (size_t f = 0; f < spec.formats.size(); ++f) {
      EXPECT_EQ(plan->kept()[f].count(), spec.formats[f].cached);
      const auto& counts = of_batch[f];
      if (counts.empty()) continue;
      const auto [least, most] =
          std::minmax_element(counts.begin(), counts.end());
      EXPECT_LE(*most - *least, 1u);
    }
    held = plan->kept();
  }
}

TEST(PartsTest, EverySampleOfRecordsOnceInBatchesOfOneComposition) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random = TestStream(3000 + seed);
    ExpectFair(Fidelities(&random), [&random](PlanSpec* spec) {
      CutFrom(&random, random.Next() % 1000, spec);
    });
  }
}

// Formats that share samples; of the first, records have many of them.
PlanSpec BesideRecords(RandomStream* random) {
  PlanSpec spec = Fidelities(random);
  const uint64_t samples = SampleCount(spec.formats[0]);
  for (size_t f = 1; f < spec.formats.size(); ++f) {
    spec.formats[f] = FormatSpec();
    spec.formats[f].files = Files(random, samples);
  }
  return spec;
}

// Sections of these formats: of the first any number of records, of the others
// any of the samples that are left.
void CutBeside(RandomStream* random, PlanSpec* spec) {
  const std::vector<uint32_t>& records = spec->formats[0].record_samples;
  const uint64_t all = StoredCount(spec->formats[1]);
  const uint64_t taken = random->Below(records.size() + 1);
  std::vector<int64_t> samples = {0};
  for (uint64_t r = 0; r < taken; ++r) samples[0] += records[r];
  auto left = static_cast<int64_t>(all) - samples[0];
  while (samples.size() + 1 < spec->formats.size()) {
    samples.push_back(
        static_cast<int64_t>(random->Below(static_cast<uint64_t>(left) + 1)));
    left -= samples.back();
  }
  samples.push_back(left);
  const Status cut = CutSections(samples, spec);
  ASSERT_TRUE(cut.ok()) << cut.message();
  for (size_t f = 0; f < samples.size(); ++f) {
    FormatSpec& format = spec->formats[f];
    EXPECT_EQ(SampleCount(format), static_cast<uint64_t>(samples[f]));
    const uint64_t cached[] = {0, format.count,
                               random->Below(format.count + 1)};
    format.cached = cached[random->Below(3)];
    format.fill = random->Below(SampleCount(format) + 1);
  }
}

TEST(PartsTest, EverySampleOnceWhereOneFormatHasRecordsOfMany) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random = TestStream(5000 + seed);
    ExpectFair(BesideRecords(&random),
               [&random](PlanSpec* spec) { CutBeside(&random, spec); });
  }
}

TEST(PartsTest, PartsAreCutAtRecords) {
  PlanSpec spec;
  spec.formats = {{{10}, 0, 0}, {{1, 1, 1}, 0, 0, {4, 3, 3}}, {{5, 5}, 0, 0}};
  ASSERT_TRUE(CutSections({4, 3, 3}, &spec).ok());
  EXPECT_EQ(spec.formats[0].count, 4u);
  EXPECT_EQ(spec.formats[1].first, 1u);
  EXPECT_EQ(spec.formats[1].count, 1u);
  EXPECT_EQ(spec.formats[2].first, 7u);
  EXPECT_EQ(spec.formats[2].count, 3u);
  // None of them begins anywhere.
  ASSERT_TRUE(CutSections({5, 0, 5}, &spec).ok());
  EXPECT_EQ(spec.formats[1].count, 0u);
  EXPECT_TRUE(Validate(spec).ok());
  EXPECT_EQ(Plan(spec, 0, NothingHeld(spec))->size(), 10u);
  EXPECT_THAT(CutSections({5, 2, 3}, &spec).message(),
              HasSubstr("(2 samples of format 1) must be of whole records"));
  EXPECT_THAT(CutSections({4, 4, 2}, &spec).message(),
              HasSubstr("(4 samples of format 1) must be of whole records"));
  EXPECT_THAT(CutSections({4, 3, 4}, &spec).message(), HasSubstr("sum to 10"));
  EXPECT_THAT(CutSections({4, 3, -1}, &spec).message(),
              HasSubstr("at least 0"));
  EXPECT_THAT(CutSections({4, 3, 2}, &spec).message(),
              HasSubstr("all that formats share, 10"));
}

TEST(PartsTest, APartOfAllRecordsIsPlannedAsTheWhole) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random = TestStream(4000 + seed);
    PlanSpec whole = Fidelities(&random);
    whole.formats.resize(1);
    whole.formats[0].cached = random.Below(RecordCount(whole.formats[0]) + 1);
    whole.formats[0].fill = random.Below(20);
    PlanSpec section = whole;
    section.formats[0].count = RecordCount(whole.formats[0]);
    section.formats[0].groups = 2;
    HeldSets held = NothingHeld(whole);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto expected = Plan(whole, epoch, held);
      const auto found = Plan(section, epoch, held);
      while (expected->position() < expected->size()) {
        ASSERT_EQ(found->Next(), expected->Next());
      }
      held = expected->kept();
    }
  }
}

TEST(PartsTest, APartGoesOnAtTheFirstRecord) {
  PlanSpec spec;
  spec.formats = {{{4, 3, 3}, 3, 0}};
  spec.formats[0].first = 8;
  spec.formats[0].count = 5;
  const auto plan = Plan(spec, 0, NothingHeld(spec));
  std::vector<uint64_t> drawn;
  while (plan->position() < plan->size()) drawn.push_back(plan->Next().sample);
  EXPECT_THAT(drawn, testing::UnorderedElementsAre(8, 9, 0, 1, 2));
  spec.formats[0].cached = 5;
  HeldSets held;
  const auto shared = std::make_shared<const PlanSpec>(spec);
  ASSERT_TRUE(HeldAt(shared, 0, NothingHeld(spec), 2, &held).ok());
  EXPECT_EQ(held[0].words()[0], 0b1100000111u);
  // Of them, those of the next epoch's section.
  spec.formats[0].first = 9;
  spec.formats[0].count = 2;
  spec.formats[0].cached = 2;
  EXPECT_EQ(CarryOver(spec, held)[0].words()[0], 0b1000000001u);
}

TEST(PartsTest, WhatCannotBeIsNamed) {
  PlanSpec spec;
  spec.formats = {{{10, 10}, 0, 0}};
  spec.formats[0].first = 15;
  spec.formats[0].count = 21;
  EXPECT_THAT(Validate(spec).message(), HasSubstr("formats[0].count (21)"));
  spec.formats[0].count = 6;
  EXPECT_TRUE(Validate(spec).ok());
  spec.formats[0].count = 5;
  EXPECT_TRUE(Validate(spec).ok());
  spec.formats[0].cached = 6;
  EXPECT_THAT(Validate(spec).message(), HasSubstr("formats[0].cached (6)"));
  spec.formats[0].cached = 5;
  HeldSets held = NothingHeld(spec);
  held[0].insert(14);
  EXPECT_THAT(ValidateHeld(spec, held).message(),
              HasSubstr("format's section"));
  held = NothingHeld(spec);
  held[0].insert(16);
  EXPECT_TRUE(ValidateHeld(spec, held).ok());
  spec.shuffle = false;
  EXPECT_THAT(Validate(spec).message(), HasSubstr("shuffle is off"));
}

}  // namespace
}  // namespace liquid::sections_test
