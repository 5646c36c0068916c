// An epoch is what the planner says, whatever memory and the reader do.
#include "ops/engine/epoch_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/engine/begin_epoch.h"
#include "ops/engine/pixel_record.h"
#include "ops/sampler/planner.h"
#include "tests/ops/engine/memory_records.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::epoch_draws_test {
namespace {

using testing::IsEmpty;

constexpr uint32_t kGroups = 3;  // of a record of many samples

using SpecPtr = std::shared_ptr<const PlanSpec>;
// Format and sample of each draw.
using Order = std::vector<std::pair<uint32_t, uint64_t>>;

// Samples that are their own numbers.
class Numbered : public RecordSamples {
 public:
  std::shared_ptr<Record> Get(const Record&, uint64_t sample,
                              uint32_t groups) const override {
    auto made = MakeRecord(sample);
    made->groups = groups;
    return made;
  }
};

// What an epoch was, and what it took.
struct Ran {
  Order order;
  std::vector<uint64_t> batches;  // their sizes
  std::vector<bool> lasts;
  uint64_t hits = 0;
  uint64_t loads = 0;
  uint64_t reads = 0;       // of records
  uint64_t disk_bytes = 0;  // that batches are charged with
  Status status;
};

// Runs of one snapshot, whose reader does as a test wants.
struct Runs {
  explicit Runs(SpecPtr the_spec) : spec(std::move(the_spec)) {
    Snapshot::Config config;
    config.spec = spec;
    for (size_t f = 0; f < spec->formats.size(); ++f) {
      config.formats.push_back("format " + std::to_string(f));
    }
    EXPECT_TRUE(snapshot->Configure(config).ok());
    plan.message.plan.batch_size = static_cast<int64_t>(spec->batch_size);
    plan.message.cache_bytes = INT64_MAX;
    limits.resize(spec->formats.size());
  }

  RecordPtr Read(const PlannedRead& read, uint32_t format) const {
    std::shared_ptr<Record> record;
    if (format == bad_format && read.record % 3 == 0) {
      record = MakeBadRecord(read.record, DataLoss("bad"));
    } else {
      record = MakeRecord(read.record);
    }
    record->disk_bytes = 100;
    if (!spec->formats[format].record_samples.empty()) {
      record->samples = std::make_unique<Numbered>();
      record->groups = read.groups;
      record->all_groups = kGroups;
    }
    return record;
  }

  // Makes the epoch of a lease.
  Status Begin(Snapshot::Lease lease) {
    EpochOptions options;
    options.message = &plan.message;
    options.draws = &plan;
    options.limits = limits;
    options.fidelity = fidelity;
    formats.assign(spec->formats.size(), FormatPlan());
    std::vector<FormatPlan*> plans;
    for (size_t f = 0; f < formats.size(); ++f) {
      formats[f].number = static_cast<uint32_t>(f);
      plans.push_back(&formats[f]);
    }
    draws.reset();
    reads = 0;
    LIQUID_RETURN_IF_ERROR(
        BeginEpoch(options, snapshot.get(), std::move(lease), plans, &draws));
    orders.clear();
    for (size_t f = 0; f < formats.size(); ++f) {
      std::vector<uint32_t> groups;
      if (!spec->formats[f].record_samples.empty()) {
        groups.assign(StoredCount(spec->formats[f]), kGroups);
      }
      orders.emplace_back();
      LIQUID_RETURN_IF_ERROR(
          formats[f].MakeReadOrder(std::move(groups), &orders.back()));
    }
    return OkStatus();
  }

  Status Begin(int64_t epoch, uint64_t step = 0) {
    Snapshot::Lease lease;
    LIQUID_RETURN_IF_ERROR(snapshot->Take(epoch, step, &lease));
    return Begin(std::move(lease));
  }

  Status Next(RecordBlock* block) {
    return draws->Next(
        [this](uint32_t format, std::vector<RecordPtr>* records) {
          if (fails_at == reads) return Unavailable("no such luck");
          PlannedRead read;
          for (size_t i = 0; i < at_once; ++i) {
            if (!orders[format]->Next(&read)) break;
            records->push_back(Read(read, format));
            ++reads;
          }
          return OkStatus();
        },
        block);
  }

