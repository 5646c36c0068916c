#include "ops/engine/draw_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/sampler/planner.h"

namespace liquid::draw_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
Span<T> SpanOf(const std::vector<T>& values) {
  return {values.data(), values.size()};
}

// Two formats of 7 and 5 samples.
DrawPlan TwoFormats() {
  DrawPlan plan;
  PlanMessage& message = plan.message.plan;
  message.seed = 42;
  message.batch_size = 4;
  message.shuffle = true;
  message.policy = "liquid";
  message.formats.resize(2);
  message.formats[0].files = {4, 3};
  message.formats[0].cached = 2;
  message.formats[1].files = {5};
  message.formats[1].fill = 3;
  plan.message.sources.resize(2);
  plan.message.sources[0].name = "png";
  plan.message.sources[1].name = "raw";
  plan.message.shard_policy = "pad";
  return plan;
}

// With shares of three groups, of which the first format has two.
DrawPlan Weighted(const std::vector<uint16_t>& groups) {
  DrawPlan plan = TwoFormats();
  plan.message.shares = {3, 1, 2};
  plan.message.samples_per_epoch = 40;
  plan.message.sources[0].grouped_samples = 7;
  plan.message.sources[1].first_group = 2;
  plan.groups = SpanOf(groups);
  return plan;
}

std::string MakeError(const DrawPlan& plan, size_t datasets = 2) {
  std::shared_ptr<const PlanSpec> spec;
  const Status status = plan.MakeSpec(datasets, &spec);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(spec, nullptr);
  return status.message();
}

std::shared_ptr<const PlanSpec> Make(const DrawPlan& plan) {
  std::shared_ptr<const PlanSpec> spec;
  const Status status = plan.MakeSpec(plan.message.sources.size(), &spec);
  EXPECT_TRUE(status.ok()) << status.message();
  return spec;
}

TEST(DrawPlanTest, ARangeIsTaken) {
  DrawPlan plan;
  EXPECT_EQ(plan.epoch, -1);
  ASSERT_TRUE(plan.SetRange(SpanOf<int64_t>({5, 6, 7})).ok());
  EXPECT_EQ(plan.epoch, 5);
  EXPECT_EQ(plan.first_step, 6);
  EXPECT_EQ(plan.steps, 7);
  ASSERT_TRUE(plan.SetRange(SpanOf<int64_t>({-1, 0, -1})).ok());
  EXPECT_EQ(plan.epoch, -1);
  ASSERT_TRUE(plan.SetRange(SpanOf<int64_t>({0, 0, 0})).ok());
  EXPECT_EQ(plan.steps, 0);
}

