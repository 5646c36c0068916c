#include "ops/engine/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/engine/pixel_record.h"
#include "ops/reader/replicas.h"
#include "ops/sampler/planner.h"
#include "tests/ops/engine/memory_records.h"

namespace liquid::snapshot_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSamples = 40;

// Two formats of 40 and 24 samples, of which 10 and all are cached.
std::shared_ptr<PlanSpec> TwoFormats() {
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 7;
  spec->batch_size = 8;
  spec->formats.resize(2);
  spec->formats[0].files = {25, 15};
  spec->formats[0].cached = 10;
  spec->formats[1].files = {24};
  spec->formats[1].cached = 24;
  return spec;
}

// Two formats that share 20 samples.
std::shared_ptr<PlanSpec> Sections() {
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = 7;
  spec->batch_size = 4;
  spec->formats.resize(2);
  for (FormatSpec& format : spec->formats) format.files = {20};
  EXPECT_TRUE(CutSections({8, 12}, spec.get()).ok());
  return spec;
}

// A mix of Sections: of each format its samples, what is cached, its fill.
std::vector<int64_t> Mix(int64_t first, int64_t cached) {
  return {first, 20 - first, cached, 0, 0, 0};
}

Snapshot::Config ConfigOf(std::shared_ptr<const PlanSpec> spec) {
  Snapshot::Config config;
  config.spec = std::move(spec);
  config.formats = {"png", "raw"};
  return config;
}

std::shared_ptr<Snapshot> Make(std::shared_ptr<const PlanSpec> spec) {
  auto snapshot = std::make_shared<Snapshot>();
  EXPECT_TRUE(snapshot->Configure(ConfigOf(std::move(spec))).ok());
  return snapshot;
}

Snapshot::Lease Take(Snapshot* snapshot, int64_t epoch, uint64_t step = 0) {
  Snapshot::Lease lease;
  const Status status = snapshot->Take(epoch, step, &lease);
  EXPECT_TRUE(status.ok()) << status.message();
  return lease;
}

HeldSets HeldAt(const std::shared_ptr<const PlanSpec>& spec, int64_t epoch) {
  HeldSets held;
  EXPECT_TRUE(HeldAt(spec, 0, NothingHeld(*spec), epoch, &held).ok());
  return held;
}

// Records of every sample of a format.
RecordMap AllRecords(uint64_t samples) {
  RecordMap map;
  for (uint64_t i = 0; i < samples; ++i) map[i] = MakeRecord(i);
  return map;
}

std::vector<RecordMap> Everything() {
  std::vector<RecordMap> memory;
  memory.push_back(AllRecords(kSamples));
  memory.push_back(AllRecords(24));
  return memory;
}

std::vector<uint64_t> Counts(const std::vector<RecordMap>& memory) {
  std::vector<uint64_t> counts;
  for (const RecordMap& map : memory) counts.push_back(map.size());
  return counts;
}

