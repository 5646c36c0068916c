#include "ops/image/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "ops/image/recipe_text.h"

namespace liquid::recipe_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMostPixels = uint64_t{1} << 28;

Recipe Parse(const std::vector<std::string>& lines, uint64_t seed = 1) {
  RecipeText text;
  const Status status = ParseRecipe(lines, &text);
  EXPECT_TRUE(status.ok()) << status.message();
  text.recipe.seed = seed;
  return text.recipe;
}

bool ParseRecipeOf(const std::string& line) {
  RecipeText text;
  return ParseRecipe({line}, &text).ok();
}

std::string Error(const std::vector<std::string>& lines) {
  RecipeText text;
  const Status status = ParseRecipe(lines, &text);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  return status.message();
}

const char kResize[] = "interpolation=bilinear antialias=1 draft=0";

std::vector<std::string> Evaluation() {
  return {std::string("Resize shorter=256 ") + kResize,
          "CenterCrop height=224 width=224"};
}

TEST(RecipeTextTest, StepsInOrder) {
  RecipeText text;
  ASSERT_TRUE(
      ParseRecipe({"Orient", "RandomCrop height=9 width=8",
                   std::string("Resize longer=7 ") + kResize,
                   "Pad height=12 width=13 value=3 mask_value=255",
                   "CenterCrop height=5 width=4", "Mirror p=0.5", "Flip p=0.25",
                   "Rotate degrees=10 value=0 mask_value=1",
                   "RandAugment n=3 magnitude=7",
                   "ColorJitter brightness=.4 contrast=.3 saturation=.2 "
                   "hue=.1 p=.75",
                   "Grayscale p=1", "GaussianBlur sigma=.5,2 p=.5",
                   "Solarize threshold=256 p=0", "Normalize mean=1.5,2,3 std=4",
                   "RandomErasing p=0.5 scale=.1,.2 ratio=.5,2 value=1,2,3",
                   "ChannelsFirst"},
                  &text)
          .ok());
  const Recipe& recipe = text.recipe;
  EXPECT_TRUE(recipe.orient);
  EXPECT_EQ(recipe.crop.kind, CropStep::Kind::kRandom);
  EXPECT_EQ(recipe.crop.purpose, RngPurpose::kCrop);
  EXPECT_EQ(recipe.resize.kind, ResizeStep::Kind::kLonger);
  EXPECT_EQ(recipe.resize.height, 7u);
  EXPECT_EQ(recipe.pad.mask_value, 255);
  EXPECT_EQ(recipe.second_crop.kind, CropStep::Kind::kFixed);
  EXPECT_EQ(recipe.second_crop.width, 4u);
  EXPECT_EQ(recipe.mirror, Chance{1} << 31);
  EXPECT_EQ(recipe.flip, Chance{1} << 30);
  EXPECT_EQ(recipe.rotate.degrees, 10);
  EXPECT_EQ(recipe.policy.kind, PolicyStep::Kind::kRandAugment);
  EXPECT_EQ(recipe.policy.count, 3u);
  EXPECT_EQ(recipe.policy.magnitude, 7u);
  EXPECT_EQ(recipe.jitter, Chance{3} << 30);
  EXPECT_EQ(recipe.colour.hue, .1);
  EXPECT_EQ(recipe.grayscale, Chance{1} << 32);
  EXPECT_EQ(recipe.blur.least, .5);
  EXPECT_EQ(recipe.blur.most, 2);
  EXPECT_EQ(recipe.blur.chance, Chance{1} << 31);
  EXPECT_EQ(recipe.solarize.threshold, 256);
  EXPECT_THAT(text.mean, ::testing::ElementsAre(1.5f, 2, 3));
  EXPECT_THAT(text.std, ::testing::ElementsAre(4));
  EXPECT_EQ(recipe.erase, Chance{1} << 31);
  EXPECT_FALSE(recipe.erasing.noise);
  EXPECT_THAT(recipe.erasing.values, ::testing::ElementsAre(1, 2, 3));
  EXPECT_TRUE(text.channels_first);
}

TEST(RecipeTextTest, FixedCrops) {
  RecipeText text;
  ASSERT_TRUE(ParseRecipe({std::string("Resize shorter=9 ") + kResize,
                           "FixedCrop height=5 width=4 y=0 x=2 mirrored=1"},
                          &text)
                  .ok());
  const CropStep& crop = text.recipe.second_crop;
  EXPECT_EQ(crop.kind, CropStep::Kind::kFixed);
  EXPECT_EQ(crop.width, 4u);
  EXPECT_EQ(crop.y, 0u);
  EXPECT_EQ(crop.x, 2u);
  EXPECT_TRUE(crop.mirrored);
  EXPECT_THAT(Error({"FixedCrop height=5 width=4 y=0 x=3 mirrored=1"}),
              HasSubstr("x (3) must be"));
}

