#include "ops/reader/read_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/sampler/load_order.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/weights.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::read_order_test {
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
                 const MemoryLimits& limits, uint64_t end = UINT64_MAX) {
  const HeldSets held = Held(spec, epoch);
  ReadRange range;
  if (end != UINT64_MAX) {
    range = FindRange(Plan(spec, epoch, held, position).get(), format, end);
  }
  ReadOrder order(Plan(spec, epoch, held, position), format, {in_memory},
                  limits, {}, {}, range);
  const std::unique_ptr<EpochPlan> plan = Plan(spec, epoch, held, position);
  std::set<uint64_t> memory;
  for (uint64_t i = 0; i < SampleCount(spec->formats[format]); ++i) {
    if (in_memory.contains(i)) memory.insert(i);
  }
  Outcome outcome;
  uint64_t kept = 0;
  PlannedRead read;
  while (plan->position() < std::min(end, plan->size())) {
    const Draw draw = plan->Next();
    if (draw.format != format) continue;
    while (memory.count(draw.sample) == 0) {
      if (!order.Next(&read)) {
        ADD_FAILURE() << "the order ended before sample " << draw.sample;
        return outcome;
      }
      const uint64_t sample = read.record;
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
  EXPECT_FALSE(order.Next(&read)) << read.record << " is of no use";
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

// Of a part of an epoch, each sample that is drawn in it is read once, and
// nothing that is drawn behind it.
TEST_P(ReadOrderTest, APartReadsWhatItDraws) {
  const auto& [cached, epoch, position, shuffle] = GetParam();
  const auto spec = Spec(cached, shuffle);
  for (const uint64_t length : {0, 1, 24, 60, 140}) {
    for (uint32_t format = 0; format < 2; ++format) {
      const SampleSet nothing(SampleCount(spec->formats[format]));
      const Outcome outcome = DrawRest(spec, format, epoch, position, nothing,
                                       MemoryLimits(), position + length);
      EXPECT_EQ(std::set<uint64_t>(outcome.reads.begin(), outcome.reads.end()),
                outcome.drawn);
      EXPECT_EQ(outcome.reads.size(), outcome.drawn.size());
    }
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
  ReadOrder order(Plan(spec, 1, held), 0, {held[0]}, MemoryLimits());
  LoadOrder loads(*spec, 0, 1, &held[0]);
  PlannedRead read;
  uint64_t loaded;
  int count = 0;
  while (loads.Next(&loaded)) {
    ASSERT_TRUE(order.Next(&read));
    EXPECT_EQ(read.record, loaded);
    ++count;
  }
  EXPECT_FALSE(order.Next(&read));
  EXPECT_EQ(count, 70);
}

TEST(ReadOrderExampleTest, WhatMemoryLostIsReadShortlyBeforeItsDraw) {
  // Everything is held and nothing is in memory: the reads are the draws.
  const auto spec = Spec(100);
  const HeldSets held = Held(spec, 1);
  ReadOrder order(Plan(spec, 1, held), 0, {SampleSet(100)}, MemoryLimits());
  const std::unique_ptr<EpochPlan> plan = Plan(spec, 1, held);
  PlannedRead read;
  while (plan->position() < plan->size()) {
    const Draw draw = plan->Next();
    if (draw.format != 0) continue;
    ASSERT_TRUE(order.Next(&read));
    EXPECT_EQ(read.record, draw.sample);
    EXPECT_EQ(read.groups, 0u);
  }
  EXPECT_FALSE(order.Next(&read));
}

// Records of many samples, of 4 to 6 scan groups each.
class RecordsTest : public ::testing::TestWithParam<int> {
 protected:
  RecordsTest() {
    auto spec = std::make_shared<PlanSpec>();
    spec->seed = 7;
    spec->batch_size = 8;
    spec->formats.resize(2);
    spec->formats[0].files.assign(30, 1);
    spec->formats[0].cached = 10;
    spec->formats[0].fill = 20;
    spec->formats[1].files = {60};
    for (uint32_t r = 0; r < 30; ++r) {
      spec->formats[0].record_samples.push_back(3 + r % 3);
      groups_.push_back(4 + r % 3);
    }
    spec_ = spec;
  }

  static Fidelity Of(const std::vector<int64_t>& groups) {
    Fidelity fidelity;
    EXPECT_TRUE(Fidelity::Create(groups, &fidelity).ok());
    return fidelity;
  }

  // Draws epoch 1 from batch `batch` on, with what `at_hand` says in memory.
  // Every record is there at each of its draws, with enough of its groups;
  // returns the reads of each record.
  std::vector<std::vector<uint32_t>> Draw(const Fidelity& fidelity,
                                          const AtHand& at_hand,
                                          uint64_t batch = 0) {
    const HeldSets held = Held(spec_, 1);
    MemoryLimits limits;
    limits.resident = GetParam();
    limits.kept = GetParam();
    ReadOrder order(Plan(spec_, 1, held, 8 * batch), 0, at_hand, limits,
                    fidelity, groups_);
    const std::unique_ptr<EpochPlan> plan = Plan(spec_, 1, held, 8 * batch);
    std::vector<uint32_t> has(30);
    for (uint64_t r = 0; r < 30; ++r) {
      if (at_hand.records.contains(r)) has[r] = at_hand.groups[r];
    }
    std::vector<std::vector<uint32_t>> reads(30);
    PlannedRead read;
    while (plan->position() < plan->size()) {
      const uint32_t wanted = fidelity.At(plan->position() / 8);
      const liquid::Draw draw = plan->Next();
      if (draw.format != 0) continue;
      const uint32_t needs = std::min(wanted, groups_[draw.record]);
      while (has[draw.record] < needs) {
        if (!order.Next(&read)) {
          ADD_FAILURE() << "the order ended before record " << draw.record;
          return reads;
        }
        EXPECT_GT(read.groups, has[read.record]) << "read for nothing";
        has[read.record] = read.groups;
        reads[read.record].push_back(read.groups);
      }
      if (draw.last) has[draw.record] = 0;
    }
    EXPECT_FALSE(order.Next(&read)) << read.record << " is of no use";
    return reads;
  }

  AtHand AllHeld(uint32_t groups) {
    AtHand at_hand = {Held(spec_, 1)[0], std::vector<uint32_t>(30)};
    for (uint64_t r = 0; r < 30; ++r) {
      at_hand.groups[r] = std::min(groups, groups_[r]);
    }
    return at_hand;
  }

  std::shared_ptr<const PlanSpec> spec_;
  std::vector<uint32_t> groups_;
};

TEST_P(RecordsTest, EachIsReadOnceAtTheFidelityOfTheEpoch) {
  const auto reads = Draw(Of({5}), {SampleSet(30)});
  for (uint64_t r = 0; r < 30; ++r) {
    EXPECT_THAT(reads[r], testing::ElementsAre(std::min(5u, groups_[r])));
  }
}

TEST_P(RecordsTest, WhatIsHeldIsReadAgainOnlyForMoreGroups) {
  const SampleSet held = Held(spec_, 1)[0];
  const auto same = Draw(Of({2}), AllHeld(2));
  const auto lower = Draw(Of({2}), AllHeld(4));
  const auto higher = Draw(Fidelity(), AllHeld(4));
  for (uint64_t r = 0; r < 30; ++r) {
    EXPECT_EQ(same[r].size(), held.contains(r) ? 0u : 1u);
    EXPECT_EQ(lower[r].size(), held.contains(r) ? 0u : 1u);
    EXPECT_EQ(higher[r].size(), held.contains(r) && groups_[r] == 4 ? 0u : 1u);
  }
}

TEST_P(RecordsTest, FidelityMayChangeInsideAnEpoch) {
  size_t twice = 0;
  for (const auto& reads : Draw(Of({1, 1, 1, 1, 1, 1, 4, 4, 2}), AllHeld(1))) {
    EXPECT_LE(reads.size(), 2u);
    twice += reads.size() == 2;
  }
  EXPECT_GT(twice, 0u);
}

TEST_P(RecordsTest, GoesOnInTheMiddle) {
  for (const uint64_t batch : {1, 7, 15}) Draw(Of({3}), {SampleSet(30)}, batch);
}

TEST_P(RecordsTest, AFormatMayBeReadAtALowerFidelityThanTheBatch) {
  auto low = std::make_shared<PlanSpec>(*spec_);
  low->formats[0].groups = 3;
  spec_ = low;
  const std::pair<Fidelity, uint32_t> cases[] = {
      {Fidelity(), 3}, {Of({5}), 3}, {Of({2}), 2}};
  for (const auto& [fidelity, groups] : cases) {
    ReadOrder order(Plan(spec_, 0, NothingHeld(*spec_)), 0, {SampleSet(30)},
                    MemoryLimits(), fidelity, groups_);
    PlannedRead read;
    size_t reads = 0;
    for (; order.Next(&read); ++reads) EXPECT_EQ(read.groups, groups);
    EXPECT_EQ(reads, 30u);
  }
}

INSTANTIATE_TEST_SUITE_P(Room, RecordsTest, ::testing::Values(0, 5, 1000));

// Samples of weights, drawn as the interleave draws them: memory has a record
// once, and counts its loads. `lag`: records that are read before they must be.
struct Weighted {
  std::map<uint64_t, uint64_t> reads;
  uint64_t most_in_memory = 0;
};

Weighted DrawWeighted(const std::shared_ptr<const PlanSpec>& spec,
                      uint32_t format, int64_t epoch, uint64_t position,
                      const SampleSet& in_memory, const MemoryLimits& limits,
                      uint64_t lag, uint64_t end = UINT64_MAX) {
  const HeldSets held = Held(spec, epoch);
  ReadRange range;
  if (end != UINT64_MAX) {
    range = FindRange(Plan(spec, epoch, held, position).get(), format, end);
  }
  ReadOrder order(Plan(spec, epoch, held, position), format, {in_memory},
                  limits, {}, {}, range);
  const SampleSet retained = Retained(*spec, format, limits);
  const std::unique_ptr<EpochPlan> plan = Plan(spec, epoch, held, position);
  std::map<uint64_t, uint64_t> memory;  // loads of each
  for (uint64_t i = 0; i < SampleCount(spec->formats[format]); ++i) {
    if (in_memory.contains(i)) memory[i] = 1;
  }
  Weighted outcome;
  const auto read_on = [&]() {
    PlannedRead read;
    if (!order.Next(&read)) return false;
    ++outcome.reads[read.record];
    ++memory[read.record];
    return true;
  };
  while (plan->position() < std::min(end, plan->size())) {
    const Draw draw = plan->Next();
    if (draw.format != format) continue;
    for (uint64_t i = 0; i < lag; ++i) read_on();
    while (memory.count(draw.record) == 0) {
      if (read_on()) continue;
      ADD_FAILURE() << "the order ended before sample " << draw.sample;
      return outcome;
    }
    outcome.most_in_memory =
        std::max<uint64_t>(outcome.most_in_memory, memory.size());
    if (draw.keep && retained.contains(draw.record)) continue;
    if (--memory[draw.record] == 0) memory.erase(draw.record);
  }
  EXPECT_FALSE(read_on()) << "a read of no use";
  for (const auto& [record, loads] : memory) {
    EXPECT_TRUE(retained.contains(record)) << record << " was not drawn";
    EXPECT_EQ(loads, 1u);
  }
  return outcome;
}

TEST(WeightedReadOrderTest, ReadsEachDrawOfWhatIsNotPinnedAndPinnedOnesOnce) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 120; ++i) {
    auto made = std::make_shared<PlanSpec>(RandomSpec(&random, 90));
    Weights::Options options;
    if (!Weigh(&random, made.get(), &options)) continue;
    const std::shared_ptr<const PlanSpec> spec = made;
    const auto epoch = static_cast<int64_t>(random.Below(3));
    const uint64_t size = EpochSize(*spec);
    const bool begun = random.Below(3) == 0;
    const uint64_t position = begun ? random.Below(size + 1) : 0;
    const uint64_t end = random.Below(3) == 0
                             ? position + random.Below(size - position + 1)
                             : UINT64_MAX;
    const HeldSets held = Held(spec, epoch);
    for (uint32_t f = 0; f < spec->formats.size(); ++f) {
      const uint64_t cached = spec->formats[f].cached;
      MemoryLimits limits;
      if (random.Below(2) == 0) {
        limits.kept = random.Below(cached + 1);
        limits.resident = limits.kept + random.Below(20);
      }
      const SampleSet retained = Retained(*spec, f, limits);
      SampleSet in_memory(SampleCount(spec->formats[f]));
      std::map<uint64_t, uint64_t> expected;
      for (uint64_t k = 0; k < SampleCount(spec->formats[f]); ++k) {
        const bool there = held[f].contains(k) && retained.contains(k);
        if (there && !begun && random.Below(4) > 0) in_memory.insert(k);
      }
      const auto plan = Plan(spec, epoch, held, position);
      while (plan->position() < std::min(end, size)) {
        const Draw draw = plan->Next();
        if (draw.format != f || in_memory.contains(draw.record)) continue;
        uint64_t& reads = expected[draw.record];
        if (reads == 0 || !retained.contains(draw.record)) ++reads;
      }
      for (const uint64_t lag : {0, 3}) {
        const Weighted outcome =
            DrawWeighted(spec, f, epoch, position, in_memory, limits, lag, end);
        EXPECT_EQ(outcome.reads, expected);
        if (lag == 0 && limits.resident < UINT64_MAX) {
          EXPECT_LE(outcome.most_in_memory, limits.resident + 1);
        }
      }
      if (HasFailure()) FAIL() << "case " << i << ", format " << f;
    }
  }
}

}  // namespace
}  // namespace liquid::read_order_test
