// The policies that Liquid's is compared with.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::policies_test {
namespace {

PlanSpec RandomSpecOf(CachePolicy policy, RandomStream* random) {
  PlanSpec spec = RandomSpec(random, 80);
  spec.policy = policy;
  if (policy == CachePolicy::kPage) {
    for (FormatSpec& format : spec.formats) format.cached = 0;
  }
  return spec;
}

std::unique_ptr<EpochPlan> MakePlan(const PlanSpec& spec, int64_t epoch,
                                    const HeldSets& held) {
  std::unique_ptr<EpochPlan> plan;
  const Status status = EpochPlan::Create(
      std::make_shared<const PlanSpec>(spec), epoch, held, &plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

class PoliciesTest : public testing::TestWithParam<CachePolicy> {};

TEST_P(PoliciesTest, EveryDrawOfThreeEpochsIsLegal) {
  RandomStream random = TestStream(11);
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const PlanSpec spec = RandomSpecOf(GetParam(), &random);
    PlanSpec regions = spec;
    regions.policy = CachePolicy::kLiquid;
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto plan = MakePlan(spec, epoch, held);
      const auto same_mix = MakePlan(regions, epoch, NothingHeld(spec));
      std::vector<int64_t> loads(spec.formats.size());
      HeldSets drawn = NothingHeld(spec);
      HeldSets kept = NothingHeld(spec);
      for (uint64_t j = 0; j < plan->size(); ++j) {
        if (j % spec.batch_size == 0) {
          // The samples of each format are those of Liquid's batches.
          std::vector<int64_t> more(spec.formats.size());
          const auto ahead = MakePlan(spec, epoch, held);
          ahead->Skip(j);
          for (uint64_t k = j; k < j + spec.batch_size && k < plan->size();
               ++k) {
            ++more[ahead->Next().format];
            --more[same_mix->Next().format];
          }
          EXPECT_THAT(more, testing::Each(0));
        }
        const uint32_t f = plan->PeekFormat();
        EXPECT_EQ(plan->loads(f), 0u);
        const Draw draw = plan->Next();
        EXPECT_EQ(draw.format, f);
        EXPECT_FALSE(drawn[f].contains(draw.sample)) << "drawn twice";
        drawn[f].insert(draw.sample);
        const bool was_held = held[f].contains(draw.sample);
        EXPECT_EQ(draw.load, was_held ? Draw::kHeld : loads[f]++);
        // What came first stays, and nothing else.
        EXPECT_EQ(draw.keep, epoch == 0
                                 ? kept[f].count() < spec.formats[f].cached
                                 : was_held);
        if (draw.keep) kept[f].insert(draw.sample);
      }
      EXPECT_EQ(plan->kept(), kept);
      if (epoch > 0) {
        EXPECT_EQ(kept, held);
      }
      for (size_t f = 0; f < spec.formats.size(); ++f) {
        EXPECT_EQ(drawn[f].count(), SampleCount(spec.formats[f]));
        EXPECT_EQ(kept[f].count(), spec.formats[f].cached);
      }
      held = kept;
    }
  }
}

TEST_P(PoliciesTest, HeldAtIsWhatTheEpochsKeep) {
  RandomStream random = TestStream(12);
  for (int i = 0; i < 50; ++i) {
    const PlanSpec spec = RandomSpecOf(GetParam(), &random);
    const auto first = MakePlan(spec, 2, NothingHeld(spec));
    first->Skip(first->size());
    // So far on would take years to replay.
    for (const int64_t epoch : {int64_t{3}, int64_t{7}, int64_t{1} << 60}) {
      HeldSets held;
      ASSERT_TRUE(HeldAt(std::make_shared<const PlanSpec>(spec), 2,
                         NothingHeld(spec), epoch, &held)
                      .ok());
      EXPECT_EQ(held, first->kept());
    }
  }
}

TEST_P(PoliciesTest, AnySampleMayComeFirst) {
  PlanSpec spec;
  spec.policy = GetParam();
  spec.batch_size = 4;
  spec.formats.resize(1);
  spec.formats[0].files = {10, 6};
  std::vector<int> first(16);
  constexpr int kEpochs = 16000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    ++first[MakePlan(spec, epoch, NothingHeld(spec))->Next().sample];
  }
  for (int count : first) EXPECT_NEAR(count, kEpochs / 16, 140);  // 4.6 sigma
}

TEST_P(PoliciesTest, StoredOrderIsLiquids) {
  RandomStream random = TestStream(13);
  for (int i = 0; i < 50; ++i) {
    PlanSpec spec = RandomSpecOf(GetParam(), &random);
    spec.shuffle = false;
    const auto plan = MakePlan(spec, 0, NothingHeld(spec));
    spec.policy = CachePolicy::kLiquid;
    const auto wanted = MakePlan(spec, 0, NothingHeld(spec));
    for (uint64_t j = 0; j < plan->size(); ++j) {
      EXPECT_TRUE(plan->Next() == wanted->Next());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PoliciesTest,
                         testing::Values(CachePolicy::kMinio,
                                         CachePolicy::kPage));

TEST(PoliciesGoldenTest, Minio) {
  PlanSpec spec;
  spec.seed = 7;
  spec.batch_size = 4;
  spec.policy = CachePolicy::kMinio;
  spec.formats.resize(2);
  spec.formats[0].files = {6, 3};
  spec.formats[0].cached = 3;
  spec.formats[1].files = {3};
  spec.formats[1].cached = 1;
  HeldSets held = NothingHeld(spec);
  std::vector<std::string> epochs;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    const auto plan = MakePlan(spec, epoch, held);
    std::string text;
    while (plan->position() < plan->size()) {
      const Draw draw = plan->Next();
      text += (draw.format == 0 ? " a" : " b") + std::to_string(draw.sample) +
              (draw.keep ? "+" : "");
    }
    epochs.push_back(text);
    held = plan->kept();
  }
  EXPECT_EQ(epochs[0], " b0+ a6+ a3+ a1+ a5 a8 b2 a2 b1 a0 a4 a7");
  EXPECT_EQ(epochs[1], " a6+ b1 a1+ a3+ a4 b0+ a7 a5 a2 a8 a0 b2");
}

TEST(PoliciesArgumentTest, RecordsOfManySamplesAreLiquids) {
  PlanSpec spec;
  spec.policy = CachePolicy::kMinio;
  spec.formats.resize(1);
  spec.formats[0].files = {2};
  spec.formats[0].record_samples = {3, 3};
  EXPECT_THAT(Validate(spec).message(),
              testing::HasSubstr("formats[0].record_samples must be empty"));
}

TEST(PoliciesArgumentTest, ThePageCacheIsNotOurs) {
  PlanSpec spec;
  spec.policy = CachePolicy::kPage;
  spec.formats.resize(1);
  spec.formats[0].files = {10};
  spec.formats[0].cached = 3;
  EXPECT_EQ(Validate(spec).message(),
            "formats[0].cached (3) must be 0 where the page cache is the "
            "cache");
}

}  // namespace
}  // namespace liquid::policies_test