TEST(RecipeTextTest, WrongLines) {
  EXPECT_THAT(Error({"Turn"}), HasSubstr("\"Turn\": the step is unknown"));
  EXPECT_THAT(Error({"Mirror p=1", "Orient"}), HasSubstr("out of order"));
  EXPECT_THAT(Error({"Mirror p=1", "Mirror p=1"}), HasSubstr("out of order"));
  EXPECT_THAT(Error({"Mirror"}), HasSubstr("p is missing"));
  EXPECT_THAT(Error({"RandomErasing p=1 scale=.1,.2 ratio=1,1 value=loud"}),
              HasSubstr("value (loud) must be"));
  EXPECT_THAT(Error({"Mirror p=2"}), HasSubstr("p (2) must be"));
  EXPECT_THAT(Error({"Mirror p=nan"}), HasSubstr("p (nan) must be"));
  EXPECT_THAT(Error({"Mirror p=.5x"}), HasSubstr("p (.5x) must be"));
  EXPECT_THAT(Error({"Mirror p=.5,"}), HasSubstr("must be"));
  EXPECT_THAT(Error({"Mirror p=.5,.5"}), HasSubstr("must have 1 numbers"));
  EXPECT_THAT(Error({"Mirror p=.5 q=1"}), HasSubstr("q is unknown"));
  EXPECT_THAT(Error({"Mirror p=.5 p=1"}), HasSubstr("given twice"));
  EXPECT_THAT(Error({"Mirror .5"}), HasSubstr("must be key=value"));
  EXPECT_THAT(Error({"CenterCrop height=0 width=4"}), HasSubstr("height (0)"));
  EXPECT_THAT(Error({"CenterCrop height=1.5 width=4"}), HasSubstr("whole"));
  EXPECT_THAT(Error({"RandomResizedCrop scale=.5,.4 ratio=1,1"}),
              HasSubstr("random_area"));
  EXPECT_THAT(Error({"Resize height=4 width=4 interpolation=cubic antialias=1 "
                     "draft=0"}),
              HasSubstr("interpolation is unknown"));
  EXPECT_THAT(Error({"Resize height=4 width=4 interpolation=bicubic "
                     "antialias=0 draft=0"}),
              HasSubstr("bicubic needs antialias"));
  EXPECT_THAT(Error({"Normalize mean=0 std=0"}), HasSubstr("std (0)"));
  EXPECT_THAT(Error({"RandAugment n=33 magnitude=9"}), HasSubstr("n (33)"));
  EXPECT_THAT(Error({"RandAugment n=2 magnitude=31"}),
              HasSubstr("magnitude (31)"));
  EXPECT_THAT(Error({"TrivialAugmentWide", "ThreeAugment"}),
              HasSubstr("out of order"));
  EXPECT_THAT(Error({"GaussianBlur sigma=2,1 p=1"}), HasSubstr("must rise"));
  EXPECT_THAT(Error({"Solarize threshold=257 p=1"}), HasSubstr("257"));
  EXPECT_THAT(Error({"TimmRandAugment n=2 magnitude=9 deviation=.5 most=10 "
                     "uniform=0 increasing=1 p=.5 fill=124,116,256"}),
              HasSubstr("fill (124,116,256)"));
}

TEST(RecipeTextTest, PoliciesOfOperations) {
  const PolicyStep step =
      Parse({"AutoAugment policy=Posterize:0.25:8,Rotate:1:9;Invert:0:0"})
          .policy;
  ASSERT_EQ(step.policies.size(), 2u);
  ASSERT_EQ(step.policies[0].size(), 2u);
  EXPECT_EQ(step.policies[0][0].operation, PolicyOperation::kPosterize);
  EXPECT_EQ(step.policies[0][0].chance, Chance{1} << 30);
  EXPECT_EQ(step.policies[0][0].magnitude, 8u);
  EXPECT_EQ(step.policies[0][1].operation, PolicyOperation::kRotate);
  ASSERT_EQ(step.policies[1].size(), 1u);
  EXPECT_EQ(step.policies[1][0].operation, PolicyOperation::kInvert);
  std::string many = "Invert:1:0";
  for (int i = 0; i < 32; ++i) many += ",Invert:1:0";
  for (const std::string& text :
       {std::string(), std::string("Turn:1:0"), std::string("Invert:2:0"),
        std::string("Invert:nan:0"), std::string("Invert:1:10"),
        std::string("Invert:1:-1"), std::string("Invert:1"),
        std::string("Invert:1:0,"), std::string("Invert:1:0;"),
        std::string("Invert:1:0:"), std::string("Invert:1:0 "), many}) {
    EXPECT_EQ(ParseRecipeOf("AutoAugment policy=" + text), false) << text;
  }
}