  // Draws so many batches of what was begun, or all.
  Ran Draw(uint64_t most = UINT64_MAX) {
    Ran ran;
    std::vector<std::shared_ptr<BatchCost>> costs;
    while (!draws->AtEnd() && ran.batches.size() < most) {
      RecordBlock block;
      const uint64_t position = draws->plan().position();
      ran.status = Next(&block);
      if (!ran.status.ok()) return ran;
      EXPECT_EQ(block.first_draw, position);
      EXPECT_EQ(block.epoch, draws->plan().epoch());
      EXPECT_EQ(block.last, draws->AtEnd());
      EXPECT_EQ(block.part, formats[0].end < draws->plan().size());
      EXPECT_NE(block.run, nullptr);
      for (const RecordBlock::Item& item : block.items) {
        ran.order.emplace_back(item.format, item.record->row.sample);
        ran.hits += item.memory_hit;
        ran.loads += item.load;
      }
      ran.batches.push_back(block.items.size());
      ran.lasts.push_back(block.last);
      costs.push_back(block.cost);
    }
    ran.reads = reads;
    for (const auto& cost : costs) ran.disk_bytes += cost->disk_bytes;
    return ran;
  }

  // A whole epoch.
  Ran Run(int64_t epoch) {
    const Status begun = Begin(epoch);
    EXPECT_TRUE(begun.ok()) << begun.message();
    if (!begun.ok()) return Ran();
    Ran ran = Draw();
    EXPECT_TRUE(ran.status.ok()) << ran.status.message();
    draws.reset();
    return ran;
  }

  const SpecPtr spec;
  std::shared_ptr<Snapshot> snapshot = std::make_shared<Snapshot>();
  DrawPlan plan;
  std::vector<MemoryLimits> limits;
  Fidelity fidelity;
  size_t at_once = 5;                // records that a reader gives
  uint64_t fails_at = UINT64_MAX;    // reads before it fails
  uint32_t bad_format = UINT32_MAX;  // a third of whose records is bad
  uint64_t reads = 0;                // of the epoch that was begun
  std::vector<FormatPlan> formats;
  std::vector<std::unique_ptr<ReadOrder>> orders;
  std::unique_ptr<EpochDraws> draws;
};

// An epoch by the planner alone.
std::unique_ptr<EpochPlan> Plan(const SpecPtr& spec, int64_t epoch) {
  HeldSets held;
  EXPECT_TRUE(HeldAt(spec, 0, NothingHeld(*spec), epoch, &held).ok());
  std::unique_ptr<EpochPlan> plan;
  EXPECT_TRUE(EpochPlan::Create(spec, epoch, std::move(held), &plan).ok());
  return plan;
}

Order Planned(const SpecPtr& spec, int64_t epoch, uint64_t from = 0,
              uint64_t to = UINT64_MAX) {
  const auto plan = Plan(spec, epoch);
  plan->Skip(from);
  Order order;
  while (plan->position() < std::min(to, plan->size())) {
    const Draw draw = plan->Next();
    order.emplace_back(draw.format, draw.sample);
  }
  return order;
}

// Three formats, of which one is cached in part and one whole.
std::shared_ptr<PlanSpec> Three() {
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 99;
  spec->batch_size = 8;
  spec->formats.resize(3);
  spec->formats[0].files = {30, 31};
  spec->formats[0].cached = 20;
  spec->formats[1].files = {17};
  spec->formats[1].cached = 17;
  spec->formats[2].files = {11};
  return spec;
}

SpecPtr Random(uint64_t seed, int kind) {
  RandomStream random = TestStream(seed);
  auto spec = std::make_shared<PlanSpec>(RandomSpec(&random, 60));
  if (kind == 1) {
    for (FormatSpec& format : spec->formats) {
      if (random.Below(2) == 0) GroupIntoRecords(&random, &format);
    }
  }
  Weights::Options options;
  if (kind == 2 && !Weigh(&random, spec.get(), &options)) return nullptr;
  if (kind == 3) spec->shuffle = false;
  if (kind == 4) spec->policy = CachePolicy::kMinio;
  if (kind == 5) {
    spec->policy = CachePolicy::kPage;
    for (FormatSpec& format : spec->formats) format.cached = 0;
  }
  return spec;
}

TEST(EpochDrawsTest, DrawsAreThePlanners) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const SpecPtr spec = Random(seed, static_cast<int>(seed % 6));
    if (spec == nullptr) continue;
    Runs runs(spec);
    runs.at_once = 1 + seed % 7;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const Ran ran = runs.Run(epoch);
      ASSERT_EQ(ran.order, Planned(spec, epoch)) << seed << ", " << epoch;
    }
  }
}

TEST(EpochDrawsTest, BatchesAreFullButTheLast) {
  const auto spec = Three();
  Runs runs(spec);
  const Ran ran = runs.Run(0);
  std::vector<uint64_t> sizes(11, 8);
  sizes.push_back(1);  // of 89
  EXPECT_EQ(ran.batches, sizes);
  std::vector<bool> lasts(11);
  lasts.push_back(true);
  EXPECT_EQ(ran.lasts, lasts);
}

