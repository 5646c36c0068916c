// Draws per second of a replay: what restoring a checkpoint costs; and of
// planning a tier, which every epoch does.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

#include "benchmark/benchmark.h"
#include "ops/core/rng.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/tier_plan.h"
#include "ops/sampler/weights.h"

namespace liquid {
namespace {

void Replay(std::shared_ptr<const PlanSpec> spec, benchmark::State& state) {
  HeldSets held;
  if (!HeldAt(spec, 0, NothingHeld(*spec), 1, &held).ok()) std::abort();
  int64_t draws = 0;
  for (auto _ : state) {
    std::unique_ptr<EpochPlan> plan;
    if (!EpochPlan::Create(spec, 1, held, &plan).ok()) std::abort();
    plan->Skip(plan->size());
    draws += static_cast<int64_t>(plan->position());
  }
  state.SetItemsProcessed(draws);
}

// Two formats of 300,000 samples each, with regions of 100,000, or of the whole
// format where all of it is cached. Arguments: batch size, percent cached.
void BM_Skip(benchmark::State& state) {
  auto spec = std::make_shared<PlanSpec>();
  spec->batch_size = static_cast<uint64_t>(state.range(0));
  spec->formats.resize(2);
  for (FormatSpec& format : spec->formats) {
    format.files.assign(100, 3000);
    format.cached = 3000 * static_cast<uint64_t>(state.range(1));
    format.fill = 100000;
  }
  Replay(std::move(spec), state);
}
BENCHMARK(BM_Skip)
    ->ArgsProduct({{1, 32, 256}, {0, 30, 100}})
    ->Unit(benchmark::kMillisecond);

// Half of two formats of 500,000 samples each. Argument: percent cached.
void BM_TierPlan(benchmark::State& state) {
  auto spec = std::make_shared<PlanSpec>();
  spec->batch_size = 64;
  spec->formats.resize(2);
  RecordBlocks blocks(2);
  for (size_t f = 0; f < 2; ++f) {
    spec->formats[f].files.assign(100, 5000);
    spec->formats[f].cached = 5000 * static_cast<uint64_t>(state.range(0));
    spec->formats[f].fill = 640;
    for (uint32_t i = 0; i < 500000; ++i) blocks[f].push_back(10 + i % 31);
  }
  TierEpoch epoch = {spec, 0, NothingHeld(*spec), 0, UINT64_MAX, spec};
  HeldSets there = NothingHeld(*spec);
  int64_t draws = 0;
  for (auto _ : state) {
    TierPlan plan;
    if (!PlanTier(epoch, blocks, 12500000, 0, there, &plan).ok()) std::abort();
    there = std::move(plan.wanted);
    if (!HeldAt(spec, epoch.epoch, epoch.held, epoch.epoch + 1, &epoch.held)
             .ok()) {
      std::abort();
    }
    ++epoch.epoch;
    draws += 1000000;
  }
  state.SetItemsProcessed(draws);
}
BENCHMARK(BM_TierPlan)->Arg(0)->Arg(30)->Unit(benchmark::kMillisecond);

// Likewise, in records of 64. Arguments: batch size, percent cached.
void BM_SkipRecords(benchmark::State& state) {
  auto spec = std::make_shared<PlanSpec>();
  spec->batch_size = static_cast<uint64_t>(state.range(0));
  spec->formats.resize(2);
  for (FormatSpec& format : spec->formats) {
    format.files.assign(10, 470);
    format.record_samples.assign(4700, 64);
    format.cached = 47 * static_cast<uint64_t>(state.range(1));
    format.fill = 10 * spec->batch_size;
  }
  Replay(std::move(spec), state);
}
BENCHMARK(BM_SkipRecords)
    ->ArgsProduct({{1, 32, 256}, {0, 30, 100}})
    ->Unit(benchmark::kMillisecond);

// One format in files of 10,000 samples, and where there are classes, each of
// them an equal share of an epoch: of k classes the first has 1/k of the
// samples that are left, and so on. Arguments: samples, percent cached, classes
// (0: each sample once).
std::shared_ptr<const PlanSpec> Balanced(const benchmark::State& state) {
  auto spec = std::make_shared<PlanSpec>();
  const auto samples = static_cast<uint64_t>(state.range(0));
  const auto classes = static_cast<uint64_t>(state.range(2));
  spec->batch_size = 256;
  spec->formats.resize(1);
  spec->formats[0].files.assign(samples / 10000, 10000);
  spec->formats[0].cached =
      samples / 100 * static_cast<uint64_t>(state.range(1));
  spec->formats[0].fill = 2560;
  if (classes == 0) return spec;
  Weights::Options options;
  options.samples_per_epoch = samples;
  options.shares.assign(classes, 1);
  options.sources.push_back({0, samples, {}});
  RandomStream random(1, 2, RngPurpose::kBatchOrder);
  for (uint64_t i = 0; i < samples; ++i) {
    const uint64_t below = random.Below(classes) + 1;
    options.sources[0].entries.push_back(
        static_cast<uint16_t>(i < classes ? i : random.Below(below)));
  }
  if (!Weights::Create(std::move(options), &spec->weights).ok()) std::abort();
  return spec;
}

double Resident() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096 / (1 << 20);
}

// Making a plan of epoch 1, up to its first draw. MiB: what it holds.
void BM_Open(benchmark::State& state) {
  const double before_spec = Resident();
  const auto spec = Balanced(state);
  HeldSets held;
  if (!HeldAt(spec, 0, NothingHeld(*spec), 1, &held).ok()) std::abort();
  const double before = Resident();
  double after = 0;
  for (auto _ : state) {
    std::unique_ptr<EpochPlan> plan;
    if (!EpochPlan::Create(spec, 1, held, &plan).ok()) std::abort();
    plan->Next();
    after = Resident();
  }
  state.counters["spec_MiB"] = before - before_spec;
  state.counters["plan_MiB"] = after - before;
}
BENCHMARK(BM_Open)
    ->ArgsProduct({{1000000}, {0, 30}, {0, 1, 1000, 65000}})
    ->Unit(benchmark::kMillisecond);

void BM_SkipWeighted(benchmark::State& state) {
  Replay(Balanced(state), state);
}
BENCHMARK(BM_SkipWeighted)
    ->ArgsProduct({{1000000}, {0, 30}, {0, 1, 1000, 65000}})
    ->Unit(benchmark::kMillisecond);

// By hand, with --benchmark_filter=Largest: 100 million samples.
void BM_OpenLargest(benchmark::State& state) { BM_Open(state); }
void BM_SkipLargest(benchmark::State& state) { BM_SkipWeighted(state); }
BENCHMARK(BM_OpenLargest)
    ->ArgsProduct({{100000000}, {30}, {0, 1000}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SkipLargest)
    ->ArgsProduct({{100000000}, {30}, {0, 1000}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace liquid

BENCHMARK_MAIN();
