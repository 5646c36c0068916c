#include "ops/image/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/image/rotate.h"
#include "tests/ops/image/policy_goldens.h"

namespace liquid::policy_test {
namespace {

constexpr Chance kAlways = Chance{1} << 32;
constexpr uint64_t kSeed = 5;
constexpr int64_t kEpoch = 2;

std::vector<Operation> Draw(const PolicyStep& step, uint64_t draw,
                            size_t height = 64, size_t width = 64) {
  return DrawPolicy(step, kSeed, kEpoch, draw, height, width);
}

PolicyStep Of(PolicyStep::Kind kind) {
  PolicyStep step;
  step.kind = kind;
  return step;
}

// What an operation is told, where it is told one number.
enum class Told {
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kAmount
};

// As Pillow rounds places of the nearest pixels.
double Fixed(double value) { return std::floor(value * 65536 + .5); }

// Whether these are the operations that such a number is given for.
void ExpectTold(Told told, OperationKind kind, double golden, bool nearest,
                const std::vector<Operation>& operations) {
  const bool enhances =
      kind >= OperationKind::kBrightness && kind <= OperationKind::kSharpness;
  const bool nothing = told != Told::kAmount               ? golden == 0
                       : enhances                          ? golden == 1
                       : kind == OperationKind::kPosterize ? golden >= 8
                       : kind == OperationKind::kSolarize
                           ? golden > 255
                           : kind == OperationKind::kSolarizeAdd && golden == 0;
  ASSERT_EQ(operations.size(), nothing ? 0u : 1u);
  if (nothing) return;
  const Operation& found = operations[0];
  if (told == Told::kAmount) {
    EXPECT_EQ(found.kind, kind);
    EXPECT_EQ(found.amount, std::max(golden, 0.0));
    return;
  }
  if (told == Told::kRotate && std::fmod(golden, 180) == 0) {
    EXPECT_EQ(found.kind, OperationKind::kTurn180);
    return;
  }
  ASSERT_EQ(found.kind, OperationKind::kAffine);
  std::array<double, 6> want = {1, 0, 0, 0, 1, 0};
  if (told == Told::kRotate) {
    const Affine map = RotateSource(golden, kGoldenHeight, kGoldenWidth);
    want = {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0};
  } else {
    const std::map<Told, size_t> places = {{Told::kShearX, 1},
                                           {Told::kShearY, 3},
                                           {Told::kTranslateX, 2},
                                           {Told::kTranslateY, 5}};
    want[places.at(told)] = golden;
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (nearest) {
      EXPECT_EQ(Fixed(found.matrix[i]), Fixed(want[i])) << i;
    } else {
      EXPECT_EQ(found.matrix[i], want[i]) << i;
    }
  }
}

// Torchvision's operations that have magnitudes, in the order of the goldens.
struct Row {
  PolicyOperation operation;
  Told told;
  OperationKind kind;
  bool has_sign;
};
constexpr Row kRows[] = {
    {PolicyOperation::kShearX, Told::kShearX, OperationKind::kAffine, true},
    {PolicyOperation::kShearY, Told::kShearY, OperationKind::kAffine, true},
    {PolicyOperation::kTranslateX, Told::kTranslateX, OperationKind::kAffine,
     true},
    {PolicyOperation::kTranslateY, Told::kTranslateY, OperationKind::kAffine,
     true},
    {PolicyOperation::kRotate, Told::kRotate, OperationKind::kAffine, true},
    {PolicyOperation::kBrightness, Told::kAmount, OperationKind::kBrightness,
     true},
    {PolicyOperation::kColor, Told::kAmount, OperationKind::kColor, true},
    {PolicyOperation::kContrast, Told::kAmount, OperationKind::kContrast, true},
    {PolicyOperation::kSharpness, Told::kAmount, OperationKind::kSharpness,
     true},
    {PolicyOperation::kPosterize, Told::kAmount, OperationKind::kPosterize,
     false},
    {PolicyOperation::kSolarize, Told::kAmount, OperationKind::kSolarize,
     false},
};

// Checks that `operations` are what goldens of `kCount` magnitudes say.
template <size_t kCount>
void ExpectGolden(const double (&goldens)[20][kCount],
                  PolicyOperation operation, uint32_t magnitude, bool negative,
                  const std::vector<Operation>& operations) {
  size_t at = 0;
  for (const Row& row : kRows) {
    if (row.operation == operation) {
      at += row.has_sign && negative;
      SCOPED_TRACE(std::string(NameOf(operation)) + " " +
                   std::to_string(magnitude));
      ExpectTold(row.told, row.kind, goldens[at][magnitude], true, operations);
      return;
    }
    at += row.has_sign ? 2 : 1;
  }
  // Without magnitude.
  ASSERT_EQ(operations.size(), operation == PolicyOperation::kIdentity ? 0 : 1);
}

PhiloxCounter Words(uint64_t draw, uint8_t part) {
  return DrawWords(RngPurpose::kPolicy, kSeed, kEpoch, draw, part);
}

std::vector<Operation> DrawGolden(const PolicyStep& step, uint64_t draw) {
  return Draw(step, draw, kGoldenHeight, kGoldenWidth);
}

TEST(GoldenTest, TrivialAugmentWide) {
  const PolicyStep step = Of(PolicyStep::Kind::kTrivialAugmentWide);
  for (uint64_t draw = 0; draw < 6000; ++draw) {
    const PhiloxCounter words = Words(draw, 0);
    ExpectGolden(kGoldenTrivialAugmentWide,
                 static_cast<PolicyOperation>(Below(words[0], 14)),
                 Below(words[2], 31), words[1] >> 31 != 0,
                 DrawGolden(step, draw));
  }
}

TEST(GoldenTest, RandAugment) {
  PolicyStep step = Of(PolicyStep::Kind::kRandAugment);
  step.count = 1;
  for (step.magnitude = 0; step.magnitude < 31; ++step.magnitude) {
    for (uint64_t draw = 0; draw < 300; ++draw) {
      const PhiloxCounter words = Words(draw, 0);
      ExpectGolden(kGoldenRandAugment,
                   static_cast<PolicyOperation>(Below(words[0], 14)),
                   step.magnitude, words[1] >> 31 != 0, DrawGolden(step, draw));
    }
  }
  // The second one draws for itself.
  step.magnitude = 9;
  for (uint64_t draw = 0; draw < 100; ++draw) {
    step.count = 1;
    const size_t one = DrawGolden(step, draw).size();
    step.count = 2;
    std::vector<Operation> both = DrawGolden(step, draw);
    both.erase(both.begin(), both.begin() + static_cast<ptrdiff_t>(one));
    const PhiloxCounter words = Words(draw, 1);
    ExpectGolden(kGoldenRandAugment,
                 static_cast<PolicyOperation>(Below(words[0], 14)), 9,
                 words[1] >> 31 != 0, both);
  }
}

TEST(GoldenTest, AutoAugment) {
  PolicyStep step = Of(PolicyStep::Kind::kAutoAugment);
  for (size_t i = 0; i < kPolicyOperations; ++i) {
    for (uint32_t magnitude = 0; magnitude < 10; ++magnitude) {
      const auto operation = static_cast<PolicyOperation>(i);
      step.policies = {{{operation, kAlways, magnitude}}};
      for (uint64_t draw = 0; draw < 8; ++draw) {
        ExpectGolden(kGoldenAutoAugment, operation, magnitude,
                     Words(draw, 1)[1] >> 31 != 0, DrawGolden(step, draw));
      }
    }
  }
}

TEST(GoldenTest, Timm) {
  // By number of the operation, from Rotate on; Invert and two more have none.
  const std::pair<Told, OperationKind> rows[] = {
      {Told::kRotate, OperationKind::kAffine},
      {Told::kAmount, OperationKind::kPosterize},
      {Told::kAmount, OperationKind::kSolarize},
      {Told::kAmount, OperationKind::kSolarizeAdd},
      {Told::kAmount, OperationKind::kColor},
      {Told::kAmount, OperationKind::kContrast},
      {Told::kAmount, OperationKind::kBrightness},
      {Told::kAmount, OperationKind::kSharpness},
      {Told::kShearX, OperationKind::kAffine},
      {Told::kShearY, OperationKind::kAffine},
      {Told::kTranslateX, OperationKind::kAffine},
      {Told::kTranslateY, OperationKind::kAffine}};
  const OperationKind plain[] = {OperationKind::kAutoContrast,
                                 OperationKind::kEqualize,
                                 OperationKind::kInvert};
  PolicyStep step = Of(PolicyStep::Kind::kTimm);
  step.count = 1;
  step.timm.chance = kAlways;
  step.timm.most = 30;
  for (const bool increasing : {false, true}) {
    step.timm.increasing = increasing;
    for (size_t i = 0; i < std::size(kTimmLevels[0]); ++i) {
      step.timm.magnitude = kTimmLevels[0][i];
      for (uint64_t draw = 0; draw < 150; ++draw) {
        const PhiloxCounter words = Words(draw, 0);
        const auto operations = DrawGolden(step, draw);
        const size_t number = Below(words[0], 15);
        if (number < 3) {
          ASSERT_EQ(operations.size(), 1u);
          EXPECT_EQ(operations[0].kind, plain[number]);
          continue;
        }
        const size_t row =
            24 * increasing + 2 * (number - 3) + (words[3] >> 31);
        SCOPED_TRACE("row " + std::to_string(row) + ", level " +
                     std::to_string(i));
        const auto& [told, kind] = rows[number - 3];
        ExpectTold(told, kind, kGoldenTimm[row][i], false, operations);
      }
    }
  }
}

TEST(LinspaceTest, AsTorch) {
  EXPECT_EQ(Linspace(0, 30, 31, 9), 9);
  EXPECT_EQ(Linspace(1, 0, 31, 0), 1);
  EXPECT_EQ(Linspace(1, 0, 31, 30), 0);
  // Below 16, where a product and a sum are rounded once.
  EXPECT_LT(Linspace(0, 32, 31, 15), 16);
  EXPECT_EQ(Linspace(0, 135, 31, 20), 90);
}

TEST(PolicyTest, TrivialAugmentWideTakesEachOperationAlike) {
  std::map<OperationKind, int> counts;
  int none = 0, negative = 0, rotated = 0;
  const PolicyStep step = Of(PolicyStep::Kind::kTrivialAugmentWide);
  constexpr int kDraws = 28000;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    const std::vector<Operation> operations = Draw(step, draw);
    ASSERT_LE(operations.size(), 1u);
    if (operations.empty()) {
      ++none;
      continue;
    }
    ++counts[operations[0].kind];
    if (operations[0].kind == OperationKind::kSharpness) {
      negative += operations[0].amount < 1;
    }
    rotated += operations[0].kind == OperationKind::kTurn90 ||
               operations[0].kind == OperationKind::kTurn270;
  }
  const double each = kDraws / 14.0;
  // 4.1 sigma.
  const double spread = 4.1 * std::sqrt(each);
  EXPECT_NEAR(counts[OperationKind::kAutoContrast], each, spread);
  EXPECT_NEAR(counts[OperationKind::kEqualize], each, spread);
  EXPECT_NEAR(counts[OperationKind::kSolarize], each, spread);
  EXPECT_NEAR(counts[OperationKind::kSharpness], each * 30 / 31, spread);
  EXPECT_NEAR(counts[OperationKind::kBrightness], each * 30 / 31, spread);
  EXPECT_NEAR(counts[OperationKind::kColor], each * 30 / 31, spread);
  EXPECT_NEAR(counts[OperationKind::kContrast], each * 30 / 31, spread);
  // The first three keep all 8 bits.
  EXPECT_NEAR(counts[OperationKind::kPosterize], each * 28 / 31, spread);
  // Two translations lose their first, which moves by no pixel; a turn by a
  // right angle is none of these.
  EXPECT_NEAR(counts[OperationKind::kAffine] + rotated, 5 * each * 30 / 31,
              3 * spread);
  EXPECT_NEAR(rotated, each / 31, 4.1 * std::sqrt(each / 31));
  EXPECT_NEAR(negative, each * 15 / 31, spread);
  EXPECT_EQ(counts[OperationKind::kInvert], 0);
}

TEST(PolicyTest, RandAugmentDoesSome) {
  PolicyStep step = Of(PolicyStep::Kind::kRandAugment);
  step.count = 5;
  step.magnitude = 9;
  size_t sum = 0;
  for (uint64_t draw = 0; draw < 1000; ++draw) {
    const auto operations = Draw(step, draw);
    ASSERT_LE(operations.size(), 5u);
    sum += operations.size();
    for (const Operation& one : operations) {
      if (one.kind == OperationKind::kBrightness) {
        EXPECT_NEAR(std::fabs(one.amount - 1), .27, 1e-6);
      }
      if (one.kind == OperationKind::kPosterize) {
        EXPECT_EQ(one.amount, 7);
      }
    }
  }
  // Identity alone does nothing.
  EXPECT_NEAR(static_cast<double>(sum), 5000 * 13 / 14.0, 75);
}

TEST(PolicyTest, AutoAugmentGoesByItsChances) {
  PolicyStep step = Of(PolicyStep::Kind::kAutoAugment);
  step.policies = {{{PolicyOperation::kInvert, kAlways / 4, 0},
                    {PolicyOperation::kEqualize, kAlways, 0}},
                   {{PolicyOperation::kRotate, kAlways, 3}}};
  int first = 0, inverted = 0, left = 0;
  for (uint64_t draw = 0; draw < 8000; ++draw) {
    const auto operations = Draw(step, draw);
    ASSERT_GE(operations.size(), 1u);
    if (operations[0].kind == OperationKind::kAffine) {
      left += operations[0].matrix[3] > 0;
      continue;
    }
    ++first;
    EXPECT_EQ(operations.back().kind, OperationKind::kEqualize);
    inverted += operations.size() == 2;
  }
  EXPECT_NEAR(first, 4000, 184);
  EXPECT_NEAR(inverted, 1000, 123);
  EXPECT_NEAR(left, 2000, 159);
}

TEST(PolicyTest, TimmIsNormalAndCut) {
  PolicyStep step = Of(PolicyStep::Kind::kTimm);
  step.count = 2;
  step.timm.magnitude = 9;
  step.timm.deviation = .5;
  step.timm.increasing = true;
  step.timm.chance = kAlways / 2;
  step.timm.fill = {1, 2, 3};
  size_t sum = 0;
  int bicubic = 0, affine = 0, most = 0, enhanced = 0;
  double magnitudes = 0, squares = 0;
  for (uint64_t draw = 0; draw < 20000; ++draw) {
    const auto operations = Draw(step, draw);
    sum += operations.size();
    for (const Operation& one : operations) {
      if (one.kind == OperationKind::kAffine) {
        ++affine;
        bicubic += one.interpolation == Interpolation::kBicubic;
        EXPECT_EQ(one.fill, step.timm.fill);
      }
      if (one.kind == OperationKind::kColor) {
        const double magnitude = std::fabs(one.amount - 1) / .09;
        ++enhanced;
        most += magnitude > 10 - 1e-9;
        magnitudes += magnitude;
        squares += (magnitude - 9) * (magnitude - 9);
        ASSERT_LE(magnitude, 10 + 1e-9);
      }
    }
  }
  // Equal to 0 bits of Posterize alone is what is left out.
  EXPECT_NEAR(static_cast<double>(sum), 20000, 410);
  EXPECT_NEAR(bicubic, affine / 2.0, 4.1 * std::sqrt(affine / 4.0));
  EXPECT_NEAR(enhanced, 20000 / 15.0, 150);
  // Beyond two deviations.
  EXPECT_NEAR(most, .0228 * enhanced, 4.1 * std::sqrt(.0228 * enhanced));
  EXPECT_NEAR(magnitudes / enhanced, 9, .06);
  EXPECT_NEAR(squares / enhanced, .25, .05);
}

TEST(PolicyTest, ThreeAugmentTakesEachAlike) {
  std::map<OperationKind, int> counts;
  const PolicyStep step = Of(PolicyStep::Kind::kThreeAugment);
  for (uint64_t draw = 0; draw < 6000; ++draw) {
    const auto operations = Draw(step, draw);
    ASSERT_EQ(operations.size(), 1u);
    ++counts[operations[0].kind];
    if (operations[0].kind == OperationKind::kBlur) {
      EXPECT_GE(operations[0].amount, .1);
      EXPECT_LT(operations[0].amount, 2);
    }
  }
  ASSERT_EQ(counts.size(), 3u);
  for (const auto& [kind, count] : counts) EXPECT_NEAR(count, 2000, 150);
}

TEST(PolicyTest, TurnsByRightAngles) {
  // Of squares alone; a turn by 180 degrees, of all.
  PolicyStep step = Of(PolicyStep::Kind::kTimm);
  step.count = 1;
  step.timm.chance = kAlways;
  step.timm.most = 100;
  std::map<OperationKind, int> square, other;
  for (const double magnitude : {30.0, 60.0}) {
    step.timm.magnitude = magnitude;
    for (uint64_t draw = 0; draw < 400; ++draw) {
      for (const Operation& one : Draw(step, draw)) ++square[one.kind];
      for (const Operation& one : Draw(step, draw, 64, 65)) ++other[one.kind];
    }
  }
  EXPECT_GT(square[OperationKind::kTurn90], 0);
  EXPECT_GT(square[OperationKind::kTurn180], 0);
  EXPECT_GT(square[OperationKind::kTurn270], 0);
  EXPECT_EQ(other[OperationKind::kTurn90], 0);
  EXPECT_EQ(other[OperationKind::kTurn180], square[OperationKind::kTurn180]);
}

}  // namespace
}  // namespace liquid::policy_test