void ExpectRefused(const Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(SnapshotTest, TheFirstPlanDecides) {
  const auto snapshot = Make(TwoFormats());
  Snapshot::Config again = ConfigOf(TwoFormats());
  again.initial_epoch = 5;
  ASSERT_TRUE(snapshot->Configure(again).ok());
  EXPECT_EQ(snapshot->Next().epoch, 0);
  std::vector<Snapshot::Config> others(7, again);
  others[6].formats = {"png", "bmp"};
  for (size_t i = 0; i < 6; ++i) {
    auto spec = TwoFormats();
    if (i == 0) spec->seed = 8;
    if (i == 1) spec->batch_size = 9;
    if (i == 2) spec->shuffle = false;
    if (i == 3) spec->policy = CachePolicy::kMinio;
    if (i == 4) spec->formats[0].cached = 11;
    if (i == 5) {
      Weights::Options options;
      options.samples_per_epoch = 10;
      options.shares = {1};
      options.sources = {{0, kSamples, {}}, {0, 24, {}}};
      ASSERT_TRUE(Weights::Create(options, &spec->weights).ok());
    }
    others[i].spec = std::move(spec);
  }
  for (const Snapshot::Config& other : others) {
    ExpectRefused(snapshot->Configure(other),
                  "the snapshot belongs to a dataset with another plan");
  }
  EXPECT_THAT(snapshot->Cached(), ElementsAre(10, 24));
}

TEST(SnapshotTest, BeginsWhereItIsTold) {
  Snapshot snapshot;
  Snapshot::Config config = ConfigOf(TwoFormats());
  config.initial_epoch = 4;
  config.initial_step = 3;
  ASSERT_TRUE(snapshot.Configure(config).ok());
  EXPECT_EQ(snapshot.Next().epoch, 4);
  EXPECT_EQ(snapshot.Next().step, 3u);
  EXPECT_EQ(snapshot.Sought().epoch, 4);
}

TEST(SnapshotTest, ACompleteEpochIsFollowedByTheNext) {
  const auto snapshot = Make(TwoFormats());
  ASSERT_TRUE(snapshot->Seek({2, 5}, {}, {}).ok());
  const Snapshot::Lease second = Take(snapshot.get(), 2, 5);
  EXPECT_EQ(second.epoch, 2);
  EXPECT_EQ(second.position, 40u);
  // One that is left is run again, from its start.
  EXPECT_EQ(snapshot->Next().epoch, 2);
  EXPECT_EQ(snapshot->Next().step, 5u);
  second.run->Complete();
  EXPECT_EQ(snapshot->Next().epoch, 3);
  EXPECT_EQ(snapshot->Next().step, 0u);
  EXPECT_EQ(snapshot->Sought().epoch, 2);
  // An earlier one that ends late does not lead back.
  Take(snapshot.get(), 0).run->Complete();
  EXPECT_EQ(snapshot->Next().epoch, 3);
}

TEST(SnapshotTest, WhatIsHeldIsThePlannersInAnyOrderOfEpochs) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  for (const int64_t epoch : {0, 3, 1, 7, 6, 2, 7, 0, 4}) {
    const Snapshot::Lease lease = Take(snapshot.get(), epoch, 2);
    EXPECT_EQ(lease.epoch, epoch);
    EXPECT_EQ(lease.position, 16u);
    EXPECT_EQ(lease.spec->formats, spec->formats);
    EXPECT_EQ(lease.held, HeldAt(spec, epoch)) << epoch;
  }
}

// What an owner has kept is the start of the next epoch, and is not drawn again
// to find it.
TEST(SnapshotTest, WhatAnEpochHasKeptIsTheNextOnesStart) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  const Snapshot::Lease lease = Take(snapshot.get(), 0);
  HeldSets other = HeldAt(spec, 3);
  ASSERT_NE(other, HeldAt(spec, 1));
  snapshot->Release(lease.run.get(), 0, &other, Everything());
  EXPECT_EQ(Take(snapshot.get(), 1).held, other);
}

TEST(SnapshotTest, OneRunOwnsTheCache) {
  const auto snapshot = Make(TwoFormats());
  Snapshot::Lease first = Take(snapshot.get(), 0);
  const Snapshot::Lease second = Take(snapshot.get(), 0);
  EXPECT_TRUE(snapshot->Own(first.run.get()));
  EXPECT_FALSE(snapshot->Own(second.run.get()));
  EXPECT_TRUE(snapshot->Own(first.run.get()));
  first.run.reset();
  EXPECT_TRUE(snapshot->Own(second.run.get()));
  // Another's release takes nothing from it.
  const Snapshot::Lease third = Take(snapshot.get(), 0);
  snapshot->Release(third.run.get(), 0, nullptr, Everything());
  EXPECT_TRUE(snapshot->Own(second.run.get()));
  EXPECT_THAT(snapshot->StatsJson(false),
              HasSubstr("\"cached\":{\"records\":0"));
  snapshot->Release(second.run.get(), 0, nullptr, Everything());
  EXPECT_TRUE(snapshot->Own(third.run.get()));
}

