// Where a crop window lies in an image.
//
// All choices are pure functions of (seed, epoch, number of the draw) and the
// image's size, by integers and by what IEEE 754 rounds alike on every machine
// (products, quotients and square roots): never by a library's exp or log.
#ifndef LIQUID_OPS_IMAGE_CROP_H_
#define LIQUID_OPS_IMAGE_CROP_H_

#include <array>
#include <cstdint>

#include "ops/codecs/codec.h"
#include "ops/core/rng.h"
#include "ops/core/status.h"

namespace liquid {

// Windows of random size, as ImageNet recipes take them ("Inception crops",
// Szegedy et al., "Going deeper with convolutions", CVPR 2015): of an area that
// is uniform between two shares of the image's, and of an aspect, width over
// height, whose logarithm is. A window that does not fit is drawn again, up to
// ten times; then it is the largest one in the centre of an aspect in the
// range.
class RandomSize {
 public:
  RandomSize() = default;
  // Error: InvalidArgument unless 0 < least area <= most <= 1 and 1/1000 <=
  // least aspect <= most <= 1000.
  static Status Create(double least_area, double most_area, double least_aspect,
                       double most_aspect, RandomSize* size);

  Window Place(uint64_t seed, int64_t epoch, uint64_t draw, uint32_t height,
               uint32_t width) const;

  // What two words choose for an image: pixels, and an aspect.
  struct Drawn {
    double area;
    double aspect;
  };
  Drawn Draw(const PhiloxCounter& words, uint32_t height, uint32_t width) const;

 private:
  // Bits of a random aspect: (most / least) ^ u, u of so many binary digits.
  static constexpr int kDigits = 24;

  Window Largest(uint32_t height, uint32_t width) const;
  double Aspect(uint32_t random) const;

  uint64_t least_area_ = 0;  // in 2^-32 of the image
  uint64_t most_area_ = 0;
  double least_aspect_ = 1;
  double most_aspect_ = 1;
  // (most / least) ^ (1/2), ^ (1/4), ...
  std::array<double, kDigits> roots_ = {};
};

// Chooses a window of an image.
struct CropStep {
  enum class Kind : uint8_t { kNone, kFixed, kRandom, kRandomSize };
  Kind kind = Kind::kNone;
  uint32_t height = 0;  // of kFixed and kRandom
  uint32_t width = 0;
  // Of kFixed: halves of the rest that lie above the window and left of it.
  uint32_t y = 1;
  uint32_t x = 1;
  bool mirrored = false;  // likewise: x is of the mirrored image
  RandomSize size;        // of kRandomSize
  RngPurpose purpose = RngPurpose::kCrop;  // of kRandom
};

// The window of the sample drawn as number `draw` of `epoch`: a random one is
// uniform over every position inside the image; of a fixed one, half of the
// rest is rounded half to even as torchvision's CenterCrop does.
// Error: InvalidArgument where the image is smaller than the window.
Status PlaceCrop(const CropStep& crop, uint64_t seed, int64_t epoch,
                 uint64_t draw, uint32_t height, uint32_t width,
                 Window* window);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_CROP_H_