// With room for all that the plan holds, a record is read once, and only where
// it is not held.
TEST(EpochDrawsTest, WhatIsHeldIsNotReadAgain) {
  const auto spec = Three();
  Runs runs(spec);
  const Ran first = runs.Run(0);
  EXPECT_EQ(first.hits, 0u);
  EXPECT_EQ(first.reads, 89u);
  EXPECT_EQ(first.loads, 89u - 37);
  for (int64_t epoch = 1; epoch < 4; ++epoch) {
    const Ran ran = runs.Run(epoch);
    EXPECT_EQ(ran.hits, 37u);
    EXPECT_EQ(ran.reads, 52u);
    EXPECT_EQ(ran.loads, 52u);
    EXPECT_EQ(ran.disk_bytes, 5200u);
  }
}

// The limits of a plan that names none are the greatest numbers.
TEST(EpochDrawsTest, WithoutALimitAllIsKept) {
  auto spec = std::make_shared<PlanSpec>();
  spec->batch_size = 50;
  spec->formats.resize(1);
  spec->formats[0].files = {500};
  spec->formats[0].cached = 500;
  Runs runs(spec);
  runs.Run(0);
  EXPECT_EQ(runs.Run(1).hits, 500u);
}

// Less memory makes more reads, and no other order.
TEST(EpochDrawsTest, ABudgetChangesNoOrder) {
  const auto spec = Three();
  const uint64_t footprint = MakeRecord(0)->footprint();
  const auto reads = [&](const std::function<void(Runs*)>& limit) {
    Runs runs(spec);
    limit(&runs);
    runs.Run(0);
    uint64_t sum = 0;
    for (int64_t epoch = 1; epoch < 4; ++epoch) {
      const Ran ran = runs.Run(epoch);
      EXPECT_EQ(ran.order, Planned(spec, epoch));
      EXPECT_EQ(ran.reads + ran.hits, 89u);
      sum += ran.reads;
    }
    return sum;
  };
  EXPECT_EQ(reads([](Runs*) {}), 3 * 52u);
  EXPECT_EQ(reads([&](Runs* runs) {
              runs->plan.message.cache_bytes =
                  static_cast<int64_t>(10 * footprint);
            }),
            3 * 79u);
  EXPECT_EQ(reads([](Runs* runs) { runs->plan.message.cache_bytes = 0; }),
            3 * 89u);
  EXPECT_EQ(reads([](Runs* runs) { runs->limits[0].kept = 5; }),
            3 * (89u - 5 - 17));
  const uint64_t resident = reads([](Runs* runs) {
    for (MemoryLimits& of_format : runs->limits) of_format.resident = 1;
    runs->at_once = 1;
  });
  EXPECT_GE(resident, 3 * 52u);
}

TEST(EpochDrawsTest, BadRecordsAreDrawnAndNotKept) {
  const auto spec = Three();
  Runs runs(spec);
  runs.bad_format = 1;  // 6 of its 17
  EXPECT_EQ(runs.Run(0).order, Planned(spec, 0));
  const Ran ran = runs.Run(1);
  EXPECT_EQ(ran.order, Planned(spec, 1));
  EXPECT_EQ(ran.hits, 37u - 6);
  EXPECT_EQ(ran.reads, 52u + 6);
  // They cost no load: what memory should have is charged when it comes.
  EXPECT_EQ(ran.loads, 52u);
  EXPECT_EQ(ran.disk_bytes, 5800u);
}

TEST(EpochDrawsTest, AnEpochGoesOnAtAnyBatch) {
  for (uint64_t seed = 0; seed < 18; ++seed) {
    const SpecPtr spec = Random(seed, static_cast<int>(seed % 6));
    if (spec == nullptr) continue;
    const uint64_t size = EpochSize(*spec);
    const uint64_t batches = (size + spec->batch_size - 1) / spec->batch_size;
    for (uint64_t step = 0; step <= batches; step += 1 + batches / 5) {
      Runs runs(spec);
      ASSERT_TRUE(runs.snapshot->Seek({2, step}, {}, {}).ok());
      const Snapshot::Place next = runs.snapshot->Next();
      if (step * spec->batch_size > size) continue;
      ASSERT_TRUE(runs.Begin(next.epoch, next.step).ok());
      EXPECT_EQ(runs.Draw().order, Planned(spec, 2, step * spec->batch_size))
          << seed << ", " << step;
      runs.draws.reset();
      EXPECT_EQ(runs.Run(3).order, Planned(spec, 3)) << seed << ", " << step;
    }
  }
}