TEST(SnapshotTest, MemoryIsLentAsThePlanHoldsIt) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  const Snapshot::Lease lease = Take(snapshot.get(), 0);
  EXPECT_THAT(Counts(lease.memory), ElementsAre(0, 0));
  const HeldSets held = HeldAt(spec, 1);
  std::vector<RecordMap> memory = Everything();
  // Of what is held: a promise that nothing was decoded for, one that is kept,
  // a bad record, and a bad one in whose place a sound one was read.
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < kSamples; ++i) {
    if (held[0].contains(i)) numbers.push_back(i);
  }
  ASSERT_EQ(numbers.size(), 10u);
  const auto promise = std::make_shared<RecordPromise>();
  const RecordPtr decoded = MakeRecord(numbers[1]);
  promise->Fulfil(decoded);
  memory[0][numbers[0]] =
      PromisedRecord(*memory[0][numbers[0]], std::make_shared<RecordPromise>());
  memory[0][numbers[1]] = PromisedRecord(*memory[0][numbers[1]], promise);
  // Of a dataset with other encodings, of which none is asked here.
  const auto replicas = std::make_shared<Replicas>(
      IndexView(), std::vector<std::string>(), std::vector<uint8_t>(),
      FileOpener(), Replicas::PcrOpener());
  const RecordPtr sound = MakeRecord(numbers[3]);
  for (const uint64_t i : {numbers[2], numbers[3]}) {
    const auto bad = MakeBadRecord(i, DataLoss("bad"));
    bad->replicas = replicas;
    if (i == numbers[3]) bad->set_substitute(sound);
    memory[0][i] = bad;
  }
  const RecordPtr kept = memory[0][numbers[4]];
  snapshot->Release(lease.run.get(), 0, &held, std::move(memory));

  Snapshot::Lease next = Take(snapshot.get(), 1);
  EXPECT_THAT(Counts(next.memory), ElementsAre(8, 24));
  for (const auto& entry : next.memory[0]) {
    EXPECT_TRUE(held[0].contains(entry.first));
    EXPECT_TRUE(entry.second->status.ok());
  }
  EXPECT_EQ(next.memory[0][numbers[1]], decoded);
  EXPECT_EQ(next.memory[0][numbers[3]], sound);
  EXPECT_EQ(next.memory[0][numbers[4]], kept);
  // It was lent, and is not there for another.
  EXPECT_THAT(Counts(Take(snapshot.get(), 1).memory), ElementsAre(0, 0));
}

TEST(SnapshotTest, AForgottenOneKeepsNothing) {
  const auto snapshot = Make(TwoFormats());
  const auto spec = TwoFormats();
  const HeldSets held = HeldAt(spec, 1);
  for (const bool is_late : {false, true}) {
    Snapshot::Lease lease = Take(snapshot.get(), 0);
    std::vector<RecordMap> memory = Everything();
    const std::weak_ptr<const Record> record = memory[0].begin()->second;
    const auto arena = std::make_shared<Arena>(0, 1024, "", nullptr);
    snapshot->SetArena(arena);
    if (is_late) snapshot->Forget();
    snapshot->Release(lease.run.get(), 0, &held, std::move(memory));
    EXPECT_EQ(record.expired(), is_late);
    snapshot->Forget();
    EXPECT_TRUE(record.expired());
    EXPECT_EQ(snapshot->arena(), nullptr);
    EXPECT_EQ(arena.use_count(), 1);
  }
}

TEST(SnapshotTest, InTheMiddleOfAnEpochMemoryIsDropped) {
  const auto snapshot = Make(TwoFormats());
  for (const uint64_t step : {0, 1}) {
    Snapshot::Lease lease = Take(snapshot.get(), 0);
    snapshot->Release(lease.run.get(), 0, nullptr, Everything());
    EXPECT_THAT(snapshot->StatsJson(false),
                HasSubstr("\"cached\":{\"records\":64"));
    lease = Take(snapshot.get(), 1, step);
    EXPECT_THAT(Counts(lease.memory),
                step == 0 ? ElementsAre(10, 24) : ElementsAre(0, 0));
    EXPECT_THAT(snapshot->StatsJson(false),
                HasSubstr("\"cached\":{\"records\":0"));
  }
}

