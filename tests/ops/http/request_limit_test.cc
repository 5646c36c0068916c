#include "ops/http/request_limit.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace liquid::request_limit_test {
namespace {

constexpr size_t kAnswers = RequestLimit::kAnswers;

// So many seconds after their requests, and each after the one before.
void Answer(RequestLimit* limit, double seconds, double between, double* now) {
  for (size_t i = 0; i < kAnswers; ++i) {
    *now += between;
    // A few take very long.
    limit->Answered(i % 10 == 0 ? 20 * seconds : seconds, *now);
  }
}

TEST(RequestLimitTest, ThereIsNoneAtFirst) {
  RequestLimit limit;
  for (size_t i = 0; i + 1 < kAnswers; ++i) limit.Answered(.01, .001 * i);
  EXPECT_EQ(limit.most(), SIZE_MAX);
  limit.Answered(.01, 1);
  EXPECT_LT(limit.most(), 100);
}

TEST(RequestLimitTest, AsManyWaitAsComeMeanwhile) {
  RequestLimit limit;
  double now = 100;
  // 250 answers a second, each after 50 ms: 12.5 wait.
  Answer(&limit, .05, .004, &now);
  EXPECT_EQ(limit.most(), RequestLimit::kReceived + 50);
  // The server has moved next door.
  Answer(&limit, .0001, .004, &now);
  EXPECT_EQ(limit.most(), RequestLimit::kReceived + 1);
}

TEST(RequestLimitTest, APauseIsNoSlowNetwork) {
  RequestLimit limit;
  double now = 0;
  Answer(&limit, .05, .004, &now);
  const size_t most = limit.most();
  for (size_t i = 0; i < kAnswers / 2; ++i) limit.Answered(.05, now += .004);
  limit.Idle();
  now += 10;
  Answer(&limit, .05, .004, &now);
  EXPECT_NEAR(static_cast<double>(limit.most()), static_cast<double>(most), 1);
}

// As many as wait come in the time of an answer, unless the network is slower.
TEST(RequestLimitTest, TooFewBecomeMore) {
  constexpr double kSeconds = .1, kFastest = 1000;
  RequestLimit limit;
  double now = 0;
  Answer(&limit, .0001, .004, &now);
  for (int i = 0; i < 6; ++i) {
    const double rate = static_cast<double>(limit.most()) / kSeconds;
    Answer(&limit, kSeconds, 1 / (rate < kFastest ? rate : kFastest), &now);
  }
  EXPECT_GE(limit.most(), kSeconds * kFastest);
  EXPECT_LE(limit.most(), RequestLimit::kReceived + 4 * kSeconds * kFastest);
}

// Answers to requests that were made together come at one time.
TEST(RequestLimitTest, AllAtOnce) {
  RequestLimit limit;
  for (size_t i = 0; i < kAnswers; ++i) limit.Answered(.05, 1);
  EXPECT_GT(limit.most(), 1000);
}

}  // namespace
}  // namespace liquid::request_limit_test
