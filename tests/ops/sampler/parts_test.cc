// Formats that share samples: parts of them, other ones in each epoch.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid {
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

// Every format has all of `samples`, and none has a part yet.
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

// Gives each format a part, one behind the other, with caches of any size.
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
    PlanSpec parts = Replicas(&random, samples);
    Cut(&random, samples, &parts);
    PlanSpec own = parts;
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
    HeldSets held = NothingHeld(parts), own_held = NothingHeld(own);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto plan = Plan(parts, epoch, held);
      const auto expected = Plan(own, epoch, own_held);
      while (plan->position() < plan->size()) {
        Draw draw = plan->Next();
        draw.sample -= parts.formats[draw.format].first;
        draw.record = draw.sample;
        ASSERT_EQ(draw, expected->Next());
      }
      held = CarryOver(parts, plan->kept());
      EXPECT_EQ(held, plan->kept());
      own_held = expected->kept();
    }
    HeldSets later;
    const auto shared = std::make_shared<const PlanSpec>(parts);
    ASSERT_TRUE(HeldAt(shared, 0, NothingHeld(parts), 3, &later).ok());
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

TEST(PartsTest, WhatCannotBeIsNamed) {
  PlanSpec spec;
  spec.formats = {{{10, 10}, 0, 0}};
  spec.formats[0].first = 15;
  spec.formats[0].count = 6;
  EXPECT_THAT(Validate(spec).message(), HasSubstr("formats[0].count (6)"));
  spec.formats[0].count = 5;
  EXPECT_TRUE(Validate(spec).ok());
  spec.formats[0].cached = 6;
  EXPECT_THAT(Validate(spec).message(), HasSubstr("formats[0].cached (6)"));
  spec.formats[0].cached = 5;
  HeldSets held = NothingHeld(spec);
  held[0].insert(14);
  EXPECT_THAT(ValidateHeld(spec, held).message(), HasSubstr("format's part"));
  held = NothingHeld(spec);
  held[0].insert(16);
  EXPECT_TRUE(ValidateHeld(spec, held).ok());
  spec.shuffle = false;
  EXPECT_THAT(Validate(spec).message(), HasSubstr("shuffle is off"));
}

}  // namespace
}  // namespace liquid