TEST(SnapshotTest, TheRestOfAnEpochHasNothingOfMemory) {
  const auto snapshot = Make(TwoFormats());
  Snapshot::Lease lease = Take(snapshot.get(), 0);
  snapshot->Release(lease.run.get(), 0, nullptr, Everything());
  Snapshot::Lease rest;
  rest.spec = TwoFormats();
  rest.epoch = 1;
  rest.held = NothingHeld(*rest.spec);
  snapshot->LendRest(&rest);
  EXPECT_THAT(Counts(rest.memory), ElementsAre(0, 0));
  EXPECT_TRUE(snapshot->Own(rest.run.get()));
  rest.run->Complete();
  EXPECT_EQ(snapshot->Next().epoch, 2);
  rest.run.reset();
  EXPECT_THAT(Counts(Take(snapshot.get(), 1).memory), ElementsAre(0, 0));
}

TEST(SnapshotTest, ACheckpointGoesOnWhereItStood) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  const HeldSets held = HeldAt(spec, 5);
  Snapshot::Lease lease;
  ASSERT_TRUE(snapshot->Restore({10, 24}, {}, 5, 24, held, false, &lease).ok());
  EXPECT_EQ(lease.epoch, 5);
  EXPECT_EQ(lease.position, 24u);
  EXPECT_EQ(lease.held, held);
  EXPECT_TRUE(snapshot->Own(lease.run.get()));
  EXPECT_EQ(snapshot->Next().epoch, 5);
  EXPECT_EQ(snapshot->Next().step, 0u);
  // Epochs behind it follow from what it held.
  lease.run.reset();
  EXPECT_EQ(Take(snapshot.get(), 6).held, HeldAt(spec, 6));
  ASSERT_TRUE(snapshot->Restore({10, 24}, {}, 5, 64, held, true, &lease).ok());
  EXPECT_EQ(snapshot->Next().epoch, 6);
}

TEST(SnapshotTest, ACheckpointBringsItsCache) {
  const auto snapshot = Make(TwoFormats());
  auto other = TwoFormats();
  other->formats[0].cached = 13;
  const HeldSets held = HeldAt(other, 2);
  Snapshot::Lease lease;
  ASSERT_TRUE(snapshot->Restore({13, 24}, {}, 2, 0, held, false, &lease).ok());
  EXPECT_EQ(lease.spec->formats[0].cached, 13u);
  EXPECT_THAT(snapshot->Cached(), ElementsAre(13, 24));
  EXPECT_EQ(Take(snapshot.get(), 4).held, HeldAt(other, 4));
  // It still is the dataset that the first one was.
  EXPECT_TRUE(snapshot->Configure(ConfigOf(TwoFormats())).ok());
}

