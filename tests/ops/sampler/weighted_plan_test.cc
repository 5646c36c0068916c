// Plans of weighted samples, beside plain counts.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/weighted_source.h"
#include "ops/sampler/weights.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::weighted_plan_test {
namespace {

using testing::HasSubstr;
using Wide = unsigned __int128;
using Counts = std::vector<std::vector<uint64_t>>;  // by source and sample

std::unique_ptr<EpochPlan> MakePlan(const PlanSpec& spec, int64_t epoch,
                                    HeldSets held) {
  std::unique_ptr<EpochPlan> plan;
  const Status status = EpochPlan::Create(
      std::make_shared<const PlanSpec>(spec), epoch, std::move(held), &plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

std::vector<Draw> DrawAll(EpochPlan* plan) {
  std::vector<Draw> draws;
  while (plan->position() < plan->size()) draws.push_back(plan->Next());
  return draws;
}

Counts NoCounts(const PlanSpec& spec) {
  Counts counts;
  for (const FormatSpec& f : spec.formats) counts.emplace_back(SampleCount(f));
  return counts;
}

bool IsRounded(uint64_t value, Wide numerator, Wide denominator) {
  const auto floor = static_cast<uint64_t>(numerator / denominator);
  return value == floor || (numerator % denominator != 0 && value == floor + 1);
}

// The options of a spec's weights, from which a test computes shares itself.
struct Shares {
  uint64_t draws = 0;
  std::vector<uint64_t> of_group, group_size;
  Counts group;  // of each sample
  uint64_t total = 0;

  Shares(const PlanSpec& spec, const Weights::Options& options)
      : draws(options.samples_per_epoch),
        of_group(options.shares),
        group_size(options.shares.size()) {
    for (const uint64_t share : of_group) total += share;
    for (size_t s = 0; s < spec.formats.size(); ++s) {
      group.emplace_back();
      const SourceGroups& source = options.sources[s];
      for (uint64_t i = 0; i < source.samples; ++i) {
        group[s].push_back(source.first +
                           (source.entries.empty() ? 0 : source.entries[i]));
        ++group_size[group[s].back()];
      }
    }
  }

  // Counts of `epochs` epochs of all workers.
  void Check(const Counts& counts, uint64_t epochs) const {
    std::vector<uint64_t> groups(of_group.size());
    for (size_t s = 0; s < counts.size(); ++s) {
      for (size_t i = 0; i < counts[s].size(); ++i) {
        const uint64_t g = group[s][i];
        groups[g] += counts[s][i];
        const Wide share = static_cast<Wide>(draws) * epochs * of_group[g];
        ASSERT_TRUE(IsRounded(counts[s][i], share,
                              static_cast<Wide>(total) * group_size[g]))
            << "sample " << i << " of source " << s << ": " << counts[s][i];
      }
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      const Wide share = static_cast<Wide>(draws) * epochs * of_group[g];
      ASSERT_TRUE(IsRounded(groups[g], share, total)) << "group " << g;
    }
  }
};

void Add(const Counts& counts, Counts* sum) {
  for (size_t s = 0; s < counts.size(); ++s) {
    for (size_t i = 0; i < counts[s].size(); ++i) (*sum)[s][i] += counts[s][i];
  }
}

// Of a source in an epoch: what is in memory, as loads and draws say.
struct Memory {
  bool fills = false;
  SampleSet pinned;
  SampleSet held;                // when the epoch began, and loaded since
  std::vector<uint64_t> copies;  // loaded and not drawn, of others
  std::vector<uint64_t> loaded;  // samples, in order
  uint64_t in_memory = 0, most = 0;
};

// Draws an epoch, loading what the plan says, and checks that each draw finds
// its sample, that batches are even and that what stays is what was drawn.
Counts CheckEpoch(const PlanSpec& spec, int64_t epoch, HeldSets* held) {
  const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, *held);
  const size_t sources = spec.formats.size();
  Counts counts = NoCounts(spec);
  std::vector<Memory> memory(sources);
  for (uint32_t s = 0; s < sources; ++s) {
    memory[s].pinned = PinnedSamples(spec, s, spec.formats[s].cached);
    memory[s].held = (*held)[s];
    memory[s].fills = (*held)[s].count() == 0;
    memory[s].copies.resize(SampleCount(spec.formats[s]));
    plan->TellLoads(s);
  }
  std::vector<std::vector<BatchPart>> batches;
  const uint64_t batch = std::clamp<uint64_t>(
      spec.batch_size, 1, std::max<uint64_t>(plan->size(), 1));
  HeldSets kept = *held;
  for (uint64_t i = 0; i < plan->size(); ++i) {
    for (uint32_t s = 0; s < sources; ++s) {
      Memory& m = memory[s];
      for (uint64_t sample; plan->TakeLoad(s, &sample);) {
        m.loaded.push_back(sample);
        if (m.pinned.contains(sample)) {
          // Where it comes after the epoch that fills memory, it may come
          // twice.
          EXPECT_TRUE(!m.fills || !m.held.contains(sample)) << "loaded twice";
          EXPECT_FALSE((*held)[s].contains(sample));
          m.held.insert(sample);
        } else {
          ++m.copies[sample];
          m.most = std::max(m.most, ++m.in_memory);
        }
      }
      EXPECT_EQ(m.loaded.size(), plan->loads(s));
    }
    if (i % batch == 0) batches.emplace_back(sources);
    const uint32_t peeked = plan->PeekFormat();
    const Draw draw = plan->Next();
    EXPECT_EQ(draw.format, peeked);
    EXPECT_EQ(draw.record, draw.sample);
    EXPECT_EQ(draw.last, !draw.keep);
    Memory& m = memory[draw.format];
    EXPECT_EQ(draw.keep, m.pinned.contains(draw.sample));
    if (draw.keep) {
      kept[draw.format].insert(draw.sample);
    }
    if (draw.load != Draw::kHeld) {
      EXPECT_LT(draw.load, static_cast<int64_t>(m.loaded.size()));
      EXPECT_EQ(m.loaded[draw.load], draw.sample);
    } else {
      EXPECT_TRUE(draw.keep);
    }
    if (draw.keep) {
      EXPECT_TRUE(m.held.contains(draw.sample));
    } else {
      EXPECT_GT(m.copies[draw.sample], 0u) << "drawn before its load";
      --m.copies[draw.sample];
      --m.in_memory;
    }
    ++counts[draw.format][draw.sample];
    BatchPart& part = batches.back()[draw.format];
    ++part.drawn;
    part.kept +=
        m.fills ? draw.keep : (*held)[draw.format].contains(draw.sample);
    if (testing::Test::HasFailure()) return counts;
  }
  EXPECT_TRUE(plan->kept() == kept);
  // Full batches are even to one: draws, those in memory and those that load.
  const uint64_t full = plan->size() / batch;
  for (size_t s = 0; s < sources && full > 1; ++s) {
    std::vector<uint64_t> drawn, pinned, loads;
    for (uint64_t b = 0; b < full; ++b) {
      const BatchPart& part = batches[b][s];
      drawn.push_back(part.drawn);
      pinned.push_back(part.kept);
      loads.push_back(part.drawn - part.kept);
    }
    for (const auto& numbers : {drawn, pinned, loads}) {
      const auto [least, most] =
          std::minmax_element(numbers.begin(), numbers.end());
      EXPECT_LE(*most - *least, 1u) << "source " << s;
    }
    const uint64_t share = *std::max_element(loads.begin(), loads.end()) + 1;
    EXPECT_LE(memory[s].most, std::max(share, spec.formats[s].fill));
  }
  *held = plan->kept();
  return counts;
}

TEST(WeightedPlanTest, CountsAreRoundedSharesInEachEpochAndInAll) {
  RandomStream random = TestStream(1);
  int planned = 0;
  for (int i = 0; i < 400; ++i) {
    PlanSpec spec = RandomSpec(&random, i % 10 == 0 ? 2000 : 120);
    Weights::Options options;
    if (!Weigh(&random, &spec, &options)) continue;
    ++planned;
    const Shares shares(spec, options);
    Counts all = NoCounts(spec);
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      const Counts counts = CheckEpoch(spec, epoch, &held);
      if (HasFailure()) FAIL() << "case " << i << ", epoch " << epoch;
      Add(counts, &all);
      shares.Check(counts, 1);
      shares.Check(all, static_cast<uint64_t>(epoch) + 1);
      if (HasFailure()) FAIL() << "case " << i << ", epoch " << epoch;
      HeldSets replayed;
      ASSERT_TRUE(HeldAt(std::make_shared<const PlanSpec>(spec), 0,
                         NothingHeld(spec), epoch + 1, &replayed)
                      .ok());
      ASSERT_TRUE(replayed == held);
    }
  }
  EXPECT_GT(planned, 300);
}

TEST(WeightedPlanTest, WorkersTogetherDrawTheEpoch) {
  RandomStream random = TestStream(2);
  for (int i = 0; i < 150; ++i) {
    PlanSpec spec = RandomSpec(&random, 150);
    Weights::Options options;
    if (!Weigh(&random, &spec, &options)) continue;
    const Shares shares(spec, options);
    const uint64_t workers = 1 + random.Below(6);
    std::vector<PlanSpec> specs(workers, spec);
    std::vector<HeldSets> held(workers, NothingHeld(spec));
    for (uint64_t w = 0; w < workers; ++w) {
      options.worker = w;
      options.workers = workers;
      options.policy = PartPolicy::kUneven;
      ASSERT_TRUE(Weights::Create(options, &specs[w].weights).ok());
    }
    Counts all = NoCounts(spec);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      Counts counts = NoCounts(spec);
      std::vector<Counts> parts;
      uint64_t least = UINT64_MAX, most = 0;
      for (uint64_t w = 0; w < workers; ++w) {
        parts.push_back(CheckEpoch(specs[w], epoch, &held[w]));
        Add(parts.back(), &counts);
        least = std::min(least, EpochSize(specs[w]));
        most = std::max(most, EpochSize(specs[w]));
      }
      EXPECT_LE(most - least, 1u);
      Add(counts, &all);
      shares.Check(counts, 1);
      shares.Check(all, static_cast<uint64_t>(epoch) + 1);
      // Of a sample each worker has the floor or the ceiling of its part.
      for (size_t s = 0; s < counts.size(); ++s) {
        for (size_t k = 0; k < counts[s].size(); ++k) {
          for (const Counts& part : parts) {
            EXPECT_TRUE(IsRounded(part[s][k], counts[s][k], workers));
          }
        }
      }
      if (HasFailure()) FAIL() << "case " << i << ", epoch " << epoch;
    }
  }
}