// A checkpoint has the epoch, the draw and what was held.
TEST(EpochDrawsTest, ARestoredEpochGoesOn) {
  const SpecPtr spec = Three();
  for (const uint64_t batches : {0, 1, 7, 11, 12}) {
    Runs saved(spec);
    saved.Run(0);
    ASSERT_TRUE(saved.Begin(1).ok());
    Order order = saved.Draw(batches).order;
    const uint64_t position = saved.draws->plan().position();
    const HeldSets held = saved.draws->plan().held();

    Runs runs(spec);
    Snapshot::Lease lease;
    ASSERT_TRUE(runs.snapshot
                    ->Restore(saved.snapshot->Cached(), {}, 1, position, held,
                              position == 89, &lease)
                    .ok());
    ASSERT_TRUE(runs.Begin(std::move(lease)).ok());
    const Ran rest = runs.Draw();
    ASSERT_TRUE(rest.status.ok()) << rest.status.message();
    EXPECT_EQ(rest.hits, 0u);
    order.insert(order.end(), rest.order.begin(), rest.order.end());
    EXPECT_EQ(order, Planned(spec, 1)) << batches;
    runs.draws.reset();
    EXPECT_EQ(runs.snapshot->Next().epoch, batches == 12 ? 2 : 1);
    // What it kept serves the next one.
    const Ran next = runs.Run(2);
    EXPECT_EQ(next.order, Planned(spec, 2)) << batches;
    if (batches == 0) {
      EXPECT_EQ(next.hits, 37u);
    }
  }
}

TEST(EpochDrawsTest, AStepBehindTheEpochIsRefused) {
  Runs runs(Three());
  for (const uint64_t step :
       {uint64_t{13}, uint64_t{1} << 62, UINT64_MAX - 1}) {
    const Status status = runs.Begin(0, step);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << step;
    EXPECT_EQ(status.message(),
              "initial_step lies behind the 89 samples of epoch 0");
  }
  // What was refused owns nothing.
  Snapshot::Lease lease;
  ASSERT_TRUE(runs.snapshot->Take(0, 0, &lease).ok());
  EXPECT_TRUE(runs.snapshot->Own(lease.run.get()));
}

TEST(EpochDrawsTest, APartOfAnEpochEndsBeforeADraw) {
  std::vector<SpecPtr> specs = {Three()};
  for (uint64_t seed = 0; specs.size() < 9; ++seed) {
    const SpecPtr spec = Random(seed, static_cast<int>(seed % 6));
    if (spec != nullptr && EpochSize(*spec) > 0) specs.push_back(spec);
  }
  for (const SpecPtr& spec : specs) {
    const uint64_t batches =
        (EpochSize(*spec) + spec->batch_size - 1) / spec->batch_size;
    Runs runs(spec);
    Order order;
    for (uint64_t first = 0; first < batches; first += 2) {
      runs.plan.first_step = static_cast<int64_t>(first);
      runs.plan.steps = 2;
      ASSERT_TRUE(runs.Begin(1, first).ok());
      const Ran ran = runs.Draw();
      ASSERT_TRUE(ran.status.ok()) << ran.status.message();
      EXPECT_LE(ran.batches.size(), 2u);
      EXPECT_TRUE(runs.draws->AtEnd());
      order.insert(order.end(), ran.order.begin(), ran.order.end());
    }
    EXPECT_EQ(order, Planned(spec, 1));
  }
}

TEST(EpochDrawsTest, ADroppedRemainderIsDrawnForTheNextEpoch) {
  auto spec = Three();
  spec->batch_size = 9;  // 8 are left, and some of them kept
  Runs runs(spec);
  runs.plan.message.drop_remainder = true;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(runs.Run(epoch).order, Planned(spec, epoch, 0, 81));
  }
  // It was decided without drawing the epochs again.
  HeldSets held;
  ASSERT_TRUE(HeldAt(spec, 0, NothingHeld(*spec), 3, &held).ok());
  Snapshot::Lease lease;
  ASSERT_TRUE(runs.snapshot->Take(3, 0, &lease).ok());
  EXPECT_EQ(lease.held, held);
}

TEST(EpochDrawsTest, AnEpochThatIsLeftChangesNoOther) {
  const SpecPtr spec = Three();
  Runs runs(spec);
  for (const uint64_t batches : {0, 1, 5, 11}) {
    ASSERT_TRUE(runs.Begin(1).ok());
    runs.Draw(batches);
    runs.draws.reset();
  }
  const Ran ran = runs.Run(1);
  EXPECT_EQ(ran.order, Planned(spec, 1));
  // Of what was left some was of use.
  EXPECT_GT(ran.hits, 0u);
}