TEST(SnapshotTest, ACheckpointThatDoesNotFitIsRefused) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  const HeldSets held = HeldAt(spec, 1);
  const auto restore = [&](const std::vector<uint64_t>& cached,
                           const HeldSets& of_epoch, int64_t epoch = 1) {
    Snapshot::Lease lease;
    const Status status =
        snapshot->Restore(cached, {}, epoch, 0, of_epoch, false, &lease);
    EXPECT_EQ(lease.run, nullptr);
    return status;
  };
  ExpectRefused(restore({10}, held),
                "the checkpoint was saved by a dataset with 1 formats; this "
                "one has 2");
  ExpectRefused(restore({41, 24}, held), "formats[0].cached (41)");
  ExpectRefused(restore({10, 24}, held, -1), "epoch (-1) must be at least 0");
  ExpectRefused(restore({10, 24}, {held[0]}), "held (1 sets)");
  HeldSets wrong = held;
  wrong[0] = SampleSet();
  ExpectRefused(restore({10, 24}, wrong), "held[0]");
  wrong[0] = SampleSet(4000);
  ExpectRefused(restore({10, 24}, wrong), "held[0]");
  wrong = held;
  wrong[0].words()[0] = ~uint64_t{0};
  ExpectRefused(restore({10, 24}, wrong),
                "held[0] must be a set of numbers below 40");
  wrong[0].words()[0] = 7;
  ExpectRefused(restore({10, 24}, wrong), "held[0] (3 samples)");
  // None of it has left anything.
  EXPECT_THAT(snapshot->Cached(), ElementsAre(10, 24));
  EXPECT_EQ(snapshot->Next().epoch, 0);
  for (const int64_t epoch : {1, 2}) {
    EXPECT_EQ(Take(snapshot.get(), epoch).held, HeldAt(spec, epoch));
  }
}

TEST(SnapshotTest, SeekingMakesAPlaceTheNext) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  Take(snapshot.get(), 6).run->Complete();
  ASSERT_TRUE(snapshot->Seek({2, 3}, {}, {}).ok());
  EXPECT_EQ(snapshot->Next().epoch, 2);
  EXPECT_EQ(snapshot->Next().step, 3u);
  EXPECT_THAT(snapshot->Cached(), ElementsAre(10, 24));
  auto other = TwoFormats();
  other->formats[1].cached = 5;
  ASSERT_TRUE(snapshot->Seek({4, 0}, {10, 5}, {}).ok());
  EXPECT_EQ(Take(snapshot.get(), 4).held, HeldAt(other, 4));
  // A restored epoch is run whole, wherever it was sought.
  class Rest : public DrawSource {};
  ASSERT_TRUE(snapshot->Seek({3, 2, std::make_shared<Rest>()}, {}, {}).ok());
  EXPECT_NE(snapshot->Next().rest, nullptr);
  Snapshot::Lease lease;
  ASSERT_TRUE(
      snapshot->Restore({10, 5}, {}, 3, 8, HeldAt(other, 3), false, &lease)
          .ok());
  EXPECT_EQ(snapshot->Next().epoch, 3);
  EXPECT_EQ(snapshot->Next().step, 0u);
  EXPECT_EQ(snapshot->Next().rest, nullptr);
}

