#include "ops/image/policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/image/noise.h"
#include "ops/image/rotate.h"

namespace liquid {
namespace {

// Of torchvision's policies: at the greatest magnitude.
struct Space {
  uint32_t magnitudes;
  float shear;
  float translate;  // in pixels; 0: a share of the side
  float rotate;
  float enhance;
  uint32_t posterize;  // bits that are lost
};

constexpr Space kAuto = {PolicyStep::kAutoMagnitudes, 0.3f, 0, 30, 0.9f, 4};
constexpr Space kRand = {PolicyStep::kRandMagnitudes, 0.3f, 0, 30, 0.9f, 4};
constexpr Space kWide = {PolicyStep::kRandMagnitudes, 0.99f, 32, 135, 0.99f, 6};
// Those of kRand and kWide: without Invert.
constexpr uint32_t kChoices = kPolicyOperations - 1;

class Operations {
 public:
  Operations(size_t height, size_t width) : height_(height), width_(width) {}

  std::vector<Operation> Take() { return std::move(operations_); }

  void Plain(OperationKind kind) { operations_.push_back(Of(kind, 0)); }

  // A factor of ImageEnhance.
  void Enhance(OperationKind kind, double factor) {
    if (factor != 1) operations_.push_back(Of(kind, factor));
  }

  void Posterize(int bits) {
    if (bits >= 8) return;
    operations_.push_back(Of(OperationKind::kPosterize, std::max(bits, 0)));
  }

  void Solarize(double threshold) {
    if (threshold > 255) return;
    operations_.push_back(Of(OperationKind::kSolarize, threshold));
  }

  void SolarizeAdd(int added) {
    if (added == 0) return;
    operations_.push_back(Of(OperationKind::kSolarizeAdd, added));
  }

  void Blur(double sigma) {
    operations_.push_back(Of(OperationKind::kBlur, sigma));
  }

  void Rotate(double degrees, const Operation& how) {
    double turn = std::fmod(degrees, 360);
    if (turn < 0) turn += 360;
    const bool square = height_ == width_;
    if (turn == 0) return;
    if (turn == 180) return Plain(OperationKind::kTurn180);
    if (turn == 90 && square) return Plain(OperationKind::kTurn90);
    if (turn == 270 && square) return Plain(OperationKind::kTurn270);
    const Affine source = RotateSource(degrees, height_, width_);
    Move({source.xx, source.xy, source.x0, source.yx, source.yy, source.y0},
         how);
  }

  void ShearX(double shear, const Operation& how) {
    if (shear != 0) Move({1, shear, 0, 0, 1, 0}, how);
  }
  void ShearY(double shear, const Operation& how) {
    if (shear != 0) Move({1, 0, 0, shear, 1, 0}, how);
  }
  // From where a pixel's value is taken.
  void TranslateX(double pixels, const Operation& how) {
    if (pixels != 0) Move({1, 0, pixels, 0, 1, 0}, how);
  }
  void TranslateY(double pixels, const Operation& how) {
    if (pixels != 0) Move({1, 0, 0, 0, 1, pixels}, how);
  }

  double height() const { return static_cast<double>(height_); }
  double width() const { return static_cast<double>(width_); }

 private:
  static Operation Of(OperationKind kind, double amount) {
    Operation operation;
    operation.kind = kind;
    operation.amount = amount;
    return operation;
  }

  // `how` has the interpolation and the fill.
  void Move(const std::array<double, 6>& matrix, const Operation& how) {
    Operation operation = how;
    operation.kind = OperationKind::kAffine;
    operation.matrix = matrix;
    operations_.push_back(operation);
  }

