// Microseconds of an operation on a canvas of 224 x 224 x 3, and of the draws
// of policies. Each begins with a copy of the image, as `copy` alone does.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "ops/image/operations.h"

namespace liquid {
namespace {

constexpr size_t kSide = 224, kChannels = 3;
constexpr size_t kBytes = kSide * kSide * kChannels;

std::vector<uint8_t> Image() {
  std::vector<uint8_t> pixels(kBytes);
  uint32_t noise = 1;
  for (size_t i = 0; i < kBytes; ++i) {
    noise = noise * 1664525 + 1013904223;
    const double y = static_cast<double>(i / (kSide * kChannels));
    const double x = static_cast<double>(i % (kSide * kChannels));
    pixels[i] = static_cast<uint8_t>(118 + 50 * std::sin(y / 31) +
                                     50 * std::sin(x / 77) + (noise >> 28));
  }
  return pixels;
}

using Chain = std::vector<Operation>;

// One chain after the other.
void Run(benchmark::State& state, const std::vector<Chain>& chains) {
  const std::vector<uint8_t> image = Image();
  std::vector<uint8_t> canvas(kBytes), other(kBytes);
  size_t i = 0;
  for (auto _ : state) {
    std::memcpy(canvas.data(), image.data(), kBytes);
    const Chain& chain = chains[i++ % chains.size()];
    uint8_t* result;
    ApplyOperations(chain.data(), chain.size(), kSide, kSide, kChannels,
                    canvas.data(), other.data(), &result);
    benchmark::DoNotOptimize(result);
    benchmark::ClobberMemory();
  }
}

Operation With(OperationKind kind, double amount = 0) {
  Operation operation;
  operation.kind = kind;
  operation.amount = amount;
  return operation;
}

Operation Mapped(std::array<double, 6> matrix, Interpolation interpolation) {
  Operation operation = With(OperationKind::kAffine);
  operation.matrix = matrix;
  operation.interpolation = interpolation;
  operation.fill = {128, 120, 110};
  return operation;
}

Operation Rotated(double degrees, Interpolation interpolation) {
  const double angle = degrees * std::acos(-1.0) / 180, half = kSide / 2;
  const double c = std::cos(angle), s = std::sin(angle);
  return Mapped({c, s, half * (1 - c - s), -s, c, half * (1 + s - c)},
                interpolation);
}

// An operation of its name, or none, of both directions.
using Choice = std::pair<std::string, std::vector<Chain>>;

std::vector<Choice> Choices(double shear, double translate, double degrees,
                            double factor, double bits, double threshold,
                            Interpolation interpolation) {
  const auto both = [](const auto& make) {
    return std::vector<Chain>{{make(1)}, {make(-1)}};
  };
  const auto mapped = [&](std::array<double, 6> per_one) {
    return both([&](int sign) {
      std::array<double, 6> matrix = {1, 0, 0, 0, 1, 0};
      for (int i = 0; i < 6; ++i) matrix[i] += sign * per_one[i];
      return Mapped(matrix, interpolation);
    });
  };
  const auto enhanced = [&](OperationKind kind) {
    return both([&](int sign) { return With(kind, 1 + sign * factor); });
  };
  return {
      {"identity", {{}}},
      {"shear_x", mapped({0, shear, 0, 0, 0, 0})},
      {"shear_y", mapped({0, 0, 0, shear, 0, 0})},
      {"translate_x", mapped({0, 0, translate, 0, 0, 0})},
      {"translate_y", mapped({0, 0, 0, 0, 0, translate})},
      {"rotate",
       both([&](int sign) { return Rotated(sign * degrees, interpolation); })},
      {"brightness", enhanced(OperationKind::kBrightness)},
      {"color", enhanced(OperationKind::kColor)},
      {"contrast", enhanced(OperationKind::kContrast)},
      {"sharpness", enhanced(OperationKind::kSharpness)},
      {"posterize", {{With(OperationKind::kPosterize, bits)}}},
      {"solarize", {{With(OperationKind::kSolarize, threshold)}}},
      {"auto_contrast", {{With(OperationKind::kAutoContrast)}}},
      {"equalize", {{With(OperationKind::kEqualize)}}},
  };
}

// Each with each, and with itself, where `two` are drawn.
std::vector<Chain> Draws(const std::vector<Choice>& choices, bool two) {
  std::vector<Chain> draws;
  for (const auto& [first_name, firsts] : choices) {
    for (int sign = 0; sign < 2; ++sign) {
      const Chain& first = firsts[sign % firsts.size()];
      if (!two) {
        draws.push_back(first);
        continue;
      }
      for (const auto& [second_name, seconds] : choices) {
        draws.push_back(first);
        const Chain& second = seconds[(sign + draws.size()) % seconds.size()];
        draws.back().insert(draws.back().end(), second.begin(), second.end());
      }
    }
  }
  return draws;
}

void Register(const std::string& name, std::vector<Chain> chains) {
  benchmark::RegisterBenchmark(name.c_str(), Run, std::move(chains))
      ->Unit(benchmark::kMicrosecond);
}

void RegisterAll() {
  const char* const names[] = {"nearest", "bilinear", "bicubic"};
  const auto nearest = Interpolation::kNearest;
  // RandAugment's magnitude of 9 of 31, and the widest of TrivialAugmentWide.
  const auto usual = Choices(.09, 30, 9, .27, 7, 178.5, nearest);
  const auto wide = Choices(.5, 16, 67, .5, 5, 128, nearest);
  Register("copy", {{}});
  for (const auto& [name, chains] : usual) {
    if (name != "identity") Register(name, chains);
  }
  for (const auto& interpolation :
       {Interpolation::kBilinear, Interpolation::kBicubic}) {
    const std::string suffix =
        std::string("/") + names[static_cast<int>(interpolation)];
    Register("shear_x" + suffix,
             {{Mapped({1, .09, 0, 0, 1, 0}, interpolation)}});
    Register("translate_x" + suffix,
             {{Mapped({1, 0, 30.3, 0, 1, 0}, interpolation)}});
    Register("rotate" + suffix, {{Rotated(9, interpolation)}});
  }
  Register("rotate_67", {{Rotated(67, nearest)}});
  Register("turn_90", {{With(OperationKind::kTurn90)}});
  Register("turn_180", {{With(OperationKind::kTurn180)}});
  Register("flip", {{With(OperationKind::kFlip)}});
  Register("solarize_add", {{With(OperationKind::kSolarizeAdd, 40)}});
  Register("invert", {{With(OperationKind::kInvert)}});
  Register("gray", {{With(OperationKind::kGray)}});
  Register("blur_0.5", {{With(OperationKind::kBlur, .5)}});
  Register("blur_2", {{With(OperationKind::kBlur, 2)}});
  Register(
      "four_tones",
      {{With(OperationKind::kPosterize, 5), With(OperationKind::kSolarize, 128),
        With(OperationKind::kBrightness, 1.2), With(OperationKind::kInvert)}});
  Register("rand_augment", Draws(usual, /*two=*/true));
  Register("trivial_augment", Draws(wide, /*two=*/false));
}

}  // namespace
}  // namespace liquid

int main(int argc, char** argv) {
  liquid::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