TEST(SnapshotTest, APlaceThatCannotBeIsRefused) {
  const auto snapshot = Make(TwoFormats());
  ASSERT_TRUE(snapshot->Seek({2, 3}, {}, {}).ok());
  ExpectRefused(snapshot->Seek({-1, 0}, {}, {}),
                "epoch (-1) must be at least 0");
  ExpectRefused(snapshot->Seek({1, 0}, {10, 24, 3}, {}), "3 formats");
  ExpectRefused(snapshot->Seek({1, 0}, {10, 25}, {}), "formats[1].cached (25)");
  ExpectRefused(snapshot->Seek({1, 0}, {}, {1, 2, 3}),
                "the checkpoint was saved by a dataset whose mix may change; "
                "this one's is fixed");
  EXPECT_EQ(snapshot->Next().epoch, 2);
  EXPECT_EQ(snapshot->Next().step, 3u);
  Snapshot::Lease lease;
  ExpectRefused(snapshot->Take(-1, 0, &lease), "epoch (-1) must be at least 0");
  const Status unknown = snapshot->Take(4, Snapshot::kUnknown, &lease);
  EXPECT_EQ(unknown.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(unknown.message(),
            "what is left of epoch 4 must be sought before it is run");
  EXPECT_EQ(lease.run, nullptr);
  // A step behind all does not come round to the start.
  for (const uint64_t step : {uint64_t{1} << 61, UINT64_MAX / 8,
                              UINT64_MAX / 8 + 1, UINT64_MAX - 1}) {
    EXPECT_GE(Take(snapshot.get(), 0, step).position, UINT64_MAX - 7) << step;
  }
}

TEST(SnapshotTest, MixesAreDecidedBeforeTheirEpochs) {
  const auto snapshot = Make(Sections());
  Snapshot::Lease lease;
  ExpectRefused(snapshot->Take(0, 0, &lease),
                "the mix of epoch 0 must be decided before it is run; 0 "
                "epochs' are");
  ExpectRefused(snapshot->Decide(1, {Mix(8, 0)}), "the mix of epoch 0");
  ASSERT_TRUE(snapshot->Decide(0, {Mix(8, 4), Mix(6, 4)}).ok());
  // What was decided stays.
  ASSERT_TRUE(snapshot->Decide(0, {Mix(1, 0), Mix(1, 0), Mix(5, 2)}).ok());
  EXPECT_THAT(snapshot->Mixes(), ElementsAre(8, 12, 4, 0, 0, 0, 6, 14, 4, 0, 0,
                                             0, 5, 15, 2, 0, 0, 0));
  EXPECT_THAT(snapshot->Mixes(1), ElementsAre(8, 12, 4, 0, 0, 0));
  EXPECT_THAT(snapshot->Mixes(0), IsEmpty());
  ExpectRefused(snapshot->Decide(3, {{1, 2}}), "(2 numbers)");
  lease = Take(snapshot.get(), 2);
  EXPECT_EQ(lease.spec->formats[0].count, 5u);
  EXPECT_EQ(snapshot->SpecAfter(0)->formats[0].count, 6u);
  EXPECT_EQ(snapshot->SpecAfter(2)->formats[0].count, 5u);
  ExpectRefused(snapshot->Take(3, 0, &lease), "the mix of epoch 3");
  ExpectRefused(Make(TwoFormats())->Decide(0, {Mix(8, 0)}),
                "a mix is decided only of formats that share samples");
  EXPECT_THAT(Make(TwoFormats())->Mixes(), IsEmpty());
}

// Of each epoch its own mix: what is kept is carried over into its sections.
TEST(SnapshotTest, WhatIsHeldFollowsTheMixes) {
  const auto snapshot = Make(Sections());
  const std::vector<std::vector<int64_t>> mixes = {Mix(8, 4), Mix(8, 4),
                                                   Mix(3, 2), Mix(10, 6)};
  ASSERT_TRUE(snapshot->Decide(0, mixes).ok());
  EpochMixes of(Sections());
  for (const auto& mix : mixes) ASSERT_TRUE(of.Append(mix).ok());
  HeldSets held = NothingHeld(*Sections());
  std::vector<HeldSets> expected;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    held = CarryOver(*of.Of(epoch), std::move(held));
    expected.push_back(held);
    std::unique_ptr<EpochPlan> plan;
    ASSERT_TRUE(EpochPlan::Create(of.Of(epoch), epoch, held, &plan).ok());
    plan->Skip(plan->size());
    held = plan->kept();
  }
  for (const int64_t epoch : {3, 0, 2, 1}) {
    EXPECT_EQ(Take(snapshot.get(), epoch).held, expected[epoch]) << epoch;
  }
}

TEST(SnapshotTest, ACheckpointBringsItsMixes) {
  const auto saved = Make(Sections());
  ASSERT_TRUE(saved->Decide(0, {Mix(8, 4), Mix(6, 3)}).ok());
  const HeldSets held = Take(saved.get(), 1).held;
  const auto snapshot = Make(Sections());
  ASSERT_TRUE(snapshot->Decide(0, {Mix(2, 0)}).ok());
  Snapshot::Lease lease;
  ExpectRefused(snapshot->Restore({}, {1}, 1, 0, held, false, &lease),
                "numbers");
  ExpectRefused(
      snapshot->Restore({}, saved->Mixes(1), 1, 0, held, false, &lease),
      "the mix of epoch 1");
  ASSERT_TRUE(
      snapshot->Restore({}, saved->Mixes(), 1, 4, held, false, &lease).ok());
  EXPECT_EQ(lease.spec->formats[0].count, 6u);
  EXPECT_EQ(snapshot->Mixes(), saved->Mixes());
  const auto sought = Make(Sections());
  ASSERT_TRUE(sought->Seek({1, 0}, {}, saved->Mixes()).ok());
  EXPECT_EQ(Take(sought.get(), 1).held, held);
}

