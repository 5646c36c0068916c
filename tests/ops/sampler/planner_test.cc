#include "ops/sampler/planner.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/load_order.h"
#include "ops/sampler/plan_spec.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::planner_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<EpochPlan> MakePlan(const PlanSpec& spec, int64_t epoch,
                                    HeldSets held) {
  std::unique_ptr<EpochPlan> plan;
  const Status status = EpochPlan::Create(
      std::make_shared<const PlanSpec>(spec), epoch, std::move(held), &plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

std::vector<Draw> Draws(EpochPlan* plan) {
  std::vector<Draw> draws;
  while (plan->position() < plan->size()) draws.push_back(plan->Next());
  return draws;
}

// What the planner's header promises of one format's region, kept in the
// plainest way: a set of members.
struct Model {
  Model(const PlanSpec& spec, uint32_t f, int64_t epoch, const SampleSet& held)
      : samples(SampleCount(spec.formats[f])),
        cached(spec.formats[f].cached),
        held_count(held.count()),
        on_disk(samples - held_count),
        member(samples),
        drawn(samples),
        order(spec, f, epoch, &held) {
    uint64_t total = 0;
    for (const FormatSpec& format : spec.formats) total += SampleCount(format);
    const uint64_t batch = std::min(spec.batch_size, total);
    share = samples == 0 ? 0 : (batch * samples + total - 1) / total;
    fill = std::min(spec.formats[f].fill, samples);
    slack = std::max(share, fill > cached ? fill - cached : 0);
    for (uint64_t i = 0; i < samples; ++i) {
      member[i] = held.contains(i);
      undrawn += member[i];
    }
  }

  // The plan says that it has made `loads` loads.
  void LoadUpTo(uint64_t loads) {
    for (; this->loads < loads; ++this->loads) {
      uint64_t sample = 0;
      ASSERT_TRUE(order.Next(&sample));
      ASSERT_FALSE(member[sample]) << "a held sample was loaded again";
      ASSERT_FALSE(drawn[sample]) << "a sample was loaded twice";
      member[sample] = true;
      ++undrawn;
      loaded.push_back(sample);
    }
  }

  uint64_t samples, cached, held_count, on_disk;
  uint64_t share = 0, fill = 0, slack = 0;
  uint64_t undrawn = 0, kept = 0, loads = 0;
  std::vector<bool> member, drawn;
  std::vector<uint64_t> loaded;
  LoadOrder order;
};

// Draws an epoch and checks each draw against the model; returns what is kept.
HeldSets CheckEpoch(const PlanSpec& spec, int64_t epoch, const HeldSets& held) {
  const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
  std::vector<Model> models;
  for (uint32_t f = 0; f < spec.formats.size(); ++f) {
    models.emplace_back(spec, f, epoch, held[f]);
    Model& model = models.back();
    model.LoadUpTo(plan->loads(f));
    const uint64_t room = model.cached + model.slack;
    const bool ramp = model.held_count < model.cached;
    const uint64_t start =
        ramp ? std::min(room, std::max(model.fill, model.share)) : room;
    EXPECT_EQ(model.undrawn, std::min(start, model.samples));
  }
  for (uint64_t i = 0; i < plan->size(); ++i) {
    EXPECT_EQ(plan->position(), i);
    const uint32_t peeked = plan->PeekFormat();
    const uint64_t loads_before = plan->loads(peeked);
    const Draw draw = plan->Next();
    EXPECT_EQ(draw.format, peeked);
    Model& model = models[draw.format];

    EXPECT_TRUE(model.member[draw.sample]) << "drawn from outside the region";
    EXPECT_FALSE(model.drawn[draw.sample]) << "drawn twice";
    model.member[draw.sample] = false;
    model.drawn[draw.sample] = true;
    if (draw.load == Draw::kHeld) {
      EXPECT_TRUE(held[draw.format].contains(draw.sample));
    } else {
      EXPECT_LT(static_cast<uint64_t>(draw.load), loads_before);
      EXPECT_EQ(model.loaded[draw.load], draw.sample);
    }
    // The region never runs low while the disk has more.
    EXPECT_TRUE(model.undrawn >= model.slack || model.loads == model.on_disk);
    --model.undrawn;
    model.kept += draw.keep;
    EXPECT_EQ(plan->kept()[draw.format].contains(draw.sample), draw.keep);

    const uint64_t room = model.cached + model.slack;
    uint64_t loads = plan->loads(draw.format) - loads_before;
    EXPECT_EQ(loads,
              std::min({uint64_t{2}, model.on_disk - model.loads,
                        room - std::min(room, model.undrawn + model.kept)}));
    if (model.held_count == model.cached) {
      EXPECT_EQ(loads,
                std::min<uint64_t>(!draw.keep, model.on_disk - model.loads));
    }
    model.LoadUpTo(plan->loads(draw.format));
    EXPECT_LE(model.undrawn + model.kept, room);
    if (testing::Test::HasFailure()) return held;
  }
  EXPECT_EQ(plan->position(), plan->size());
  for (uint32_t f = 0; f < spec.formats.size(); ++f) {
    EXPECT_EQ(std::count(models[f].drawn.begin(), models[f].drawn.end(), true),
              static_cast<int64_t>(models[f].samples));
    EXPECT_EQ(models[f].kept, models[f].cached);
    EXPECT_EQ(models[f].loads, models[f].on_disk);
    EXPECT_EQ(plan->kept()[f].count(), models[f].cached);
  }
  return plan->kept();
}

TEST(EpochPlanTest, EveryDrawOfThreeEpochsIsLegal) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 4000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    PlanSpec spec = RandomSpec(&random, i % 3 == 0 ? 6 : 120);
    spec.shuffle = i % 8 != 0;
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 3 && !HasFailure(); ++epoch) {
      held = CheckEpoch(spec, epoch, held);
    }
  }
}

