// Microseconds of a resize, with and without vectors.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "ops/image/resample.h"
#include "ops/image/resample_targets.h"

namespace liquid {
namespace {

template <typename T>
class Touch : public RowWriter<T> {
 public:
  void Row(uint32_t, const T* row) override { benchmark::DoNotOptimize(row); }
};

template <typename T>
void Resize(benchmark::State& state, ResampleTarget target, ResampleSpec spec,
            size_t channels) {
  const ScopedResampleTarget scoped(target);
  spec.bits = 8 * sizeof(T);
  std::vector<T> pixels(size_t{spec.in_height} * spec.in_width * channels);
  uint32_t value = 1;
  for (T& pixel : pixels) {
    value = value * 1664525 + 1013904223;
    pixel = static_cast<T>(value >> 16);
  }
  Resampler resampler;
  ResampleScratch scratch;
  Touch<T> touch;
  for (auto _ : state) {
    if (!resampler.Reset(spec).ok()) std::abort();
    const Window& needed = resampler.needed();
    const size_t stride = spec.in_width * channels;
    resampler.Run(pixels.data() + needed.y * stride + needed.x * channels,
                  stride, channels, &touch, &scratch);
  }
}

void WeightsOnly(benchmark::State& state, ResampleSpec spec) {
  Resampler resampler;
  for (auto _ : state) {
    if (!resampler.Reset(spec).ok()) std::abort();
  }
}

ResampleSpec Whole(uint32_t in_height, uint32_t in_width,
                   Interpolation interpolation) {
  ResampleSpec spec;
  spec.in_height = in_height;
  spec.in_width = in_width;
  spec.out_height = spec.out_width = 224;
  spec.part = {0, 0, 224, 224};
  spec.interpolation = interpolation;
  return spec;
}

void RegisterAll() {
  ResampleSpec part = Whole(500, 385, Interpolation::kBilinear);
  part.out_height = 332;  // the shorter side 256, of which the middle is taken
  part.out_width = 256;
  part.part = {54, 16, 224, 224};
  ResampleSpec lerp = Whole(190, 250, Interpolation::kBilinear);
  lerp.antialias = false;
  struct Case {
    const char* name;
    ResampleSpec spec;
  };
  const Case cases[] = {
      {"190x250", Whole(190, 250, Interpolation::kBilinear)},
      {"256x341", Whole(256, 341, Interpolation::kBilinear)},
      {"500x385", Whole(500, 385, Interpolation::kBilinear)},
      {"500x260_rows_first", Whole(500, 260, Interpolation::kBilinear)},
      {"500x385_to_256_part", part},
      {"190x250_bicubic", Whole(190, 250, Interpolation::kBicubic)},
      {"500x385_bicubic", Whole(500, 385, Interpolation::kBicubic)},
      {"190x250_nearest", Whole(190, 250, Interpolation::kNearest)},
      {"190x250_no_antialias", lerp},
  };
  for (const Case& one : cases) {
    for (const ResampleTarget target : ResampleRunnableTargets()) {
      const std::string name =
          std::string(one.name) + "/" + ResampleTargetName(target);
      benchmark::RegisterBenchmark((name + "/8x3").c_str(), Resize<uint8_t>,
                                   target, one.spec, 3)
          ->Unit(benchmark::kMicrosecond);
      if (&one != cases) continue;
      for (const size_t channels : {1, 2, 4}) {
        benchmark::RegisterBenchmark(
            (name + "/8x" + std::to_string(channels)).c_str(), Resize<uint8_t>,
            target, one.spec, channels)
            ->Unit(benchmark::kMicrosecond);
      }
      benchmark::RegisterBenchmark((name + "/16x3").c_str(), Resize<uint16_t>,
                                   target, one.spec, 3)
          ->Unit(benchmark::kMicrosecond);
    }
    benchmark::RegisterBenchmark((std::string(one.name) + "/weights").c_str(),
                                 WeightsOnly, one.spec)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace liquid

int main(int argc, char** argv) {
  liquid::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
