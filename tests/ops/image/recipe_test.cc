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
      ParseRecipe(
          {"Orient", "RandomCrop height=9 width=8",
           std::string("Resize longer=7 ") + kResize,
           "Pad height=12 width=13 value=3 mask_value=255",
           "CenterCrop height=5 width=4", "Mirror p=0.5",
           "Rotate degrees=10 value=0 mask_value=1",
           "ColorJitter brightness=.4 contrast=.3 saturation=.2 "
           "hue=.1",
           "Grayscale p=1", "Normalize mean=1.5,2,3 std=4", "ChannelsFirst"},
          &text)
          .ok());
  const Recipe& recipe = text.recipe;
  EXPECT_TRUE(recipe.orient);
  EXPECT_EQ(recipe.crop.kind, CropStep::Kind::kRandom);
  EXPECT_EQ(recipe.crop.purpose, RngPurpose::kCrop);
  EXPECT_EQ(recipe.resize.kind, ResizeStep::Kind::kLonger);
  EXPECT_EQ(recipe.resize.height, 7u);
  EXPECT_EQ(recipe.pad.mask_value, 255);
  EXPECT_EQ(recipe.second_crop.kind, CropStep::Kind::kCenter);
  EXPECT_EQ(recipe.second_crop.width, 4u);
  EXPECT_EQ(recipe.mirror, Chance{1} << 31);
  EXPECT_EQ(recipe.rotate.degrees, 10);
  EXPECT_EQ(recipe.colour.hue, .1);
  EXPECT_EQ(recipe.grayscale, Chance{1} << 32);
  EXPECT_THAT(text.mean, ::testing::ElementsAre(1.5f, 2, 3));
  EXPECT_THAT(text.std, ::testing::ElementsAre(4));
  EXPECT_TRUE(text.channels_first);
}

TEST(RecipeTextTest, WrongLines) {
  EXPECT_THAT(Error({"Flip"}), HasSubstr("\"Flip\": the step is unknown"));
  EXPECT_THAT(Error({"Mirror p=1", "Orient"}), HasSubstr("out of order"));
  EXPECT_THAT(Error({"Mirror p=1", "Mirror p=1"}), HasSubstr("out of order"));
  EXPECT_THAT(Error({"Mirror"}), HasSubstr("p is missing"));
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
}

}  // namespace
}  // namespace liquid::recipe_test
