#include "ops/image/resample_taps.h"

#include <algorithm>
#include <cmath>

namespace liquid {
namespace {

double Triangle(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

// Keys' cubic with a = -1/2.
double Cubic(double x) {
  constexpr double kA = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

int32_t ToFixed(double weight) {
  const double scaled = weight * (1 << kFixedBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

// Where the filter of one output pixel lies.
struct Reach {
  double center;
  int32_t begin, end;
};

struct Filter {
  double scale, width, support;

  Filter(const ResampleAxis& axis, ResampleFilter filter)
      : scale(static_cast<double>(axis.in) / axis.out),
        width(std::max(scale, 1.0)),
        support((filter == ResampleFilter::kCubic ? 2.0 : 1.0) * width) {}

  Reach Of(uint32_t i, uint32_t in) const {
    Reach reach;
    reach.center = (i + 0.5) * scale;
    reach.begin =
        std::max(static_cast<int32_t>(reach.center - support + 0.5), 0);
    reach.end = std::min(static_cast<int32_t>(reach.center + support + 0.5),
                         static_cast<int32_t>(in));
    return reach;
  }
};

// Weights before they are made to add up to 1, and what they add up to.
template <double (*kFilter)(double)>
double Weigh(const Reach& reach, double inverse_width, double* weights) {
  double sum = 0;
  for (int32_t pixel = reach.begin; pixel < reach.end; ++pixel, ++weights) {
    *weights = kFilter((pixel - reach.center + 0.5) * inverse_width);
    sum += *weights;
  }
  return sum == 0 ? 1 : sum;
}

// Divides in the same loop: a vector loop of divisions alone would wait for the
// weights, which have just been stored one by one.
void Split(const double* weights, uint32_t count, double sum, int16_t* fixed) {
  for (uint32_t t = 0; t < count; ++t) {
    const int32_t weight = ToFixed(weights[t] / sum);
    int16_t* const low = fixed + t / 2 * 4 + t % 2;
    low[0] = static_cast<int16_t>(weight & ((1 << kFixedLowBits) - 1));
    low[2] = static_cast<int16_t>(weight >> kFixedLowBits);
  }
}

}  // namespace

ResampleSpan MakeFilterTaps(const ResampleAxis& axis, ResampleFilter filter,
                            bool exact, FilterTaps* taps) {
  const Filter shape(axis, filter);
  ResampleSpan span;
  span.begin = shape.Of(axis.begin, axis.in).begin;
  span.end = shape.Of(axis.begin + axis.count - 1, axis.in).end;
  taps->first.resize(axis.count);
  taps->taps = 0;
  for (uint32_t i = 0; i < axis.count; ++i) {
    const Reach reach = shape.Of(axis.begin + i, axis.in);
    taps->first[i] = reach.begin - span.begin;
    taps->taps = std::max<uint32_t>(taps->taps, reach.end - reach.begin);
  }
  taps->exact.assign(exact ? size_t{axis.count} * taps->taps : taps->taps, 0);
  taps->fixed.assign(exact ? 0 : size_t{axis.count} * 4 * taps->pairs(), 0);
  double* weights = taps->exact.data();
  int16_t* fixed = taps->fixed.data();
  const double inverse_width = 1.0 / shape.width;
  for (uint32_t i = 0; i < axis.count; ++i) {
    const Reach reach = shape.Of(axis.begin + i, axis.in);
    const double sum = filter == ResampleFilter::kCubic
                           ? Weigh<Cubic>(reach, inverse_width, weights)
                           : Weigh<Triangle>(reach, inverse_width, weights);
    const uint32_t count = reach.end - reach.begin;
    if (exact) {
      for (uint32_t t = 0; t < count; ++t) weights[t] /= sum;
      weights += taps->taps;
    } else {
      Split(weights, count, sum, fixed);
      fixed += 4 * taps->pairs();
    }
  }
  return span;
}

ResampleSpan MakeLerpTaps(const ResampleAxis& axis,
                          std::vector<LerpTap>* taps) {
  const float scale =
      static_cast<float>(axis.in) / static_cast<float>(axis.out);
  taps->resize(axis.count);
  for (uint32_t i = 0; i < axis.count; ++i) {
    const float at = (static_cast<float>(axis.begin + i) + 0.5f) * scale - 0.5f;
    const float floor = std::floor(at);
    LerpTap& tap = (*taps)[i];
    tap.lower =
        std::min(static_cast<uint32_t>(std::max(floor, 0.0f)), axis.in - 1);
    tap.upper = std::min(static_cast<uint32_t>(std::max(std::ceil(at), 0.0f)),
                         axis.in - 1);
    tap.part = at - floor;
  }
  const ResampleSpan span = {taps->front().lower, taps->back().upper + 1};
  for (LerpTap& tap : *taps) {
    tap.lower -= span.begin;
    tap.upper -= span.begin;
  }
  return span;
}

ResampleSpan MakeNearestTaps(const ResampleAxis& axis, bool running_sum,
                             std::vector<uint32_t>* taps) {
  taps->resize(axis.count);
  if (running_sum) {
    const double scale = static_cast<double>(axis.in) / axis.out;
    double at = scale * 0.5;
    for (uint32_t i = 0; i < axis.begin; ++i) at += scale;
    for (uint32_t& tap : *taps) {
      tap = std::min(static_cast<uint32_t>(at), axis.in - 1);
      at += scale;
    }
  } else {
    const float scale =
        static_cast<float>(axis.in) / static_cast<float>(axis.out);
    for (uint32_t i = 0; i < axis.count; ++i) {
      const float at = (static_cast<float>(axis.begin + i) + 0.5f) * scale;
      (*taps)[i] = std::min(static_cast<uint32_t>(at), axis.in - 1);
    }
  }
  const ResampleSpan span = {taps->front(), taps->back() + 1};
  for (uint32_t& tap : *taps) tap -= span.begin;
  return span;
}

}  // namespace liquid
