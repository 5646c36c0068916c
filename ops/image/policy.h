// Policies of augmentation: which operations one draw of an image gets.
//
// Names, magnitudes and how they are made into numbers are those of
// torchvision 0.29's transforms.v2 for PIL images, of timm 1.0's
// data.auto_augment and of DeiT III; chance is this library's own. Pure
// functions of (seed, epoch, number of the draw) and the image's size, by
// arithmetic that is the same on every machine.
#ifndef LIQUID_OPS_IMAGE_POLICY_H_
#define LIQUID_OPS_IMAGE_POLICY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/image/draws.h"
#include "ops/image/operations.h"

namespace liquid {

// Torchvision's operations, in its order: RandAugment and TrivialAugmentWide
// choose among all but the last.
enum class PolicyOperation : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};
inline constexpr size_t kPolicyOperations = 15;

// By number, as torchvision writes it.
const char* NameOf(PolicyOperation operation);

// What timm's RandAugment is told.
struct TimmSpec {
  double magnitude = 10;
  double deviation = 0;     // of a normal number that is added
  double most = 10;         // where magnitudes are cut
  bool uniform = false;     // from 0 to `magnitude` instead
  bool increasing = false;  // changes grow with the magnitude
  Chance chance = 0;        // of each operation
  std::array<uint8_t, 3> fill = {128, 128, 128};
};

struct PolicyStep {
  enum class Kind : uint8_t {
    kNone,
    kRandAugment,
    kTrivialAugmentWide,
    kAutoAugment,
    kTimm,
    kThreeAugment,
  };
  // One of the operations of kAutoAugment that an image may get one after the
  // other.
  struct Part {
    PolicyOperation operation = PolicyOperation::kIdentity;
    Chance chance = 0;
    uint32_t magnitude = 0;  // below kAutoMagnitudes
  };
  static constexpr uint32_t kAutoMagnitudes = 10;
  static constexpr uint32_t kRandMagnitudes = 31;
  // That an image gets one after the other.
  static constexpr size_t kMostOperations = 32;

  Kind kind = Kind::kNone;
  uint32_t count = 0;      // of operations: kRandAugment and kTimm
  uint32_t magnitude = 0;  // below kRandMagnitudes: kRandAugment
  std::vector<std::vector<Part>> policies;  // of kAutoAugment, at least one
  TimmSpec timm;
};

// The operations of that draw on an image of that size, with those left out
// that change nothing whatever the image is.
std::vector<Operation> DrawPolicy(const PolicyStep& step, uint64_t seed,
                                  int64_t epoch, uint64_t draw, size_t height,
                                  size_t width);

// From `least` to `most` in `count` steps, at `i`: torch.linspace in float32,
// as torch computes it on processors that round a product and a sum once.
// Requires at least two steps.
float Linspace(float least, float most, uint32_t count, uint32_t i);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_POLICY_H_
