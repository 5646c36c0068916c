#include "ops/reader/read_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ops/sampler/planner.h"

namespace liquid {
namespace {

std::shared_ptr<const PlanSpec> Spec(uint64_t cached, bool shuffle = true) {
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 3;
  spec->batch_size = 8;
  spec->shuffle = shuffle;
  spec->formats.resize(2);
  spec->formats[0].files = {50, 30, 20};
  spec->formats[0].cached = cached;
  spec->formats[0].fill = 12;
  spec->formats[1].files = {40};
  spec->formats[1].cached = cached / 4;
  spec->formats[1].fill = 5;
  return spec;
}

std::unique_ptr<EpochPlan> Plan(const std::shared_ptr<const PlanSpec>& spec,
                                int64_t epoch, const HeldSets& held,
                                uint64_t position = 0) {
  std::unique_ptr<EpochPlan> plan;
  const Status status = EpochPlan::Create(spec, epoch, held, &plan);
  EXPECT_TRUE(status.ok()) << status.message();
  plan->Skip(position);
  return plan;
}

HeldSets Held(const std::shared_ptr<const PlanSpec>& spec, int64_t epoch) {
  HeldSets held;
  EXPECT_TRUE(HeldAt(spec, 0, NothingHeld(*spec), epoch, &held).ok());
  return held;
}

// What a consumer of the order sees.
struct Outcome {
  std::vector<uint64_t> reads;
  std::set<uint64_t> drawn;     // from the position on
  uint64_t most_in_memory = 0;  // read or held, not drawn, or kept
};

// Draws the rest of an epoch, reading on whenever a sample is not there, as the
// interleave does.
Outcome DrawRest(const std::shared_ptr<const PlanSpec>& spec, uint32_t format,
                 int64_t epoch, uint64_t position, const SampleSet& in_memory,
                 const MemoryLimits& limits) {
  const HeldSets held = Held(spec, epoch);
  ReadOrder order(Plan(spec, epoch, held, position), format, in_memory, limits);
  const std::unique_ptr<EpochPlan> plan = Plan(spec, epoch, held, position);
  std::set<uint64_t> memory;
  for (uint64_t i = 0; i < SampleCount(spec->formats[format]); ++i) {
    if (in_memory.contains(i)) memory.insert(i);
  }
  Outcome outcome;
  uint64_t kept = 0;
  uint64_t sample = 0;
  while (plan->position() < plan->size()) {
    const Draw draw = plan->Next();
    if (draw.format != format) continue;
    while (memory.count(draw.sample) == 0) {
      if (!order.Next(&sample)) {
        ADD_FAILURE() << "the order ended before sample " << draw.sample;
        return outcome;
      }
      outcome.reads.push_back(sample);
      EXPECT_TRUE(memory.insert(sample).second) << sample << " was read twice";
      outcome.most_in_memory =
          std::max<uint64_t>(outcome.most_in_memory, memory.size() + kept);
    }
    memory.erase(draw.sample);
    outcome.drawn.insert(draw.sample);
    const bool room = memory.size() + kept < limits.resident;
    if (draw.keep && kept < limits.kept && room) ++kept;
  }
  EXPECT_FALSE(order.Next(&sample)) << "sample " << sample << " is of no use";
  EXPECT_TRUE(memory.empty());
  return outcome;
}

using Parameters = std::tuple<uint64_t, int64_t, uint64_t, bool>;

class ReadOrderTest : public ::testing::TestWithParam<Parameters> {};

// Whatever memory holds, each sample that is drawn and not in memory is read
// once, in time, and nothing else.
TEST_P(ReadOrderTest, ReadsWhatMemoryDoesNotHold) {
  const auto& [cached, epoch, position, shuffle] = GetParam();
  const auto spec = Spec(cached, shuffle);
  const HeldSets held = Held(spec, epoch);
  for (uint32_t format = 0; format < 2; ++format) {
    const uint64_t samples = SampleCount(spec->formats[format]);
    for (const int part : {0, 1, 2}) {  // none, some or all of what is held
      SampleSet in_memory(samples);
      // After a restore nothing is in memory.
      for (uint64_t i = 0; i < samples && position == 0; ++i) {
        const bool there = part == 2 || (part == 1 && i % 3 == 0);
        if (there && held[format].contains(i)) in_memory.insert(i);
      }
      const Outcome outcome =
          DrawRest(spec, format, epoch, position, in_memory, MemoryLimits());
      std::set<uint64_t> wanted;
      for (const uint64_t sample : outcome.drawn) {
        if (!in_memory.contains(sample)) wanted.insert(sample);
      }
      EXPECT_EQ(std::set<uint64_t>(outcome.reads.begin(), outcome.reads.end()),
                wanted);
    }
  }
}

// The order of draws is not touched by limits, and memory keeps to them: one
// sample more is there only to be drawn at once.
TEST_P(ReadOrderTest, MemoryKeepsToItsLimits) {
  const auto& [cached, epoch, position, shuffle] = GetParam();
  const auto spec = Spec(cached, shuffle);
  const uint64_t samples = SampleCount(spec->formats[0]);
  for (const uint64_t resident : {0, 1, 7, 30}) {
    MemoryLimits limits;
    limits.resident = resident;
    limits.kept = resident / 2;
    const Outcome outcome =
        DrawRest(spec, 0, epoch, position, SampleSet(samples), limits);
    EXPECT_LE(outcome.most_in_memory, resident + 1);
    EXPECT_EQ(outcome.reads.size(), outcome.drawn.size());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ReadOrderTest,
    ::testing::Combine(::testing::Values(0, 1, 30, 100),       // cached
                       ::testing::Values(0, 1, 4),             // epoch
                       ::testing::Values(0, 1, 64, 139, 140),  // position
                       ::testing::Bool()));

TEST(ReadOrderExampleTest, LoadsAreReadInDiskOrder) {
  const auto spec = Spec(30);
  const HeldSets held = Held(spec, 1);
  ReadOrder order(Plan(spec, 1, held), 0, held[0], MemoryLimits());
  LoadOrder loads(*spec, 0, 1, &held[0]);
  uint64_t read, loaded;
  int count = 0;
  while (loads.Next(&loaded)) {
    ASSERT_TRUE(order.Next(&read));
    EXPECT_EQ(read, loaded);
    ++count;
  }
  EXPECT_FALSE(order.Next(&read));
  EXPECT_EQ(count, 70);
}

TEST(ReadOrderExampleTest, WhatMemoryLostIsReadShortlyBeforeItsDraw) {
  // Everything is held and nothing is in memory: the reads are the draws.
  const auto spec = Spec(100);
  const HeldSets held = Held(spec, 1);
  ReadOrder order(Plan(spec, 1, held), 0, SampleSet(100), MemoryLimits());
  const std::unique_ptr<EpochPlan> plan = Plan(spec, 1, held);
  uint64_t read;
  while (plan->position() < plan->size()) {
    const Draw draw = plan->Next();
    if (draw.format != 0) continue;
    ASSERT_TRUE(order.Next(&read));
    EXPECT_EQ(read, draw.sample);
  }
  EXPECT_FALSE(order.Next(&read));
}

}  // namespace
}  // namespace liquid
