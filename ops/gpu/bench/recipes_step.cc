// The recipes that ImageNet is trained and evaluated with, from stored bytes in
// the host's memory to the tensor of a step, as decode="gpu" has them.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/lanes.h"
#include "ops/gpu/bench/step.h"

namespace liquid {
namespace {

#define LIQUID_BENCH_RESIZE "interpolation=bilinear antialias=1 draft=0"

#define LIQUID_BENCH_TRAIN                                        \
  "RandomResizedCrop scale=0.08,1 ratio=0.75,1.3333333333333333", \
      "Resize height=224 width=224 " LIQUID_BENCH_RESIZE, "Mirror p=0.5"

// A new recipe is a new row; as recipe_text.h has the lines, but for those of
// normalising and of the layout.
struct NamedRecipe {
  const char* name;
  std::vector<std::string> lines;
  std::vector<std::string> last = {};  // of numbers that are normalised
  bool of_float32_alone = false;
};
const NamedRecipe kRecipes[] = {
    {"to train", {LIQUID_BENCH_TRAIN}},
    {"to evaluate",
     {"Resize shorter=256 " LIQUID_BENCH_RESIZE,
      "CenterCrop height=224 width=224"}},
    // Operations from canvas to canvas, and noise.
    {"to train, RandAugment and RandomErasing",
     {LIQUID_BENCH_TRAIN, "RandAugment n=2 magnitude=9"},
     {"RandomErasing p=0.25 scale=0.02,0.33 ratio=0.3,3.3 value=noise"},
     true},
};
constexpr char kNormalize[] =
    "Normalize mean=123.675,116.28,103.53 std=58.395,57.12,57.375";

constexpr const char* kStored[] = {"l3 v2", "l3-compact", "raw", "jpeg"};

struct NamedType {
  const char* name;
  PixelType type;
};
constexpr NamedType kTypes[] = {{"uint8", PixelType::kUint8},
                                {"float32", PixelType::kFloat32},
                                {"bfloat16", PixelType::kBfloat16}};

// Integers are not normalised.
Status ReadSteps(const NamedRecipe& recipe, PixelType type,
                 DeviceSteps* steps) {
  std::vector<std::string> lines = recipe.lines;
  if (type != PixelType::kUint8) {
    lines.push_back(kNormalize);
    lines.insert(lines.end(), recipe.last.begin(), recipe.last.end());
  }
  lines.push_back("ChannelsFirst");
  return ReadDeviceView(lines, type, steps);
}

Status Measure(const BenchContext& context, const BenchDevice& device,
               const char* format, const DeviceSteps& steps,
               BenchThreads* threads, Row* row) {
  constexpr size_t kLanes = 2, kBatches = 4;
  const size_t count = context.options.batch;
  std::unique_ptr<BenchLanes> lanes;
  LIQUID_RETURN_IF_ERROR(BenchLanes::Make(device, context.recipes, format,
                                          count, steps, /*registered=*/true,
                                          kLanes, threads, &lanes));
  BenchTimes times;
  LIQUID_RETURN_IF_ERROR(device.OnClock(
      [&]() -> Status {
        for (size_t i = 0; i < kBatches; ++i) {
          LIQUID_RETURN_IF_ERROR(lanes->Start());
        }
        return lanes->Finish();
      },
      &times));
  for (double* each : {&times.median, &times.min, &times.max}) {
    *each /= static_cast<double>(kBatches);
  }
  LIQUID_RETURN_IF_ERROR(lanes->Check(format));
  const BenchParts& parts = lanes->parts();
  row->Add("stored_bytes", uint64_t{lanes->stored_bytes()})
      .Add("output_bytes", uint64_t{lanes->pixel_bytes()})
      .Add("milliseconds", times.ToRow())
      .Add("images_per_s", 1e3 * static_cast<double>(count) / times.median)
      .Add("plan_milliseconds", parts.plan)
      .Add("fill_milliseconds", parts.fill)
      .Add("bus_milliseconds", 1e3 * parts.device.copy_seconds)
      .Add("kernel_milliseconds", 1e3 * parts.device.decode_seconds);
  return OkStatus();
}

}  // namespace

Status BenchRecipesStep(const BenchContext& context) {
  size_t rows = 0;
  for (const NamedRecipe& recipe : kRecipes) {
    rows += recipe.of_float32_alone ? 1 : sizeof(kTypes) / sizeof(kTypes[0]);
  }
  context.expects(rows * sizeof(kStored) / sizeof(kStored[0]));
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  BenchThreads threads(std::max(1u, std::thread::hardware_concurrency()));
  Status status;
  for (const char* const format : kStored) {
    for (const NamedRecipe& recipe : kRecipes) {
      for (const auto& [type_name, type] : kTypes) {
        if (recipe.of_float32_alone && type != PixelType::kFloat32) continue;
        Row row;
        row.Add("format", format)
            .Add("recipe", recipe.name)
            .Add("type", type_name)
            .Add("images", context.options.batch)
            .Add("width", context.recipes.info.width)
            .Add("height", context.recipes.info.height);
        DeviceSteps steps;
        Status ended = ReadSteps(recipe, type, &steps);
        if (ended.ok()) {
          ended = Measure(context, *device, format, steps, &threads, &row);
        }
        NoteFinding(context, ended, &row, &status);
      }
    }
  }
  return status;
}

}  // namespace liquid
