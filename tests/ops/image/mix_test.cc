#include "ops/image/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace liquid::mix_test {
namespace {

MixStep Step(double mixup, double cutmix, MixStep::Mode mode) {
  MixStep step;
  step.given = true;
  step.mixup = mixup;
  step.cutmix = cutmix;
  step.chance = uint64_t{1} << 32;
  step.cut = uint64_t{1} << 31;
  step.mode = mode;
  return step;
}

std::vector<Blend> Draw(const MixStep& step, uint32_t n, uint64_t first_draw,
                        size_t views = 1) {
  std::vector<Blend> blends(n);
  for (uint32_t i = 0; i < n; ++i) blends[i].partner = n - 1 - i;
  DrawBlends(step, 7, 3, first_draw, views, /*height=*/20, /*width=*/30,
             &blends);
  return blends;
}

// The share of a number below `x`, for alpha where that has a simple form.
double Arcsine(double x) { return 2 / M_PI * std::asin(std::sqrt(x)); }
double Uniform(double x) { return x; }
double Parabola(double x) { return x * x * (3 - 2 * x); }

TEST(BetaTest, NumbersHaveTheDistribution) {
  constexpr int kNumbers = 40000;
  const struct {
    double alpha;
    double (*share)(double);
  } cases[] = {{.5, Arcsine}, {1, Uniform}, {2, Parabola}};
  for (const auto& [alpha, share] : cases) {
    std::vector<float> found;
    for (uint64_t draw = 0; draw < kNumbers; ++draw) {
      found.push_back(DrawBeta(alpha, 1, 2, draw));
    }
    std::sort(found.begin(), found.end());
    double most = 0;
    for (int i = 0; i < kNumbers; ++i) {
      most = std::max(most, std::fabs(share(found[i]) - (i + .5) / kNumbers));
    }
    // Kolmogorov and Smirnov: beyond it once in 10^5.
    EXPECT_LT(most, 2.47 / std::sqrt(kNumbers)) << alpha;
  }
}

TEST(BetaTest, MomentsAreThoseOfEveryAlpha) {
  constexpr int kNumbers = 20000;
  for (const double alpha : {.01, .2, .8, 1.3, 8.0, 100.0}) {
    double sum = 0, squares = 0;
    for (uint64_t draw = 0; draw < kNumbers; ++draw) {
      const double x = DrawBeta(alpha, 4, 0, draw);
      ASSERT_GE(x, 0);
      ASSERT_LE(x, 1);
      sum += x;
      squares += (x - .5) * (x - .5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kNumbers, .5, 4.5 * std::sqrt(variance / kNumbers));
    EXPECT_NEAR(squares / kNumbers / variance, 1, .06) << alpha;
  }
}

TEST(BlendTest, ModesShareTheirDraws) {
  using Mode = MixStep::Mode;
  for (const Mode mode : {Mode::kBatch, Mode::kPair, Mode::kElem}) {
    int equal = 0, of_pairs = 0, cut = 0, mixed = 0;
    for (uint64_t batch = 0; batch < 100; ++batch) {
      const auto blends = Draw(Step(.8, 1, mode), 9, 9 * batch);
      // The middle one is its own partner.
      EXPECT_EQ(blends[4].share, 1);
      EXPECT_FALSE(blends[4].cut);
      for (uint32_t i = 0; i < 4; ++i) {
        const Blend &one = blends[i], &other = blends[8 - i];
        EXPECT_EQ(one.partner, 8 - i);
        equal += one.share == blends[0].share;
        of_pairs += one.share == other.share;
        cut += one.cut;
        mixed += one.mixed();
        EXPECT_NEAR(one.share + one.rest, 1, 1e-7);
      }
    }
    EXPECT_EQ(equal == 400, mode == Mode::kBatch);
    EXPECT_EQ(of_pairs == 400, mode != Mode::kElem);
    EXPECT_GT(cut, 100);
    EXPECT_GT(mixed, 100);
    EXPECT_EQ(cut + mixed, 400);
  }
}

TEST(BlendTest, ViewsDrawForThemselves) {
  const MixStep step = Step(.8, 0, MixStep::Mode::kElem);
  const auto one = Draw(step, 4, 8), three = Draw(step, 12, 8, 3);
  std::set<float> shares;
  for (uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(three[i].partner, 11 - i);
    shares.insert(three[i].share);
    if (i % 3 == 0) {
      EXPECT_EQ(three[i].share, one[i / 3].share);
    }
  }
  EXPECT_EQ(shares.size(), 12u);
}

TEST(BlendTest, WindowsHaveTheShareThatTheLabelLacks) {
  const auto blends = Draw(Step(0, 1, MixStep::Mode::kElem), 1000, 0);
  double share = 0;
  for (const Blend& blend : blends) {
    ASSERT_TRUE(blend.cut);
    const Window& w = blend.window;
    ASSERT_LE(w.y + w.height, 20u);
    ASSERT_LE(w.x + w.width, 30u);
    EXPECT_NEAR(blend.rest, w.height * w.width / 600.0, 1e-7);
    EXPECT_EQ(blend.share, static_cast<float>(1 - w.height * w.width / 600.0));
    share += blend.share;
  }
  // Windows are cut at the sides: more stays than the half that was drawn.
  EXPECT_NEAR(share / 1000, .69, .03);
}

TEST(BlendTest, SomeBatchesStayAsTheyAre) {
  MixStep step = Step(.8, 0, MixStep::Mode::kBatch);
  step.chance = uint64_t{1} << 30;
  int stay = 0;
  for (uint64_t batch = 0; batch < 1000; ++batch) {
    stay += Draw(step, 4, 4 * batch)[0].share == 1;
  }
  EXPECT_NEAR(stay, 750, 60);
  step.chance = 0;
  EXPECT_FALSE(step.mixes());
}

TEST(LabelTest, ClassesAreSmoothedAndMixed) {
  const Smoothed smoothed(.1, 4);
  EXPECT_EQ(smoothed.on, static_cast<float>(1 - .1 + .025));
  EXPECT_EQ(smoothed.off, .025f);
  std::vector<float> label(4);
  Blend blend;
  MixLabel(smoothed, blend, 2, 2, label.data());
  EXPECT_EQ(label, (std::vector<float>{.025f, .025f, smoothed.on, .025f}));
  blend.share = .75f;
  blend.rest = .25f;
  MixLabel(Smoothed(0, 4), blend, 2, 0, label.data());
  EXPECT_EQ(label, (std::vector<float>{.25f, 0, .75f, 0}));
  MixLabel(Smoothed(0, 4), blend, 2, 2, label.data());
  EXPECT_EQ(label, (std::vector<float>{0, 0, 1, 0}));
}

}  // namespace
}  // namespace liquid::mix_test
