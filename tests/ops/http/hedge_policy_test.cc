#include "ops/http/hedge_policy.h"

#include <gtest/gtest.h>

namespace liquid::hedge_policy_test {
namespace {

// So many answers, of which every `slow`-th takes ten seconds.
void Answer(size_t count, double seconds, size_t slow, HedgePolicy* policy) {
  for (size_t i = 1; i <= count; ++i) {
    policy->Answered(i % slow == 0 ? 10 : seconds);
  }
}

TEST(HedgePolicyTest, TheLimitIsTwiceWhatIsUsual) {
  HedgePolicy policy;
  Answer(HedgePolicy::kAnswers - 1, .3, 32, &policy);
  EXPECT_FALSE(policy.limit().has_value());
  policy.Answered(.3);
  EXPECT_DOUBLE_EQ(policy.limit().value(), .6);
  Answer(HedgePolicy::kAnswers, .4, 32, &policy);
  EXPECT_DOUBLE_EQ(policy.limit().value(), .8);
  // Where many are slow that is usual.
  Answer(HedgePolicy::kAnswers, .4, 8, &policy);
  EXPECT_DOUBLE_EQ(policy.limit().value(), 20);
  Answer(HedgePolicy::kAnswers, .001, 32, &policy);
  EXPECT_DOUBLE_EQ(policy.limit().value(), .05);
}

TEST(HedgePolicyTest, OneInFiftyMayBeAskedAgain) {
  HedgePolicy policy;
  EXPECT_FALSE(policy.Take());
  Answer(51, .3, 100, &policy);
  EXPECT_TRUE(policy.Take());
  EXPECT_FALSE(policy.Take());
  Answer(10000, .3, 100, &policy);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(policy.Take());
  EXPECT_FALSE(policy.Take());
}

}  // namespace
}  // namespace liquid::hedge_policy_test
