// Formats whose records hold many samples, through the planner.
#include "ops/sampler/open_records.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::open_records_test {
namespace {

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

bool HasRecords(const PlanSpec& spec, uint32_t f) {
  return !spec.formats[f].record_samples.empty();
}

// `files` files of `records` records of `samples` samples, the last of one
// less.
PlanSpec OneFormat(uint64_t files, uint64_t records, uint32_t samples,
                   uint64_t cached, uint64_t batch_size, uint64_t fill) {
  PlanSpec spec;
  spec.seed = 5;
  spec.batch_size = batch_size;
  spec.formats.resize(1);
  FormatSpec& format = spec.formats[0];
  format.files.assign(files, records);
  format.cached = cached;
  format.fill = fill;
  format.record_samples.assign(files * records, samples);
  --format.record_samples.back();
  return spec;
}

// 1 to 5 formats, one or more of which have records of many samples.
PlanSpec MixedSpec(RandomStream* random, uint64_t most) {
  PlanSpec spec = RandomSpec(random, most);
  for (FormatSpec& format : spec.formats) {
    if (random->Below(3) > 0) GroupIntoRecords(random, &format);
  }
  return spec;
}

// What an epoch does with the records of one format.
struct Ledger {
  Ledger(const FormatSpec& format, const SampleSet& held)
      : held(held), left(format.record_samples), opened(left.size()) {
    uint64_t first = 0;
    for (uint64_t r = 0; r < left.size(); ++r) {
      owner.insert(owner.end(), left[r], r);
      first += left[r];
    }
    drawn.resize(first);
  }

  void Check(const Draw& draw, uint64_t loads_before) {
    ASSERT_LT(draw.sample, owner.size());
    EXPECT_FALSE(drawn[draw.sample]) << "drawn twice";
    drawn[draw.sample] = true;
    ASSERT_EQ(draw.record, owner[draw.sample]);
    if (opened[draw.record] == nullptr) {
      opened[draw.record] = std::make_unique<Draw>(draw);
      ++open;
      EXPECT_EQ(draw.load == Draw::kHeld, held.contains(draw.record));
      if (draw.load != Draw::kHeld) {
        EXPECT_LT(static_cast<uint64_t>(draw.load), loads_before);
        EXPECT_TRUE(loads.insert(draw.load).second) << "one load, two records";
      }
    }
    EXPECT_EQ(opened[draw.record]->load, draw.load);
    EXPECT_EQ(opened[draw.record]->keep, draw.keep);
    EXPECT_EQ(draw.last, --left[draw.record] == 0);
    if (draw.last) {
      --open;
      kept += draw.keep;
      gone += !draw.keep;
    }
    most_open = std::max(most_open, open);
  }

  const SampleSet& held;
  std::vector<uint32_t> left;
  std::vector<uint64_t> owner;
  std::vector<bool> drawn;
  std::vector<std::unique_ptr<Draw>> opened;  // the first draw of each record
  std::set<int64_t> loads;
  uint64_t open = 0, most_open = 0, kept = 0, gone = 0;
};

HeldSets CheckEpoch(const PlanSpec& spec, int64_t epoch, const HeldSets& held) {
  const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
  std::vector<Ledger> ledgers;
  std::vector<BatchPart> turns(spec.formats.size());
  for (uint32_t f = 0; f < spec.formats.size(); ++f) {
    ledgers.emplace_back(spec.formats[f], held[f]);
  }
  while (plan->position() < plan->size()) {
    if (plan->position() % spec.batch_size == 0) {
      for (uint32_t f = 0; f < spec.formats.size(); ++f) {
        if (!HasRecords(spec, f)) continue;
        turns[f].drawn += plan->turns(f).drawn;
        turns[f].kept += plan->turns(f).kept;
      }
    }
    const uint32_t f = plan->PeekFormat();
    const uint64_t loads_before = plan->loads(f);
    const Draw draw = plan->Next();
    EXPECT_EQ(draw.format, f);
    if (!HasRecords(spec, f)) {
      EXPECT_EQ(draw.record, draw.sample);
      EXPECT_TRUE(draw.last);
      continue;
    }
    // A record may be loaded for the very draw.
    ledgers[f].Check(draw, std::max(loads_before, plan->loads(f)));
    if (testing::Test::HasFatalFailure()) return held;
  }
  for (uint32_t f = 0; f < spec.formats.size(); ++f) {
    EXPECT_EQ(plan->kept()[f].count(), spec.formats[f].cached);
    if (!HasRecords(spec, f)) continue;
    const uint64_t records = RecordCount(spec.formats[f]);
    EXPECT_EQ(ledgers[f].kept, spec.formats[f].cached);
    EXPECT_EQ(ledgers[f].kept + ledgers[f].gone, records);
    EXPECT_EQ(plan->loads(f), records - held[f].count());
    EXPECT_EQ(turns[f].drawn, records);
    EXPECT_EQ(turns[f].kept, spec.formats[f].cached);
    for (uint64_t r = 0; r < records; ++r) {
      EXPECT_EQ(plan->kept()[f].contains(r), ledgers[f].opened[r]->keep);
    }
  }
  return plan->kept();
}

TEST(OpenRecordsTest, EveryDrawOfThreeEpochsIsLegal) {
  RandomStream random = TestStream(11);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    PlanSpec spec = MixedSpec(&random, i % 3 == 0 ? 8 : 200);
    spec.shuffle = i % 8 != 0;
    HeldSets held = NothingHeld(spec);
    for (int64_t epoch = 0; epoch < 3 && !HasFailure(); ++epoch) {
      held = CheckEpoch(spec, epoch, held);
    }
  }
}