TEST(PlanTest, TheRecipeOfEvaluation) {
  SamplePlan plan;
  ASSERT_TRUE(
      PlanSample(Parse(Evaluation()), 0, 0, 375, 500, 1, kMostPixels, &plan)
          .ok());
  EXPECT_EQ(plan.height, 256u);
  EXPECT_EQ(plan.width, 341u);
  // Of 117 columns too many, 58 lie to the left: half, to even.
  EXPECT_EQ(plan.part.x, 58u);
  EXPECT_EQ(plan.part.y, 16u);
  EXPECT_EQ(plan.part.height, 224u);
  EXPECT_FALSE(plan.mirrored);
}

TEST(PlanTest, OrientationSwapsSides) {
  SamplePlan plan;
  const Recipe recipe = Parse({"Orient", "CenterCrop height=30 width=10"});
  ASSERT_TRUE(PlanSample(recipe, 0, 0, 20, 40, 6, kMostPixels, &plan).ok());
  EXPECT_EQ(plan.orientation, 6);
  EXPECT_EQ(plan.window.y, 5u);
  EXPECT_EQ(plan.window.x, 5u);
  EXPECT_FALSE(PlanSample(recipe, 0, 0, 20, 40, 1, kMostPixels, &plan).ok());
}

TEST(PlanTest, WhatDoesNotFit) {
  SamplePlan plan;
  const auto error = [&plan](const std::vector<std::string>& lines,
                             uint32_t height, uint32_t width) {
    return PlanSample(Parse(lines), 0, 0, height, width, 1, kMostPixels, &plan)
        .message();
  };
  EXPECT_THAT(error({"CenterCrop height=30 width=10"}, 20, 40),
              HasSubstr("crop (30, 10) is larger than the image's 20x40"));
  EXPECT_THAT(error({"Pad height=30 width=10 value=0 mask_value=0"}, 20, 40),
              HasSubstr("Pad (30, 10) is smaller than the image's 20x40"));
  const std::string shorter = std::string("Resize shorter=30000 ") + kResize;
  EXPECT_THAT(error({shorter}, 1, 10000),
              HasSubstr("sides must be below 2^24"));
  EXPECT_THAT(error({shorter}, 10, 10), HasSubstr("over the limit of"));
  EXPECT_THAT(error({shorter}, 1, UINT32_MAX), HasSubstr("crop it first"));
  // What is cut off afterwards does not count.
  EXPECT_EQ(error({std::string("Resize shorter=256 ") + kResize,
                   "CenterCrop height=224 width=224"},
                  1, 10000),
            "");
}

TEST(PlanTest, HalfAreMirrored) {
  const Recipe recipe = Parse({"Mirror p=0.5"});
  const Recipe rare = Parse({"Mirror p=0.1"});
  int mirrored = 0, after_another = 0, rarely = 0;
  bool last = false;
  for (uint64_t draw = 0; draw < 20000; ++draw) {
    SamplePlan plan;
    ASSERT_TRUE(PlanSample(recipe, 3, draw, 9, 9, 1, kMostPixels, &plan).ok());
    mirrored += plan.mirrored;
    after_another += plan.mirrored && last;
    last = plan.mirrored;
    ASSERT_TRUE(PlanSample(rare, 3, draw, 9, 9, 1, kMostPixels, &plan).ok());
    rarely += plan.mirrored;
  }
  EXPECT_NEAR(mirrored, 10000, 290);  // 4.1 sigma
  EXPECT_NEAR(after_another, 5000, 290);
  EXPECT_NEAR(rarely, 2000, 175);
}

