// What choosing among many rows costs beside reading all of them.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "ops/core/rng.h"
#include "ops/reader/selected_rows.h"
#include "tests/ops/containers/recordio/packed_rows.h"

namespace liquid {
namespace {

// Rows of one format in one split, whose sample numbers are their places.
IndexView Rows(uint64_t count) {
  std::string row;
  AppendRow(IndexRow(), &row);
  auto bytes = std::make_shared<std::string>();
  bytes->reserve(count * row.size());
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(row.data(), &i, sizeof i);
    *bytes += row;
  }
  const ByteSpan packed(bytes->data(), bytes->size());
  return IndexView(packed, std::move(bytes));
}

// Every second sample, or all where nothing is chosen.
std::vector<uint8_t> Chosen(const benchmark::State& state) {
  const auto samples = static_cast<size_t>(state.range(0));
  return std::vector<uint8_t>(state.range(1) == 0 ? 0 : samples / 8 + 1, 0x55);
}

// Arguments: samples, whether every second one is chosen.
void BM_Choose(benchmark::State& state) {
  const IndexView index = Rows(static_cast<uint64_t>(state.range(0)));
  const std::vector<uint8_t> chosen = Chosen(state);
  for (auto _ : state) {
    const SelectedRows rows(index, {0}, 0,
                            ByteSpan(chosen.data(), chosen.size()));
    benchmark::DoNotOptimize(rows.size());
  }
}

// Looks up random rows, as the draws of an epoch do.
void BM_Row(benchmark::State& state) {
  const IndexView index = Rows(static_cast<uint64_t>(state.range(0)));
  const std::vector<uint8_t> chosen = Chosen(state);
  const SelectedRows rows(index, {0}, 0,
                          ByteSpan(chosen.data(), chosen.size()));
  RandomStream random(1, 2, RngPurpose::kBatchOrder);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rows[random.Below(rows.size())].offset);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(BM_Choose)
    ->ArgsProduct({{1000000, 100000000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Row)->ArgsProduct({{1000000, 100000000}, {0, 1}});

}  // namespace
}  // namespace liquid

BENCHMARK_MAIN();
