#include "ops/image/crop.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/image/draws.h"

namespace liquid {
namespace {

constexpr int kAttempts = 10;
constexpr double kMostAspect = 1000;

uint64_t Fixed(double share) {
  return static_cast<uint64_t>(share * 4294967296.0);
}

// n / 2; where that is no whole number, the even one beside it.
uint32_t HalfToEven(uint64_t n) {
  return static_cast<uint32_t>(n / 2 + (n & n / 2 & 1));
}

// To the nearest whole side of at least a pixel; at most one more than `most`.
uint32_t Side(double pixels, uint32_t most) {
  return static_cast<uint32_t>(
      std::clamp(std::floor(pixels + 0.5), 1.0, most + 1.0));
}

}  // namespace

Status RandomSize::Create(double least_area, double most_area,
                          double least_aspect, double most_aspect,
                          RandomSize* size) {
  // Written so that NaN is an error.
  if (!(least_area > 0 && least_area <= most_area && most_area <= 1)) {
    return InvalidArgument("random_area (" + std::to_string(least_area) + ", " +
                           std::to_string(most_area) +
                           ") must be two shares of the image, above 0 and "
                           "rising to at most 1");
  }
  if (!(least_aspect >= 1 / kMostAspect && least_aspect <= most_aspect &&
        most_aspect <= kMostAspect)) {
    return InvalidArgument("random_aspect (" + std::to_string(least_aspect) +
                           ", " + std::to_string(most_aspect) +
                           ") must be two rising quotients of width and "
                           "height, from 0.001 to 1000");
  }
  size->least_area_ = Fixed(least_area);
  size->most_area_ = std::max<uint64_t>(Fixed(most_area), 1);
  size->least_aspect_ = least_aspect;
  size->most_aspect_ = most_aspect;
  double root = most_aspect / least_aspect;
  for (double& digit : size->roots_) digit = root = std::sqrt(root);
  return OkStatus();
}

double RandomSize::Aspect(uint32_t random) const {
  double aspect = least_aspect_;
  for (int i = 0; i < kDigits; ++i) {
    if (random >> (31 - i) & 1) aspect *= roots_[i];
  }
  return aspect;
}

RandomSize::Drawn RandomSize::Draw(const PhiloxCounter& words, uint32_t height,
                                   uint32_t width) const {
  const uint64_t pixels = uint64_t{height} * width;
  const uint64_t share =
      least_area_ + (((most_area_ - least_area_) * words[0]) >> 32);
  return {
      static_cast<double>(pixels) * (static_cast<double>(share) / 4294967296),
      Aspect(words[1])};
}

Window RandomSize::Place(uint64_t seed, int64_t epoch, uint64_t draw,
                         uint32_t height, uint32_t width) const {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const PhiloxCounter words = DrawWords(RngPurpose::kResizedCrop, seed, epoch,
                                          draw, static_cast<uint8_t>(attempt));
    const auto [area, aspect] = Draw(words, height, width);
    const uint32_t h = Side(std::sqrt(area / aspect), height);
    const uint32_t w = Side(std::sqrt(area * aspect), width);
    if (h > height || w > width) continue;
    return {Below(words[2], uint64_t{height - h} + 1),
            Below(words[3], uint64_t{width - w} + 1), h, w};
  }
  return Largest(height, width);
}

Window RandomSize::Largest(uint32_t height, uint32_t width) const {
  const double aspect = static_cast<double>(width) / height;
  uint32_t h = height, w = width;
  if (aspect < least_aspect_) h = std::min(Side(w / least_aspect_, h), h);
  if (aspect > most_aspect_) w = std::min(Side(h * most_aspect_, w), w);
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Status PlaceCrop(const CropStep& crop, uint64_t seed, int64_t epoch,
                 uint64_t draw, uint32_t height, uint32_t width,
                 Window* window) {
  switch (crop.kind) {
    case CropStep::Kind::kNone:
      *window = {0, 0, height, width};
      return OkStatus();
    case CropStep::Kind::kRandomSize:
      *window = crop.size.Place(seed, epoch, draw, height, width);
      return OkStatus();
    case CropStep::Kind::kFixed:
    case CropStep::Kind::kRandom:
      break;
  }
  if (crop.height > height || crop.width > width) {
    return InvalidArgument(
        "crop (" + std::to_string(crop.height) + ", " +
        std::to_string(crop.width) + ") is larger than the image's " +
        std::to_string(height) + "x" + std::to_string(width) + " pixels");
  }
  const uint32_t rows = height - crop.height;
  const uint32_t columns = width - crop.width;
  *window = {0, 0, crop.height, crop.width};
  if (crop.kind == CropStep::Kind::kFixed) {
    window->y = HalfToEven(uint64_t{crop.y} * rows);
    window->x = HalfToEven(uint64_t{crop.x} * columns);
    if (crop.mirrored) window->x = columns - window->x;
    return OkStatus();
  }
  const PhiloxCounter words = DrawWords(crop.purpose, seed, epoch, draw);
  window->y = Below(words[0], uint64_t{rows} + 1);
  window->x = Below(words[1], uint64_t{columns} + 1);
  return OkStatus();
}

}  // namespace liquid