  const size_t height_, width_;
  std::vector<Operation> operations_;
};

// Torchvision's translation: whole pixels, towards the sign's side.
double Translation(const Space& space, double side, uint32_t magnitude,
                   double sign) {
  const float most = space.translate > 0
                         ? space.translate
                         : static_cast<float>(150.0 / 331.0 * side);
  const float pixels = Linspace(0, most, space.magnitudes, magnitude);
  return -sign * std::trunc(static_cast<double>(pixels));
}

// `sign`: 1 or -1.
void AddOperation(const Space& space, PolicyOperation operation,
                  uint32_t magnitude, double sign, Operations* added) {
  const auto amount = [&](float most) {
    return static_cast<double>(Linspace(0, most, space.magnitudes, magnitude));
  };
  const auto enhance = [&](OperationKind kind) {
    added->Enhance(kind, 1 + sign * amount(space.enhance));
  };
  const Operation nearest;
  switch (operation) {
    case PolicyOperation::kIdentity:
      return;
    case PolicyOperation::kShearX:
      // Torchvision takes the tangent of the angle of that tangent: the same
      // in the steps of 2^-16 in which the nearest pixels are found.
      return added->ShearX(sign * amount(space.shear), nearest);
    case PolicyOperation::kShearY:
      return added->ShearY(sign * amount(space.shear), nearest);
    case PolicyOperation::kTranslateX:
      return added->TranslateX(
          Translation(space, added->width(), magnitude, sign), nearest);
    case PolicyOperation::kTranslateY:
      return added->TranslateY(
          Translation(space, added->height(), magnitude, sign), nearest);
    case PolicyOperation::kRotate:
      return added->Rotate(sign * amount(space.rotate), nearest);
    case PolicyOperation::kBrightness:
      return enhance(OperationKind::kBrightness);
    case PolicyOperation::kColor:
      return enhance(OperationKind::kColor);
    case PolicyOperation::kContrast:
      return enhance(OperationKind::kContrast);
    case PolicyOperation::kSharpness:
      return enhance(OperationKind::kSharpness);
    case PolicyOperation::kPosterize: {
      // The nearest whole number; none lies halfway.
      const uint32_t last = space.magnitudes - 1;
      const uint32_t lost =
          (2 * magnitude * space.posterize + last) / (2 * last);
      return added->Posterize(8 - static_cast<int>(lost));
    }
    case PolicyOperation::kSolarize:
      return added->Solarize(255.0 * static_cast<double>(Linspace(
                                         1, 0, space.magnitudes, magnitude)));
    case PolicyOperation::kAutoContrast:
      return added->Plain(OperationKind::kAutoContrast);
    case PolicyOperation::kEqualize:
      return added->Plain(OperationKind::kEqualize);
    case PolicyOperation::kInvert:
      return added->Plain(OperationKind::kInvert);
  }
}

double SignOf(uint32_t word) { return word >> 31 != 0 ? -1 : 1; }

// timm's operations, in its order; the last two are by shares of the sides.
enum class TimmOperation : uint8_t {
  kAutoContrast,
  kEqualize,
  kInvert,
  kRotate,
  kPosterize,
  kSolarize,
  kSolarizeAdd,
  kColor,
  kContrast,
  kBrightness,
  kSharpness,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
};
constexpr uint32_t kTimmOperations = 15;

// `level`: the magnitude in tenths. `sign_word`: its highest bit is the sign,
// the next one the interpolation.
void AddTimm(const TimmSpec& spec, TimmOperation operation, double level,
             uint32_t sign_word, Operations* added) {
  const double sign = SignOf(sign_word);
  const auto enhance = [&](OperationKind kind) {
    added->Enhance(kind, spec.increasing
                             ? std::max(0.1, 1.0 + sign * (level * 0.9))
                             : level * 1.8 + 0.1);
  };
  Operation how;
  how.interpolation = (sign_word >> 30 & 1) != 0 ? Interpolation::kBicubic
                                                 : Interpolation::kBilinear;
  how.fill = spec.fill;
  switch (operation) {
    case TimmOperation::kAutoContrast:
      return added->Plain(OperationKind::kAutoContrast);
    case TimmOperation::kEqualize:
      return added->Plain(OperationKind::kEqualize);
    case TimmOperation::kInvert:
      return added->Plain(OperationKind::kInvert);
    case TimmOperation::kRotate:
      return added->Rotate(sign * (level * 30), how);
    case TimmOperation::kPosterize: {
      const int bits = static_cast<int>(level * 4);
      return added->Posterize(spec.increasing ? 4 - bits : bits);
    }
    case TimmOperation::kSolarize: {
      const int threshold = std::min(256, static_cast<int>(level * 256));
      return added->Solarize(spec.increasing ? 256 - threshold : threshold);
    }
    case TimmOperation::kSolarizeAdd:
      return added->SolarizeAdd(std::min(128, static_cast<int>(level * 110)));
    case TimmOperation::kColor:
      return enhance(OperationKind::kColor);
    case TimmOperation::kContrast:
      return enhance(OperationKind::kContrast);
    case TimmOperation::kBrightness:
      return enhance(OperationKind::kBrightness);
    case TimmOperation::kSharpness:
      return enhance(OperationKind::kSharpness);
    case TimmOperation::kShearX:
      return added->ShearX(sign * (level * 0.3), how);
    case TimmOperation::kShearY:
      return added->ShearY(sign * (level * 0.3), how);
    case TimmOperation::kTranslateX:
      return added->TranslateX(sign * (level * 0.45) * added->width(), how);
    case TimmOperation::kTranslateY:
      return added->TranslateY(sign * (level * 0.45) * added->height(), how);
  }
}

double TimmMagnitude(const TimmSpec& spec, uint32_t word) {
  double magnitude = spec.magnitude;
  if (spec.uniform) {
    magnitude = Between(0, spec.magnitude, word);
  } else if (spec.deviation > 0) {
    magnitude += double{NormalQuantile(word)} * spec.deviation;
  }
  return std::clamp(magnitude, 0.0, spec.most);
}

// DeiT III's, each as likely.
void AddOneOfThree(const PhiloxCounter& words, Operations* added) {
  switch (Below(words[0], 3)) {
    case 0:
      return added->Plain(OperationKind::kGray);
    case 1:
      return added->Solarize(128);
    default:
      return added->Blur(Between(0.1, 2.0, words[1]));
  }
}

}  // namespace

const char* NameOf(PolicyOperation operation) {
  static constexpr std::array<const char*, kPolicyOperations> kNames = {
      "Identity",  "ShearX",     "ShearY",       "TranslateX", "TranslateY",
      "Rotate",    "Brightness", "Color",        "Contrast",   "Sharpness",
      "Posterize", "Solarize",   "AutoContrast", "Equalize",   "Invert"};
  return kNames[static_cast<size_t>(operation)];
}

float Linspace(float least, float most, uint32_t count, uint32_t i) {
  // Products of a float and a small number are exact as doubles.
  const auto step =
      static_cast<double>((most - least) / static_cast<float>(count - 1));
  return static_cast<float>(i < count / 2 ? least + step * i
                                          : most - step * (count - 1 - i));
}

std::vector<Operation> DrawPolicy(const PolicyStep& step, uint64_t seed,
                                  int64_t epoch, uint64_t draw, size_t height,
                                  size_t width) {
  Operations added(height, width);
  const auto words = [&](size_t part) {
    return DrawWords(RngPurpose::kPolicy, seed, epoch, draw,
                     static_cast<uint8_t>(part));
  };
  switch (step.kind) {
    case PolicyStep::Kind::kNone:
      break;
    case PolicyStep::Kind::kRandAugment:
      for (size_t i = 0; i < step.count; ++i) {
        const PhiloxCounter part = words(i);
        AddOperation(kRand,
                     static_cast<PolicyOperation>(Below(part[0], kChoices)),
                     step.magnitude, SignOf(part[1]), &added);
      }
      break;
    case PolicyStep::Kind::kTrivialAugmentWide: {
      const PhiloxCounter part = words(0);
      AddOperation(kWide,
                   static_cast<PolicyOperation>(Below(part[0], kChoices)),
                   Below(part[2], kWide.magnitudes), SignOf(part[1]), &added);
      break;
    }
    case PolicyStep::Kind::kAutoAugment: {
      const auto& policy =
          step.policies[Below(words(0)[0], step.policies.size())];
      for (size_t i = 0; i < policy.size(); ++i) {
        const PhiloxCounter part = words(i + 1);
        if (!Happens(part[0], policy[i].chance)) continue;
        AddOperation(kAuto, policy[i].operation, policy[i].magnitude,
                     SignOf(part[1]), &added);
      }
      break;
    }
    case PolicyStep::Kind::kTimm:
      for (size_t i = 0; i < step.count; ++i) {
        const PhiloxCounter part = words(i);
        if (!Happens(part[1], step.timm.chance)) continue;
        AddTimm(step.timm,
                static_cast<TimmOperation>(Below(part[0], kTimmOperations)),
                TimmMagnitude(step.timm, part[2]) / 10, part[3], &added);
      }
      break;
    case PolicyStep::Kind::kThreeAugment:
      AddOneOfThree(words(0), &added);
      break;
  }
  return added.Take();
}

}  // namespace liquid