TEST(PlanTest, EveryStepDrawsForItself) {
  // The same step draws the same, whatever else is in the recipe.
  const Recipe alone = Parse({"Rotate degrees=30 value=0 mask_value=0"});
  const Recipe among =
      Parse({"RandomCrop height=4 width=4", "Mirror p=0.5",
             "Rotate degrees=30 value=0 mask_value=0", "Grayscale p=0.5"});
  double least = 0, most = 0;
  for (uint64_t draw = 0; draw < 1000; ++draw) {
    SamplePlan one, other;
    ASSERT_TRUE(PlanSample(alone, 1, draw, 9, 9, 1, kMostPixels, &one).ok());
    ASSERT_TRUE(PlanSample(among, 1, draw, 9, 9, 1, kMostPixels, &other).ok());
    ASSERT_EQ(one.degrees, other.degrees);
    least = std::min(least, one.degrees);
    most = std::max(most, one.degrees);
  }
  EXPECT_GE(least, -30);
  EXPECT_LT(least, -29);
  EXPECT_LE(most, 30);
  EXPECT_GT(most, 29);
}

TEST(PlanTest, ChancesOfColour) {
  const Recipe recipe =
      Parse({"Flip p=0.25",
             "ColorJitter brightness=.4 contrast=0 saturation=0 hue=0 p=0.75",
             "GaussianBlur sigma=1,3 p=0.5", "Solarize threshold=200 p=0.125"});
  const Recipe always =
      Parse({"ColorJitter brightness=.4 contrast=0 saturation=0 hue=0 p=1"});
  int flipped = 0, jittered = 0, blurred = 0, solarized = 0, both = 0;
  double sum = 0;
  for (uint64_t draw = 0; draw < 20000; ++draw) {
    SamplePlan plan, other;
    ASSERT_TRUE(PlanSample(recipe, 3, draw, 9, 9, 1, kMostPixels, &plan).ok());
    ASSERT_TRUE(PlanSample(always, 3, draw, 9, 9, 1, kMostPixels, &other).ok());
    EXPECT_TRUE(other.jittered);
    EXPECT_EQ(plan.jitter.brightness, other.jitter.brightness);
    flipped += plan.flipped;
    jittered += plan.jittered;
    ASSERT_LE(plan.last.size(), 2u);
    both += plan.last.size() == 2;
    for (const Operation& one : plan.last) {
      if (one.kind == OperationKind::kBlur) {
        ++blurred;
        sum += one.amount;
        ASSERT_GE(one.amount, 1);
        ASSERT_LT(one.amount, 3);
        EXPECT_EQ(&one, &plan.last[0]);
      } else {
        ASSERT_EQ(one.kind, OperationKind::kSolarize);
        EXPECT_EQ(one.amount, 200);
        ++solarized;
      }
    }
  }
  EXPECT_NEAR(flipped, 5000, 250);  // 4.1 sigma
  EXPECT_NEAR(jittered, 15000, 250);
  EXPECT_NEAR(blurred, 10000, 290);
  EXPECT_NEAR(solarized, 2500, 192);
  EXPECT_NEAR(both, 1250, 141);
  EXPECT_NEAR(sum / blurred, 2, .024);
}

TEST(PlanTest, TheMapFollowsTheGeometry) {
  // A corner of the crop goes to a corner of what comes out.
  SamplePlan plan;
  const Recipe recipe =
      Parse({"CenterCrop height=20 width=40",
             std::string("Resize height=10 width=10 ") + kResize,
             "Pad height=14 width=12 value=0 mask_value=0", "Mirror p=1"});
  ASSERT_TRUE(PlanSample(recipe, 0, 0, 100, 100, 1, kMostPixels, &plan).ok());
  const Affine map = plan.Map(100, 100);
  const auto x = [&map](double px, double py) {
    return map.xx * px + map.xy * py + map.x0;
  };
  const auto y = [&map](double px, double py) {
    return map.yx * px + map.yy * py + map.y0;
  };
  EXPECT_DOUBLE_EQ(x(30, 40), 12 - 1);
  EXPECT_DOUBLE_EQ(y(30, 40), 2);
  EXPECT_DOUBLE_EQ(x(70, 60), 12 - 11);
  EXPECT_DOUBLE_EQ(y(70, 60), 12);
  ASSERT_TRUE(
      PlanSample(Parse({"Flip p=1"}), 0, 0, 100, 80, 1, kMostPixels, &plan)
          .ok());
  const Affine over = plan.Map(100, 80);
  EXPECT_EQ(over.xx, 1);
  EXPECT_EQ(over.x0, 0);
  EXPECT_EQ(over.yy, -1);
  EXPECT_EQ(over.y0, 100);
}

}  // namespace
}  // namespace liquid::recipe_test
