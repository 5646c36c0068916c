#include "ops/http/retry_delay.h"

#include <gtest/gtest.h>

namespace liquid::retry_delay_test {
namespace {

constexpr uint32_t kLeast = 0, kMost = UINT32_MAX;

TEST(RetryDelayTest, DoublesUpToTheMost) {
  const RetryDelays delays = {.1, 5};
  EXPECT_DOUBLE_EQ(RetryDelay(delays, 1, kLeast, 0), .05);
  EXPECT_NEAR(RetryDelay(delays, 1, kMost, 0), .1, 1e-6);
  EXPECT_DOUBLE_EQ(RetryDelay(delays, 4, kLeast, 0), .4);
  EXPECT_NEAR(RetryDelay(delays, 4, kMost, 0), .8, 1e-6);
  for (const int attempt : {7, 100, 2000000000}) {
    EXPECT_DOUBLE_EQ(RetryDelay(delays, attempt, kLeast, 0), 2.5);
    EXPECT_NEAR(RetryDelay(delays, attempt, kMost, 0), 5, 1e-6);
  }
}

TEST(RetryDelayTest, IsNotLessThanTheServerWants) {
  EXPECT_DOUBLE_EQ(RetryDelay({}, 1, kLeast, 7), 7);
  EXPECT_DOUBLE_EQ(RetryDelay({}, 30, kLeast, 1), 2.5);
}

}  // namespace
}  // namespace liquid::retry_delay_test
