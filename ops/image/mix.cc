#include "ops/image/mix.h"

#include <algorithm>
#include <cmath>

#include "ops/image/draws.h"
#include "ops/image/logarithm.h"

namespace liquid {
namespace {

// At least one attempt in a hundred succeeds twice.
constexpr int kAttempts = 256;
constexpr double kMostExponent = 700;

double Unit(uint32_t word) {
  return (static_cast<double>(word) + .5) / 4294967296.0;
}

// Jöhnk, "Erzeugung von betaverteilten und gammaverteilten Zufallszahlen",
// Metrika 8 (1964), by logarithms, which do not vanish where alpha is small.
bool TryBelowOne(double alpha, double u, double v, double* beta) {
  const double x = Logarithm(u) / alpha;
  const double y = Logarithm(v) / alpha;
  if (Exponential(x) + Exponential(y) > 1) return false;
  *beta = y - x > kMostExponent ? 0 : 1 / (1 + Exponential(y - x));
  return true;
}

bool TryFromOne(double alpha, double u, double v, double* beta) {
  *beta = u;
  return Logarithm(v) <= (alpha - 1) * Logarithm(4 * u * (1 - u));
}

// Both sides of the window have the same part of the image's, which is cut at
// its sides; the label's share is that of the area that stays.
template <typename Number>
void Cut(const PhiloxCounter& words, Number share, uint32_t height,
         uint32_t width, Blend* blend) {
  const Number ratio = std::sqrt(1 - share);
  const auto side = [ratio](uint32_t word, uint32_t whole, uint32_t* at,
                            uint32_t* size) {
    const auto cut = static_cast<int64_t>(static_cast<Number>(whole) * ratio);
    const int64_t centre = Below(word, whole);
    const int64_t begin = std::max<int64_t>(centre - cut / 2, 0);
    const int64_t end = std::min<int64_t>(centre + (cut + 1) / 2, whole);
    *at = static_cast<uint32_t>(begin);
    *size = static_cast<uint32_t>(end - begin);
  };
  Window& window = blend->window;
  side(words[2], height, &window.y, &window.height);
  side(words[3], width, &window.x, &window.width);
  const double area = static_cast<double>(window.height) * window.width;
  const double left = 1 - area / (static_cast<double>(height) * width);
  blend->cut = true;
  blend->share = static_cast<float>(left);
  blend->rest = static_cast<float>(1 - static_cast<Number>(left));
}

// All but the partner.
Blend DrawBlend(const MixStep& step, uint64_t seed, int64_t epoch,
                uint64_t draw, uint32_t height, uint32_t width) {
  Blend blend;
  const PhiloxCounter words = DrawWords(RngPurpose::kMix, seed, epoch, draw);
  if (uint32_t{~words[0]} >= step.chance) return blend;
  bool cut = step.cutmix > 0;
  if (cut && step.mixup > 0) cut = uint32_t{~words[1]} < step.cut;
  const float share =
      DrawBeta(cut ? step.cutmix : step.mixup, seed, epoch, draw);
  if (share == 1) return blend;
  if (!cut) {
    blend.share = share;
    blend.rest = 1 - share;
  } else if (step.mode == MixStep::Mode::kBatch) {
    Cut<double>(words, share, height, width, &blend);
  } else {
    Cut<float>(words, share, height, width, &blend);
  }
  return blend;
}

}  // namespace

float DrawBeta(double alpha, uint64_t seed, int64_t epoch, uint64_t draw) {
  double beta = .5;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const PhiloxCounter words = DrawWords(RngPurpose::kMixShare, seed, epoch,
                                          draw, static_cast<uint8_t>(attempt));
    for (int i = 0; i < 4; i += 2) {
      const double u = Unit(words[i]), v = Unit(words[i + 1]);
      const bool found = alpha < 1 ? TryBelowOne(alpha, u, v, &beta)
                                   : TryFromOne(alpha, u, v, &beta);
      if (found) return static_cast<float>(beta);
    }
  }
  return static_cast<float>(beta);
}

void DrawBlends(const MixStep& step, uint64_t seed, int64_t epoch,
                uint64_t first_draw, size_t views, uint32_t height,
                uint32_t width, std::vector<Blend>* blends) {
  if (!step.mixes()) return;
  const auto drawn = [&](size_t i, uint32_t partner) {
    const uint64_t draw = DrawOfView(first_draw + i / views, i % views);
    Blend blend = DrawBlend(step, seed, epoch, draw, height, width);
    blend.partner = partner;
    return blend;
  };
  for (size_t i = 0; i < blends->size(); ++i) {
    Blend& blend = (*blends)[i];
    const uint32_t partner = blend.partner;
    if (partner == i) continue;
    switch (step.mode) {
      case MixStep::Mode::kBatch:
        blend = drawn(0, partner);
        break;
      case MixStep::Mode::kPair:
        blend = drawn(std::min<size_t>(i, partner), partner);
        break;
      case MixStep::Mode::kElem:
        blend = drawn(i, partner);
        break;
    }
  }
}

Smoothed::Smoothed(double smoothing, size_t of) : classes(of) {
  const double low = smoothing / static_cast<double>(of);
  on = static_cast<float>(1 - smoothing + low);
  off = static_cast<float>(low);
}

void MixLabel(const Smoothed& smoothed, const Blend& blend, size_t own,
              size_t other, float* out) {
  const auto mixed = [&blend](float a, float b) {
    const float share = a * blend.share;
    const float rest = b * blend.rest;
    return share + rest;
  };
  const float on = smoothed.on, off = smoothed.off;
  std::fill_n(out, smoothed.classes, mixed(off, off));
  out[own] = mixed(on, own == other ? on : off);
  if (own != other) out[other] = mixed(off, on);
}

}  // namespace liquid