TEST(SnapshotTest, LaterDecodesCountWhenTheRunIsOver) {
  const auto snapshot = Make(TwoFormats());
  CountDecode count;
  {
    const Snapshot::Lease lease = Take(snapshot.get(), 2);
    count = lease.run->LaterDecodes();
  }
  count(1, true, 0.25);
  count(1, false, 0.5);
  count(2, true, 1);  // there is none
  const std::string json = snapshot->StatsJson(false);
  for (const char* said : {"\"epoch\":2", "\"decodes\":{\"png\":0,\"raw\":2}",
                           "\"libjpeg_decodes\":{\"png\":0,\"raw\":1}",
                           "\"decode_seconds\":{\"png\":0,\"raw\":0.75}"}) {
    EXPECT_THAT(json, HasSubstr(said));
  }
}

TEST(SnapshotTest, StatisticsSayWhatARunTold) {
  const auto snapshot = Make(TwoFormats());
  const Snapshot::Lease lease = Take(snapshot.get(), 3);
  lease.run->Skipped({1, 17, "it is bad"});
  lease.run->Retried(0, 2);
  lease.run->Filled(500, 0.5);
  lease.run->Decoding(3, 4);
  BatchReport report;
  report.epoch = 3;
  report.samples = report.hits = report.loads = report.memory_hits = {5, 1};
  report.decodes = {5, 1};
  report.bytes = {50, 10};
  report.decode_seconds = {0, 0};
  report.cost = std::make_shared<BatchCost>();
  lease.run->Delivered(report);
  lease.run->Complete();
  const std::string json = snapshot->StatsJson(true);
  for (const char* said : {"\"next_epoch\":4", "\"formats\":[\"png\",\"raw\"]",
                           "\"epoch\":3", "\"samples\":{\"png\":5,\"raw\":1}",
                           "\"retries\":{\"png\":2,\"raw\":0}",
                           "\"fill\":{\"bytes\":500,\"seconds\":0.5}",
                           "\"decoding\":{\"parallelism\":3,\"lookahead\":4}",
                           "\"sample\":17,\"reason\":\"it is bad\""}) {
    EXPECT_THAT(json, HasSubstr(said));
  }
}

// Runs that come and go at once: never do two of them own the cache.
TEST(SnapshotTest, RunsOfSeveralThreadsShareIt) {
  const std::shared_ptr<const PlanSpec> spec = TwoFormats();
  const auto snapshot = Make(spec);
  std::vector<HeldSets> held;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    held.push_back(HeldAt(spec, epoch));
  }
  std::atomic<int> owners{0};
  std::atomic<int> owned{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t]() {
      for (int64_t i = 0; i < 40; ++i) {
        const int64_t epoch = (i + t) % 3;
        Snapshot::Lease lease = Take(snapshot.get(), epoch);
        EXPECT_EQ(lease.held, held[epoch]);
        for (const auto& entry : lease.memory[0]) {
          EXPECT_TRUE(held[epoch][0].contains(entry.first));
        }
        if (snapshot->Own(lease.run.get())) {
          EXPECT_EQ(++owners, 1);
          ++owned;
          std::this_thread::yield();
          --owners;
        }
        if (i % 4 == 0) snapshot->StatsJson(false);
        if (i % 3 == 0) continue;
        snapshot->Release(lease.run.get(), epoch, &held[epoch + 1],
                          Everything());
        lease.run->Complete();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(owned, 0);
  EXPECT_EQ(snapshot->Next().epoch, 3);
}

}  // namespace
}  // namespace liquid::snapshot_test