TEST(WeightedPlanTest, PadAndDropMakeWorkersEqual) {
  RandomStream random = TestStream(3);
  for (int i = 0; i < 100; ++i) {
    PlanSpec spec = RandomSpec(&random, 80);
    Weights::Options options;
    if (!Weigh(&random, &spec, &options)) continue;
    options.workers = 1 + random.Below(5);
    for (const PartPolicy policy : {PartPolicy::kPad, PartPolicy::kDrop}) {
      options.policy = policy;
      const uint64_t m = options.samples_per_epoch;
      const uint64_t each = policy == PartPolicy::kPad
                                ? (m + options.workers - 1) / options.workers
                                : m / options.workers;
      for (options.worker = 0; options.worker < options.workers;
           ++options.worker) {
        ASSERT_TRUE(Weights::Create(options, &spec.weights).ok());
        EXPECT_EQ(EpochSize(spec), each);
        for (int64_t epoch = 0; epoch < 3; ++epoch) {
          const auto spans = spec.weights->Spans(epoch);
          uint64_t draws = 0;
          for (const auto& source : spans) {
            for (const CycleSpan& span : source) draws += span.length;
          }
          EXPECT_EQ(draws, each);
        }
      }
    }
  }
}

TEST(WeightedPlanTest, ASourceOfOneGroupDrawsWholePassesInOrder) {
  RandomStream random = TestStream(4);
  for (int i = 0; i < 100; ++i) {
    PlanSpec spec;
    spec.seed = random.Next();
    spec.batch_size = 1 + random.Below(20);
    const uint64_t n = 1 + random.Below(100);
    const uint64_t cached = i % 2 == 0 ? 0 : random.Below(n + 1);
    spec.formats = {{{n / 2, n - n / 2}, cached, random.Below(30)},
                    {{40}, 0, 0}};
    Weights::Options options = {1 + random.Below(400),
                                {1 + random.Below(9), 1 + random.Below(9)},
                                {{0, n, {}}, {1, 40, {}}}};
    ASSERT_TRUE(Weights::Create(options, &spec.weights).ok());
    std::vector<uint64_t> drawn(n);
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
      for (const Draw& draw : DrawAll(plan.get())) {
        if (draw.format != 0) continue;
        // What is in memory may run ahead of what is read: batches have an
        // even number of each, to a few draws.
        const uint64_t least = *std::min_element(drawn.begin(), drawn.end());
        ASSERT_LE(drawn[draw.sample], least + 2 * (cached > 0))
            << "a pass was not over";
        ++drawn[draw.sample];
      }
      held = plan->kept();
    }
  }
}