// Samples of every format, and records of those that have many samples in one,
// are in every full batch the floor or the ceiling of their mean.
TEST(OpenRecordsTest, EveryFullBatchCostsTheSameToOne) {
  RandomStream random = TestStream(12);
  int batches_seen = 0;
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const PlanSpec spec = MixedSpec(&random, 400);
    const std::unique_ptr<EpochPlan> plan =
        MakePlan(spec, 0, NothingHeld(spec));
    const uint64_t batches = plan->size() / spec.batch_size;
    const size_t formats = spec.formats.size();
    struct Range {
      void Add(uint64_t value) {
        least = std::min(least, value);
        most = std::max(most, value);
      }
      uint64_t least = ~uint64_t{0}, most = 0;
    };
    std::vector<Range> drawn(formats), turned(formats), kept(formats),
        evicted(formats);
    std::vector<std::vector<BatchPart>> running(formats);
    std::vector<BatchPart> before(formats);
    for (uint64_t b = 0; b < batches; ++b) {
      for (uint32_t f = 0; f < formats; ++f) {
        if (!HasRecords(spec, f)) continue;
        const BatchPart now = plan->turns(f);
        turned[f].Add(now.drawn);
        kept[f].Add(now.kept);
        evicted[f].Add(now.drawn - now.kept);
        before[f].drawn += now.drawn;
        before[f].kept += now.kept;
        running[f].push_back(before[f]);
        ++batches_seen;
      }
      std::vector<uint64_t> count(formats);
      for (uint64_t j = 0; j < spec.batch_size; ++j) {
        ++count[plan->Next().format];
      }
      for (uint32_t f = 0; f < formats; ++f) drawn[f].Add(count[f]);
    }
    if (batches == 0) continue;
    for (uint32_t f = 0; f < formats; ++f) {
      EXPECT_LE(drawn[f].most, drawn[f].least + 1);
      if (!HasRecords(spec, f)) continue;
      EXPECT_LE(turned[f].most, turned[f].least + 1);
      EXPECT_LE(kept[f].most, kept[f].least + 1);
      EXPECT_LE(evicted[f].most, evicted[f].least + 1);
      const BatchPart all = running[f].back();
      for (uint64_t b = 0; b < batches; ++b) {
        const double share = (b + 1.0) / batches;
        EXPECT_NEAR(running[f][b].drawn, share * all.drawn, 2);
        EXPECT_NEAR(running[f][b].kept, share * all.kept, 2);
        EXPECT_NEAR(running[f][b].drawn - running[f][b].kept,
                    share * (all.drawn - all.kept), 2);
      }
    }
  }
  EXPECT_GT(batches_seen, 10000);
}

TEST(OpenRecordsTest, RecordsInMemoryAreBounded) {
  for (const uint64_t cached : {0, 40, 90, 100}) {
    for (const uint64_t batch_size : {8, 32, 100, 700}) {
      SCOPED_TRACE(testing::Message() << cached << ", " << batch_size);
      const PlanSpec spec = OneFormat(4, 25, 16, cached, batch_size, 160);
      HeldSets held = NothingHeld(spec);
      const uint64_t share = (batch_size + 15) / 16;
      const uint64_t ahead = 11;  // 160 samples, of records of almost 16
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
        Ledger ledger(spec.formats[0], held[0]);
        uint64_t most = 0;
        while (plan->position() < plan->size()) {
          most = std::max(most, held[0].count() + plan->loads(0) - ledger.gone);
          ledger.Check(plan->Next(), plan->loads(0));
        }
        EXPECT_LE(ledger.most_open, 3 * ahead + 1);
        EXPECT_LE(most, cached + 2 * share + ahead + 3 * ahead + 1);
        held = plan->kept();
      }
    }
  }
}

TEST(OpenRecordsTest, DrawsUniformlyFromOpenRecords) {
  // Room for 3 records of 4 samples: 12 samples, whichever records these are.
  const PlanSpec spec = OneFormat(1, 12, 4, 0, 4, 12);
  std::vector<int> load(12), place(4);
  constexpr int kEpochs = 12000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Draw first = MakePlan(spec, epoch, NothingHeld(spec))->Next();
    ++load[first.load];
    ++place[first.sample % 4];
  }
  for (int count : place) EXPECT_NEAR(count, kEpochs / 4, 200);  // 4.2 sigma
  EXPECT_GT(std::count_if(load.begin(), load.end(),
                          [](int count) { return count > 0; }),
            3);
}