TEST(EpochPlanTest, EveryFullBatchHasTheSameCompositionToOne) {
  RandomStream random = TestStream(2);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const PlanSpec spec = RandomSpec(&random, 300);
    const std::unique_ptr<EpochPlan> plan =
        MakePlan(spec, 0, NothingHeld(spec));
    const size_t formats = spec.formats.size();
    // The last count is that of all formats.
    std::vector<std::vector<uint64_t>> least(
        3, std::vector<uint64_t>(formats + 1, ~uint64_t{0}));
    std::vector<std::vector<uint64_t>> most(3,
                                            std::vector<uint64_t>(formats + 1));
    for (uint64_t b = 0; b < plan->size() / spec.batch_size; ++b) {
      std::vector<std::vector<uint64_t>> count(
          3, std::vector<uint64_t>(formats + 1));
      for (uint64_t j = 0; j < spec.batch_size; ++j) {
        const Draw draw = plan->Next();
        ++count[0][draw.format];
        ++count[draw.keep ? 1 : 2][draw.format];
        ++count[0][formats];
        ++count[draw.keep ? 1 : 2][formats];
      }
      for (int kind = 0; kind < 3; ++kind) {
        for (size_t f = 0; f <= formats; ++f) {
          least[kind][f] = std::min(least[kind][f], count[kind][f]);
          most[kind][f] = std::max(most[kind][f], count[kind][f]);
        }
      }
    }
    if (plan->position() == 0) continue;
    for (int kind = 0; kind < 3; ++kind) {
      for (size_t f = 0; f <= formats; ++f) {
        EXPECT_LE(most[kind][f], least[kind][f] + 1);
      }
    }
  }
}

TEST(EpochPlanTest, SkippingIsDrawing) {
  RandomStream random = TestStream(3);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const PlanSpec spec = RandomSpec(&random, 60);
    const std::unique_ptr<EpochPlan> whole =
        MakePlan(spec, 4, NothingHeld(spec));
    const std::vector<Draw> draws = Draws(whole.get());
    const uint64_t skipped = random.Below(draws.size() + 1);
    const std::unique_ptr<EpochPlan> rest =
        MakePlan(spec, 4, NothingHeld(spec));
    rest->Skip(skipped);
    EXPECT_EQ(rest->position(), skipped);
    EXPECT_TRUE(Draws(rest.get()) ==
                std::vector<Draw>(draws.begin() + skipped, draws.end()));
    EXPECT_EQ(rest->kept(), whole->kept());
    rest->Skip(5);
    EXPECT_EQ(rest->position(), rest->size());
  }
}