// Classes of very different sizes, of which some are drawn often: the share of
// each is the same in every part of an epoch.
TEST(WeightedPlanTest, GroupsAreSpreadOverTheEpoch) {
  for (const uint64_t cached : {0, 40, 11111}) {
    PlanSpec spec;
    spec.seed = 7;
    spec.batch_size = 32;
    spec.formats = {{{5000, 6111}, cached, 320}};
    Weights::Options options = {30000, {1, 1, 1, 1}, {{0, 11111, {}}}};
    // The small classes lie at the end of the stored order.
    for (int k = 0; k < 11111; ++k) {
      options.sources[0].entries.push_back(k < 10000   ? 0
                                           : k < 11000 ? 1
                                           : k < 11110 ? 2
                                                       : 3);
    }
    ASSERT_TRUE(Weights::Create(options, &spec.weights).ok());
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
      std::vector<std::vector<int>> parts(10, std::vector<int>(4));
      uint64_t i = 0;
      for (const Draw& draw : DrawAll(plan.get())) {
        const int group = options.sources[0].entries[draw.sample];
        ++parts[10 * i++ / plan->size()][group];
      }
      for (const auto& part : parts) {
        for (const int count : part) {
          EXPECT_NEAR(count, 750, 200) << cached << ", epoch " << epoch;
        }
      }
      held = plan->kept();
    }
  }
}