TEST(OpenRecordsTest, EveryRecordIsKeptEquallyOften) {
  PlanSpec spec = OneFormat(1, 32, 3, 8, 4, 0);
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

// Samples of one record come as far apart as a window of that size allows.
TEST(OpenRecordsTest, SamplesOfARecordSpread) {
  const PlanSpec spec = OneFormat(10, 20, 64, 0, 32, 640);
  const std::unique_ptr<EpochPlan> plan = MakePlan(spec, 0, NothingHeld(spec));
  std::vector<double> at(plan->size());
  uint64_t runs = 0;
  uint64_t previous = ~uint64_t{0};
  while (plan->position() < plan->size()) {
    const uint64_t position = plan->position();
    const Draw draw = plan->Next();
    at[draw.sample] = static_cast<double>(position);
    runs += draw.record == previous;
    previous = draw.record;
  }
  double apart = 0;
  for (size_t i = 1; i < at.size(); ++i) apart += std::fabs(at[i] - at[i - 1]);
  apart /= static_cast<double>(at.size() - 1);
  RecordProperty("mean distance of neighbours", std::to_string(apart));
  RecordProperty("draws from the record of the draw before",
                 std::to_string(runs));
  // 640 draws apart, were every draw left to chance.
  EXPECT_GT(apart, 480);
  EXPECT_LT(runs, plan->size() / 12);
}

TEST(OpenRecordsTest, StoredOrder) {
  PlanSpec spec = OneFormat(1, 3, 2, 1, 2, 0);  // 5 samples
  spec.shuffle = false;
  HeldSets held = NothingHeld(spec);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::unique_ptr<EpochPlan> plan = MakePlan(spec, epoch, held);
    const int64_t skip = epoch == 0 ? 0 : 1;
    const std::vector<Draw> expected = {{0, 0, 0 - skip, true, 0, false},
                                        {0, 1, 0 - skip, true, 0, true},
                                        {0, 2, 1 - skip, false, 1, false},
                                        {0, 3, 1 - skip, false, 1, true},
                                        {0, 4, 2 - skip, false, 2, true}};
    EXPECT_TRUE(Draws(plan.get()) == expected) << "epoch " << epoch;
    held = plan->kept();
  }
}

TEST(OpenRecordsTest, SkippingIsDrawingAndEpochsAreReplayed) {
  RandomStream random = TestStream(13);
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const auto spec = std::make_shared<const PlanSpec>(MixedSpec(&random, 100));
    HeldSets held;
    ASSERT_TRUE(HeldAt(spec, 0, NothingHeld(*spec), 3, &held).ok());
    const std::unique_ptr<EpochPlan> whole = MakePlan(*spec, 3, held);
    const std::vector<Draw> draws = Draws(whole.get());
    const uint64_t skipped = random.Below(draws.size() + 1);
    const std::unique_ptr<EpochPlan> rest = MakePlan(*spec, 3, held);
    rest->Skip(skipped);
    EXPECT_TRUE(Draws(rest.get()) ==
                std::vector<Draw>(draws.begin() + skipped, draws.end()));
    EXPECT_EQ(rest->kept(), whole->kept());
    HeldSets next;
    ASSERT_TRUE(HeldAt(
                    spec, 1,
                    [&] {
                      HeldSets first;
                      EXPECT_TRUE(
                          HeldAt(spec, 0, NothingHeld(*spec), 1, &first).ok());
                      return first;
                    }(),
                    4, &next)
                    .ok());
    EXPECT_EQ(next, whole->kept());
  }
}

TEST(OpenRecordsTest, Arguments) {
  const auto error = [](const PlanSpec& spec) {
    const Status status = Validate(spec);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  PlanSpec spec = OneFormat(2, 3, 4, 0, 2, 0);
  spec.formats[0].cached = 7;
  EXPECT_THAT(error(spec), HasSubstr("formats[0].cached (7)"));
  spec.formats[0].cached = 6;
  EXPECT_TRUE(Validate(spec).ok());
  spec.formats[0].record_samples.push_back(1);
  EXPECT_EQ(error(spec),
            "formats[0].record_samples (7) must have a value for each of the 6 "
            "records");
  spec.formats[0].record_samples = {1, 2, 0, 1, 1, 1};
  EXPECT_THAT(error(spec), HasSubstr("at least 1 each"));
  spec.formats[0].record_samples = {1, ~uint32_t{0}, 1, 1, 1, 1};
  EXPECT_THAT(error(spec), HasSubstr(std::to_string(kMaxFormatSamples)));
}

}  // namespace
}  // namespace liquid::open_records_test
