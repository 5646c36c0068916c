// Draws per second of a replay: what restoring a checkpoint costs.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "benchmark/benchmark.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

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

}  // namespace
}  // namespace liquid

BENCHMARK_MAIN();