TEST(WeightedPlanTest, SkipIsAsManyDraws) {
  RandomStream random = TestStream(5);
  for (int i = 0; i < 100; ++i) {
    PlanSpec spec = RandomSpec(&random, 100);
    Weights::Options options;
    if (!Weigh(&random, &spec, &options)) continue;
    HeldSets held;
    const int64_t epoch = static_cast<int64_t>(random.Below(4));
    ASSERT_TRUE(HeldAt(std::make_shared<const PlanSpec>(spec), 0,
                       NothingHeld(spec), epoch, &held)
                    .ok());
    const auto whole = MakePlan(spec, epoch, held);
    const std::vector<Draw> draws = DrawAll(whole.get());
    const auto plan = MakePlan(spec, epoch, held);
    const uint64_t skipped = random.Below(draws.size() + 1);
    plan->Skip(skipped);
    EXPECT_EQ(plan->position(), skipped);
    const std::vector<Draw> rest = DrawAll(plan.get());
    ASSERT_TRUE(std::equal(rest.begin(), rest.end(), draws.begin() + skipped,
                           draws.end()));
  }
}

TEST(WeightedPlanTest, WhatThereIsRoomForIsASubsetOfWhatIsPinned) {
  RandomStream random = TestStream(6);
  for (int i = 0; i < 100; ++i) {
    PlanSpec spec = RandomSpec(&random, 100);
    Weights::Options options;
    if (!Weigh(&random, &spec, &options)) continue;
    for (uint32_t s = 0; s < spec.formats.size(); ++s) {
      const uint64_t cached = spec.formats[s].cached;
      const uint64_t room = random.Below(cached + 1);
      EXPECT_LE(PinnedSamples(spec, s, room).count(), room);
      EXPECT_LE(PinnedSamples(spec, s, cached).count(), cached);
    }
  }
}