// One of two runs has the cache; both have the order.
TEST(EpochDrawsTest, TwoRunsOfAnEpochAreAlike) {
  const SpecPtr spec = Three();
  Runs first(spec);
  first.Run(0);
  ASSERT_TRUE(first.Begin(1).ok());
  Runs second(spec);
  second.snapshot = first.snapshot;
  ASSERT_TRUE(second.Begin(1).ok());
  Ran a, b;
  for (int i = 0; i < 11; ++i) {
    const Ran one = first.Draw(1);
    const Ran other = second.Draw(1);
    ASSERT_EQ(one.order, other.order);
    a.hits += one.hits;
    b.hits += other.hits;
  }
  // The other one is left, and takes nothing from the one that goes on.
  second.draws.reset();
  a.hits += first.Draw().hits;
  EXPECT_EQ(a.hits, 37u);
  EXPECT_EQ(b.hits, 0u);
  EXPECT_EQ(first.Run(2).hits, 37u);
}

TEST(EpochDrawsTest, KeptPixelsArePromised) {
  const SpecPtr spec = Three();
  Runs runs(spec);
  runs.plan.message.keep_pixels = true;
  runs.Run(0);  // nothing is decoded
  EXPECT_EQ(runs.Run(1).hits, 0u);
  ASSERT_TRUE(runs.Begin(2).ok());
  uint64_t promises = 0;
  while (!runs.draws->AtEnd()) {
    RecordBlock block;
    ASSERT_TRUE(runs.Next(&block).ok());
    for (const RecordBlock::Item& item : block.items) {
      if (item.promise == nullptr) continue;
      ++promises;
      EXPECT_FALSE(item.load);
      std::shared_ptr<Record> made;
      std::vector<uint8_t*> pixels;
      ASSERT_TRUE(
          MakePixelRecord(*item.record, {{"", kImage}}, &made, &pixels).ok());
      item.promise->Fulfil(made);
    }
  }
  EXPECT_EQ(promises, 37u);
  runs.draws.reset();
  EXPECT_EQ(runs.Run(3).hits, 37u);
}

TEST(EpochDrawsTest, FewerScanGroupsAreReadWhereFewerAreWanted) {
  auto spec = Three();
  spec->formats[0].record_samples.assign(61, 4);
  Runs runs(spec);
  ASSERT_TRUE(Fidelity::Create({1, 1, 2}, &runs.fidelity).ok());
  ASSERT_TRUE(runs.Begin(0).ok());
  uint64_t batch = 0;
  Order order;
  while (!runs.draws->AtEnd()) {
    RecordBlock block;
    ASSERT_TRUE(runs.Next(&block).ok());
    for (const RecordBlock::Item& item : block.items) {
      order.emplace_back(item.format, item.record->row.sample);
      EXPECT_EQ(item.whole, item.format != 0);
      if (item.whole) continue;
      EXPECT_EQ(item.record->groups, batch < 2 ? 1u : 2u);
    }
    ++batch;
  }
  EXPECT_EQ(order, Planned(spec, 0));
}

TEST(EpochDrawsTest, WhatTheReaderSaysIsPassedOn) {
  Runs runs(Three());
  runs.fails_at = 40;
  ASSERT_TRUE(runs.Begin(0).ok());
  const Ran ran = runs.Draw();
  EXPECT_EQ(ran.status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(ran.status.message(), "no such luck");
  const Order planned = Planned(runs.spec, 0);
  EXPECT_FALSE(ran.order.empty());
  EXPECT_TRUE(std::equal(ran.order.begin(), ran.order.end(), planned.begin()));
}

TEST(EpochDrawsTest, AReaderThatEndsTooEarlyIsNamed) {
  Runs runs(Three());
  runs.at_once = 0;
  ASSERT_TRUE(runs.Begin(0).ok());
  const Ran ran = runs.Draw();
  EXPECT_EQ(ran.status.code(), StatusCode::kInvalidArgument);
  const auto [format, sample] = Planned(runs.spec, 0)[0];
  EXPECT_EQ(ran.status.message(),
            "interleave: dataset " + std::to_string(format) +
                " ended before record " + std::to_string(sample) +
                ": its elements must be those of format_dataset(), in order");
  EXPECT_THAT(ran.order, IsEmpty());
}

}  // namespace
}  // namespace liquid::epoch_draws_test
