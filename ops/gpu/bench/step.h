// What the command measures: steps, each in a process of its own.
#ifndef LIQUID_OPS_GPU_BENCH_STEP_H_
#define LIQUID_OPS_GPU_BENCH_STEP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "ops/core/status.h"
#include "ops/gpu/bench/photographs.h"
#include "ops/gpu/bench/row.h"

namespace liquid {

struct BenchOptions {
  std::string output;   // file that takes the JSON
  std::string images;   // folder of photographs; empty: made up
  std::string scratch;  // folder of the file that is read past the page cache
  uint32_t width = 1920, height = 1080;              // of the kernels' images
  uint32_t batch_width = 1280, batch_height = 720;   // of a batch's images
  uint32_t recipe_width = 500, recipe_height = 375;  // of those of recipes
  uint32_t batch = 64;
  double megabytes = 300;        // of pixels; more than a GPU's caches hold
  uint32_t repeats = 20;         // of each measurement, at most
  double warm_up_seconds = 0.2;  // a device's clocks rise under load
  std::string steps;             // names with commas; empty: all
  double limit_scale = 1;        // of the steps' limits

  // `megabytes`, as a multiple of four pages.
  size_t Bytes() const {
    constexpr size_t kPages = 4 * 4096;
    return (static_cast<size_t>(megabytes * (1 << 20)) / kPages + 1) * kPages;
  }
};

// What a step is given. `images` are for the kernels, `batch` for batches,
// `recipes` for recipes.
struct BenchContext {
  const BenchOptions& options;
  const Photographs& images;
  const Photographs& batch;
  const Photographs& recipes;
  // How many findings there are to be, with what is skipped.
  std::function<void(size_t)> expects;
  // A finding: written to the file before the next one begins.
  std::function<void(const Row&)> found;
  // What this machine lacks, and why.
  std::function<void(const std::string& what, const std::string& why)> skipped;
};

struct BenchStep {
  const char* name;
  double limit_seconds;  // then its process is ended
  Status (*run)(const BenchContext&);
};

Status BenchDeviceStep(const BenchContext& context);
Status BenchCopiesStep(const BenchContext& context);
Status BenchPiecesStep(const BenchContext& context);
Status BenchRegisteringStep(const BenchContext& context);
Status BenchDiskStep(const BenchContext& context);
Status BenchKernelsStep(const BenchContext& context);
Status BenchBatchesStep(const BenchContext& context);
Status BenchRecipesStep(const BenchContext& context);
Status BenchJpegStep(const BenchContext& context);
Status BenchDelayStep(const BenchContext& context);

// In their order. All limits together, and the photographs', are under ten
// minutes.
constexpr double kPhotographSeconds = 60;
constexpr BenchStep kBenchSteps[] = {
    {"device", 15, BenchDeviceStep},
    {"copies", 30, BenchCopiesStep},
    {"pieces", 30, BenchPiecesStep},
    {"registering", 30, BenchRegisteringStep},
    {"disk", 30, BenchDiskStep},
    {"kernels", 120, BenchKernelsStep},
    {"batches", 80, BenchBatchesStep},
    {"recipes", 70, BenchRecipesStep},
    {"jpeg", 50, BenchJpegStep},
    {"delay", 70, BenchDelayStep},
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_STEP_H_