// As in planner_golden_test: other numbers are another order for every user.
TEST(WeightedPlanTest, Golden) {
  PlanSpec spec;
  spec.seed = 42;
  spec.batch_size = 6;
  spec.formats = {{{5, 4}, 3, 3}, {{6}, 0, 0}};
  const Weights::Options options = {
      18, {3, 2, 1}, {{0, 9, {0, 0, 0, 1, 1, 1, 1, 0, 1}}, {2, 6, {}}}};
  ASSERT_TRUE(Weights::Create(options, &spec.weights).ok());
  // Format, sample, load (-1: in memory), pinned, record, its last.
  const std::vector<std::vector<Draw>> expected = {
      {
          {0, 4, 3, false, 4, true},
          {0, 8, 4, false, 8, true},
          {0, 7, 2, true, 7, false},
          {1, 0, 0, false, 0, true},
          {0, 2, 6, false, 2, true},
          {0, 1, 1, true, 1, false},
          {1, 1, 1, false, 1, true},
          {0, 0, 0, true, 0, false},
          {0, 0, -1, true, 0, false},
          {0, 5, 5, false, 5, true},
          {0, 3, 8, false, 3, true},
          {0, 7, -1, true, 7, false},
          {1, 5, 2, false, 5, true},
          {0, 6, 9, false, 6, true},
          {0, 2, 7, false, 2, true},
          {0, 7, -1, true, 7, false},
          {0, 1, -1, true, 1, false},
          {0, 8, 10, false, 8, true},
      },
      {
          {0, 1, -1, true, 1, false},
          {0, 2, 0, false, 2, true},
          {0, 4, 1, false, 4, true},
          {1, 2, 0, false, 2, true},
          {0, 5, 2, false, 5, true},
          {0, 0, -1, true, 0, false},
          {0, 2, 4, false, 2, true},
          {1, 3, 1, false, 3, true},
          {0, 0, -1, true, 0, false},
          {0, 4, 5, false, 4, true},
          {0, 8, 3, false, 8, true},
          {0, 7, -1, true, 7, false},
          {0, 7, -1, true, 7, false},
          {0, 1, -1, true, 1, false},
          {0, 2, 7, false, 2, true},
          {1, 4, 2, false, 4, true},
          {0, 3, 8, false, 3, true},
          {0, 6, 6, false, 6, true},
      },
  };
  HeldSets held = NothingHeld(spec);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    const auto plan = MakePlan(spec, epoch, held);
    const std::vector<Draw> draws = DrawAll(plan.get());
    held = plan->kept();
    EXPECT_TRUE(draws == expected[epoch]);
  }
}

TEST(WeightedPlanTest, WhatDoesNotGoTogetherIsAnError) {
  PlanSpec good;
  good.formats = {{{5, 4}, 3, 0}};
  const Weights::Options options = {9, {1}, {{0, 9, {}}}};
  ASSERT_TRUE(Weights::Create(options, &good.weights).ok());
  ASSERT_TRUE(Validate(good).ok());
  std::vector<std::pair<const char*, PlanSpec>> cases(6, {"", good});
  cases[0] = {"where shuffle is off", good};
  cases[0].second.shuffle = false;
  cases[1] = {"the policy is not Liquid's", good};
  cases[1].second.policy = CachePolicy::kMinio;
  cases[2] = {"must have one for each of the 2 formats", good};
  cases[2].second.formats.push_back({{1}, 0, 0});
  cases[3] = {"of sections, or of records of many", good};
  cases[3].second.formats[0].record_samples.assign(9, 2);
  cases[4] = {"of sections, or of records of many", good};
  cases[4].second.formats[0].count = 9;
  cases[5] = {"must be of its samples, 10", good};
  cases[5].second.formats[0].files = {10};
  for (const auto& [message, spec] : cases) {
    const Status status = Validate(spec);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
  HeldSets held = NothingHeld(good);
  const SampleSet pinned = PinnedSamples(good, 0, 3);
  for (uint64_t i = 0; i < 9; ++i) {
    if (!pinned.contains(i)) held[0].insert(i);
  }
  EXPECT_THAT(ValidateHeld(good, held).message(),
              HasSubstr("must be of the 3 that are pinned"));
}

}  // namespace
}  // namespace liquid::weighted_plan_test