PlanSpec OneFormat(uint64_t samples, uint64_t cached, uint64_t batch_size) {
  PlanSpec spec;
  spec.seed = 5;
  spec.batch_size = batch_size;
  spec.formats.resize(1);
  spec.formats[0].files = {samples};
  spec.formats[0].cached = cached;
  return spec;
}

TEST(EpochPlanTest, SeedsAndEpochsGiveOtherOrders) {
  PlanSpec spec = OneFormat(500, 100, 10);
  const HeldSets nothing = NothingHeld(spec);
  const auto samples = [&](int64_t epoch) {
    std::vector<uint64_t> samples;
    for (const Draw& draw : Draws(MakePlan(spec, epoch, nothing).get())) {
      samples.push_back(draw.sample);
    }
    return samples;
  };
  const std::vector<uint64_t> first = samples(0);
  EXPECT_EQ(samples(0), first);
  EXPECT_NE(samples(1), first);
  spec.seed = uint64_t{5} | uint64_t{1} << 63;
  EXPECT_NE(samples(0), first);
}

TEST(EpochPlanTest, DrawsUniformlyFromTheRegion) {
  // Nothing cached and batches of 12: 12 samples are in memory at each draw.
  PlanSpec spec = OneFormat(48, 0, 12);
  std::vector<int> first(12);
  constexpr int kEpochs = 12000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    ++first[MakePlan(spec, epoch, NothingHeld(spec))->Next().load];
  }
  for (int count : first) EXPECT_NEAR(count, kEpochs / 12, 130);  // 4.3 sigma
}

TEST(EpochPlanTest, EverySampleIsKeptEquallyOften) {
  // The kept sets of many epochs, each from the one before: a quarter of all.
  PlanSpec spec = OneFormat(32, 8, 4);
  HeldSets held = NothingHeld(spec);
  std::vector<int> kept(32);
  constexpr int kEpochs = 16000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
    plan->Skip(plan->size());
    held = plan->kept();
    for (uint64_t i = 0; i < 32; ++i) kept[i] += held[0].contains(i);
  }
  for (int count : kept) EXPECT_NEAR(count, kEpochs / 4, 300);
}

TEST(EpochPlanTest, StoredOrderIsTheSameInEveryEpoch) {
  PlanSpec spec;
  spec.shuffle = false;
  spec.batch_size = 5;
  spec.formats.resize(3);
  spec.formats[0].files = {4, 2};  // 3 of each batch
  spec.formats[0].cached = 2;
  spec.formats[2].files = {1, 0, 3};  // 2 of each batch
  spec.formats[2].cached = 4;
  HeldSets held = NothingHeld(spec);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
    const int64_t skip0 = epoch == 0 ? 0 : 2;
    const std::vector<Draw> expected = {
        {0, 0, epoch == 0 ? 0 : -1, true}, {0, 1, epoch == 0 ? 1 : -1, true},
        {0, 2, 2 - skip0, false},          {2, 0, epoch == 0 ? 0 : -1, true},
        {2, 1, epoch == 0 ? 1 : -1, true}, {0, 3, 3 - skip0, false},
        {0, 4, 4 - skip0, false},          {0, 5, 5 - skip0, false},
        {2, 2, epoch == 0 ? 2 : -1, true}, {2, 3, epoch == 0 ? 3 : -1, true}};
    EXPECT_TRUE(Draws(plan.get()) == expected) << "epoch " << epoch;
    held = plan->kept();
  }
}

TEST(EpochPlanTest, EmptyEpochs) {
  PlanSpec spec;
  EXPECT_EQ(MakePlan(spec, 0, NothingHeld(spec))->size(), 0u);
  spec.formats.resize(2);
  spec.formats[1].files = {0, 0};
  spec.formats[1].fill = 9;
  const std::unique_ptr<EpochPlan> plan = MakePlan(spec, 3, NothingHeld(spec));
  EXPECT_EQ(plan->size(), 0u);
  EXPECT_EQ(plan->epoch(), 3);
  EXPECT_EQ(plan->loads(1), 0u);
  plan->Skip(10);
  EXPECT_EQ(plan->position(), 0u);
}