TEST(DrawPlanTest, ARangeThatCannotBeIsNamed) {
  const std::pair<std::vector<int64_t>, const char*> cases[] = {
      {{}, "range (0 numbers) must be [epoch, first_step, steps]"},
      {{1, 2}, "range (2 numbers) must be"},
      {{1, 2, 3, 4}, "range (4 numbers) must be"},
      {{-2, 0, -1}, "range: epoch (-2) must be at least -1"},
      {{0, -1, -1}, "range: first_step (-1) must be at least 0"},
      {{0, 0, -2}, "range: steps (-2) must be at least -1"},
      {{-1, 1, -1}, "first_step and steps need an epoch"},
      {{-1, 0, 0}, "first_step and steps need an epoch"}};
  for (const auto& [range, message] : cases) {
    DrawPlan plan;
    const Status status = plan.SetRange(SpanOf(range));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST(DrawPlanTest, TheEndIsThatOfABatchOrOfTheEpoch) {
  DrawPlan plan;
  for (const uint64_t batch : {1, 4, 12, 50}) {
    plan.message.plan.batch_size = static_cast<int64_t>(batch);
    for (const uint64_t samples : {0, 1, 11, 12, 13}) {
      for (int64_t first = 0; first < 16; ++first) {
        plan.first_step = first;
        for (plan.steps = -1; plan.steps < 16; ++plan.steps) {
          // By walking there.
          uint64_t end = std::min<uint64_t>(samples, first * batch);
          for (int64_t i = 0; i < plan.steps || plan.steps < 0; ++i) {
            if (end == samples) break;
            end = std::min(samples, end + batch);
          }
          // Behind the epoch there is nothing to end.
          EXPECT_EQ(plan.EndDraw(samples), end)
              << samples << " by " << batch << ": " << first << ", "
              << plan.steps;
        }
      }
    }
  }
  // Of any numbers.
  plan.message.plan.batch_size = INT64_MAX;
  plan.first_step = plan.steps = INT64_MAX;
  EXPECT_EQ(plan.EndDraw(12), 12u);
  plan.first_step = 0;
  EXPECT_EQ(plan.EndDraw(12), 12u);
  plan.steps = 0;
  EXPECT_EQ(plan.EndDraw(12), 0u);
}

TEST(DrawPlanTest, TheSpecIsThatOfTheMessage) {
  const auto spec = Make(TwoFormats());
  EXPECT_EQ(spec->seed, 42u);
  EXPECT_EQ(spec->batch_size, 4u);
  EXPECT_TRUE(spec->shuffle);
  EXPECT_EQ(spec->policy, CachePolicy::kLiquid);
  EXPECT_EQ(spec->weights, nullptr);
  ASSERT_EQ(spec->formats.size(), 2u);
  EXPECT_THAT(spec->formats[0].files, ElementsAre(4, 3));
  EXPECT_EQ(spec->formats[0].cached, 2u);
  EXPECT_THAT(spec->formats[1].files, ElementsAre(5));
  EXPECT_EQ(spec->formats[1].fill, 3u);
}

TEST(DrawPlanTest, WhatDoesNotFitIsNamedBeforeAnythingRuns) {
  DrawPlan plan = TwoFormats();
  EXPECT_EQ(MakeError(plan, 3),
            "plan.formats (2 entries) must be one for each of the 3 input "
            "datasets");
  plan.message.sources.pop_back();
  EXPECT_EQ(MakeError(plan),
            "sources (1 entries) must be one for each of the 2 input datasets");
  plan = TwoFormats();
  plan.message.plan.formats[0].cached = 8;
  EXPECT_THAT(MakeError(plan), HasSubstr("formats[0].cached (8)"));
  plan = TwoFormats();
  plan.message.plan.batch_size = 0;
  EXPECT_THAT(MakeError(plan), HasSubstr("batch_size (0)"));
  plan = TwoFormats();
  plan.message.plan.sections = {1};
  EXPECT_THAT(MakeError(plan), HasSubstr("sections (1 numbers)"));
}

TEST(DrawPlanTest, SharesAreThoseOfWeights) {
  const std::vector<uint16_t> groups = {0, 1, 0, 1, 1, 0, 0};
  DrawPlan plan = Weighted(groups);
  plan.message.worker = 1;
  plan.message.workers = 3;
  const std::pair<const char*, PartPolicy> policies[] = {
      {"pad", PartPolicy::kPad},
      {"drop", PartPolicy::kDrop},
      {"uneven", PartPolicy::kUneven}};
  for (const auto& [name, policy] : policies) {
    plan.message.shard_policy = name;
    const auto spec = Make(plan);
    Weights::Options options;
    options.samples_per_epoch = 40;
    options.shares = {3, 1, 2};
    options.sources = {{0, 7, groups}, {2, 5, {}}};
    options.worker = 1;
    options.workers = 3;
    options.policy = policy;
    std::shared_ptr<const Weights> weights;
    ASSERT_TRUE(Weights::Create(options, &weights).ok());
    ASSERT_NE(spec->weights, nullptr);
    EXPECT_EQ(spec->weights->fingerprint(), weights->fingerprint()) << name;
    EXPECT_EQ(EpochSize(*spec), weights->epoch_size()) << name;
  }
}

TEST(DrawPlanTest, GroupsThatAreNotThereAreNamed) {
  const std::vector<uint16_t> groups = {0, 1, 0, 1, 1, 0, 0};
  DrawPlan plan = Weighted(groups);
  plan.message.sources[1].grouped_samples = 5;
  EXPECT_EQ(MakeError(plan),
            "sources[1].grouped_samples (5) must be at most 0, what groups has "
            "left");
  plan.message.sources[0].grouped_samples = INT64_MAX;
  EXPECT_EQ(MakeError(plan),
            "sources[0].grouped_samples (9223372036854775807) must be at most "
            "7, what groups has left");
  plan = Weighted({});
  EXPECT_THAT(MakeError(plan), HasSubstr("sources[0].grouped_samples (7)"));
  plan = Weighted(groups);
  plan.message.sources[0].grouped_samples = 6;
  EXPECT_THAT(MakeError(plan), HasSubstr("6"));
}

TEST(DrawPlanTest, ASnapshotIsToldOfItsStart) {
  DrawPlan plan = TwoFormats();
  plan.message.initial_epoch = 3;
  plan.message.initial_step = 2;
  plan.message.spare_bytes = 1000;
  const auto spec = Make(plan);
  Snapshot::Config config;
  ASSERT_TRUE(plan.MakeConfig(spec, &config).ok());
  EXPECT_EQ(config.spec, spec);
  EXPECT_THAT(config.formats, ElementsAre("png", "raw"));
  EXPECT_EQ(config.initial_epoch, 3);
  EXPECT_EQ(config.initial_step, 2u);
  EXPECT_EQ(config.spare_bytes, 1000u);
  EXPECT_EQ(config.tier.folder, "");
  plan.message.initial_step = -1;
  Snapshot::Config unknown;
  ASSERT_TRUE(plan.MakeConfig(spec, &unknown).ok());
  EXPECT_EQ(unknown.initial_step, Snapshot::kUnknown);
}

TEST(DrawPlanTest, ATierKnowsTheBlocksOfEachRecord) {
  const std::vector<uint32_t> blocks = {1, 2, 3,  4,  5,  6, 7,
                                        8, 9, 10, 11, 12, 13};
  DrawPlan plan = TwoFormats();
  const auto spec = Make(plan);
  plan.message.tier = "/local";
  plan.message.tier_bytes = 1 << 20;
  plan.message.tier_queue_bytes = 4096;
  for (const size_t size : {0, 6, 7, 11, 13}) {
    plan.record_blocks = {blocks.data(), size};
    Snapshot::Config config;
    const Status status = plan.MakeConfig(spec, &config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              "record_blocks (" + std::to_string(size) +
                  " numbers) must be one for each record where there is a "
                  "tier");
  }
  plan.record_blocks = {blocks.data(), 12};
  Snapshot::Config config;
  ASSERT_TRUE(plan.MakeConfig(spec, &config).ok());
  EXPECT_EQ(config.tier.folder, "/local");
  EXPECT_EQ(config.tier.bytes, 1u << 20);
  EXPECT_EQ(config.tier.queue_bytes, 4096u);
  EXPECT_THAT(config.tier.blocks, ElementsAre(ElementsAre(1, 2, 3, 4, 5, 6, 7),
                                              ElementsAre(8, 9, 10, 11, 12)));
}

TEST(DrawPlanTest, CheckpointsOfOneOrderHaveOneFingerprint) {
  const PlanSpec spec = *Make(TwoFormats());
  const int64_t fingerprint = Fingerprint(spec, 9);
  // It is in checkpoints: the CRC-32C of
  // "2/9/42/4/1/0;0:4,3;3:5".
  EXPECT_EQ(fingerprint, int64_t{3608918702});
  PlanSpec cached = spec;
  cached.formats[0].cached = 7;
  EXPECT_EQ(Fingerprint(cached, 9), fingerprint);
}

TEST(DrawPlanTest, OtherOrdersHaveOtherFingerprints) {
  const PlanSpec spec = *Make(TwoFormats());
  std::vector<PlanSpec> others(12, spec);
  others[1].seed = 43;
  others[2].batch_size = 5;
  others[3].shuffle = false;
  others[4].policy = CachePolicy::kMinio;
  others[5].policy = CachePolicy::kPage;
  others[6].formats[0].files = {3, 4};
  others[7].formats[0].fill = 1;
  others[8].formats[1].record_samples = {1, 1, 1, 1, 1};
  others[9].formats[1].groups = 2;
  others[10].formats.pop_back();
  others[11].weights = Make(Weighted({0, 1, 0, 1, 1, 0, 0}))->weights;
  std::vector<int64_t> fingerprints = {Fingerprint(spec, 10)};
  for (const PlanSpec& other : others) {
    fingerprints.push_back(Fingerprint(other, 9));
  }
  std::sort(fingerprints.begin(), fingerprints.end());
  EXPECT_EQ(std::adjacent_find(fingerprints.begin(), fingerprints.end()),
            fingerprints.end());
}

// A mix that may change is no part of the order that a checkpoint fits.
TEST(DrawPlanTest, SectionsOfAnyMixHaveOneFingerprint) {
  DrawPlan plan = TwoFormats();
  plan.message.plan.formats[1].files = {4, 3};
  plan.message.plan.sections = {3, 4};
  const PlanSpec spec = *Make(plan);
  plan.message.plan.sections = {5, 2};
  plan.message.plan.formats[0].fill = 2;
  EXPECT_EQ(Fingerprint(*Make(plan), 9), Fingerprint(spec, 9));
  PlanSpec whole = spec;
  for (FormatSpec& format : whole.formats) {
    format.first = 0;
    format.count = FormatSpec::kWhole;
  }
  EXPECT_NE(Fingerprint(whole, 9), Fingerprint(spec, 9));
}

}  // namespace
}  // namespace liquid::draw_plan_test