TEST(HeldAtTest, ReplaysEpochs) {
  RandomStream random = TestStream(4);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    PlanSpec spec = RandomSpec(&random, 40);
    spec.shuffle = i % 4 != 0;
    const auto shared = std::make_shared<const PlanSpec>(spec);
    const HeldSets nothing = NothingHeld(spec);
    HeldSets held = nothing;
    for (int64_t epoch = 2; epoch < 6; ++epoch) {
      HeldSets result;
      ASSERT_TRUE(HeldAt(shared, 2, nothing, epoch, &result).ok());
      EXPECT_EQ(result, held);
      const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
      plan->Skip(plan->size());
      held = plan->kept();
    }
  }
}

TEST(HeldAtTest, ImmediateWhereNothingDependsOnTheDraws) {
  // Would take years to replay.
  PlanSpec spec = OneFormat(1000, 0, 10);
  spec.formats.push_back(spec.formats[0]);
  spec.formats[1].cached = 1000;
  HeldSets held;
  ASSERT_TRUE(HeldAt(std::make_shared<const PlanSpec>(spec), 0,
                     NothingHeld(spec), int64_t{1} << 60, &held)
                  .ok());
  EXPECT_EQ(held[0].count(), 0u);
  EXPECT_EQ(held[1].count(), 1000u);
}

class ArgumentTest : public testing::Test {
 protected:
  std::string Error(const PlanSpec& spec, int64_t epoch, HeldSets held) {
    std::unique_ptr<EpochPlan> plan;
    const Status status = EpochPlan::Create(
        std::make_shared<const PlanSpec>(spec), epoch, std::move(held), &plan);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(plan, nullptr);
    return status.message();
  }
  std::string Error(const PlanSpec& spec) {
    return Error(spec, 0, NothingHeld(OneFormat(10, 4, 2)));
  }
};

TEST_F(ArgumentTest, Sizes) {
  EXPECT_EQ(Error(OneFormat(10, 4, 0)), "batch_size (0) must be at least 1");
  EXPECT_EQ(Error(OneFormat(10, 11, 2)),
            "formats[0].cached (11) must be at most the format's samples, 10");
  PlanSpec spec = OneFormat(10, 4, 2);
  spec.formats[0].files = {kMaxFormatSamples, 1};
  EXPECT_THAT(Error(spec), AllOf(HasSubstr("formats[0].files"),
                                 HasSubstr(std::to_string(kMaxFormatSamples))));
  spec.formats[0].files = {1, ~uint64_t{0}, 2};
  EXPECT_THAT(Error(spec), HasSubstr("formats[0].files"));
  spec.formats.assign(256, FormatSpec());
  EXPECT_EQ(Error(spec), "formats (256 of them) must be at most 255");
}

TEST_F(ArgumentTest, Epochs) {
  const PlanSpec spec = OneFormat(10, 4, 2);
  EXPECT_EQ(Error(spec, -1, NothingHeld(spec)),
            "epoch (-1) must be at least 0");
  HeldSets held;
  EXPECT_EQ(HeldAt(std::make_shared<const PlanSpec>(spec), 3, NothingHeld(spec),
                   2, &held)
                .message(),
            "epoch (2) must be at least first_epoch, 3");
}

TEST_F(ArgumentTest, Held) {
  PlanSpec spec = OneFormat(10, 4, 2);
  EXPECT_EQ(Error(spec, 0, {}),
            "held (0 sets) must have one set for each of the 1 formats");
  HeldSets held = NothingHeld(spec);
  for (uint64_t i : {0, 1, 5}) held[0].insert(i);
  EXPECT_EQ(Error(spec, 0, held),
            "held[0] (3 samples) must have no samples or as many as are cached "
            "of its format, 4");
  held[0].insert(10);
  EXPECT_THAT(Error(spec, 0, held), HasSubstr("numbers below 10"));
  EXPECT_THAT(Error(spec, 0, {SampleSet(65)}), HasSubstr("numbers below 10"));
  held[0].erase(10);
  held[0].insert(9);
  EXPECT_NE(MakePlan(spec, 0, held), nullptr);
  spec.shuffle = false;
  EXPECT_EQ(Error(spec, 0, held),
            "held[0] must be the first 4 samples of its format where shuffle "
            "is off");
}

}  // namespace
}  // namespace liquid::planner_test
