#include "ops/sampler/weights.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/sampler/group_schedule.h"
#include "ops/sampler/source_cycle.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::weights_test {
namespace {

using testing::HasSubstr;
using Wide = unsigned __int128;

std::vector<uint32_t> Identity(size_t groups) {
  std::vector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool IsRounded(uint64_t value, Wide numerator, uint64_t denominator) {
  const auto floor = static_cast<uint64_t>(numerator / denominator);
  const bool whole = numerator % denominator == 0;
  return value == floor || (!whole && value == floor + 1);
}

void CheckSchedule(uint64_t draws, const std::vector<uint64_t>& shares,
                   int epochs) {
  const uint64_t total =
      std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  GroupSchedule schedule(draws, shares, Identity(shares.size()));
  std::vector<uint64_t> before(shares.size());
  for (int e = 1; e <= epochs; ++e) {
    schedule.Advance();
    ASSERT_EQ(schedule.epoch(), e);
    uint64_t sum = 0;
    for (size_t g = 0; g < shares.size(); ++g) {
      const Wide share = static_cast<Wide>(draws) * shares[g];
      const uint64_t now = schedule.before()[g];
      ASSERT_TRUE(IsRounded(now, share * e, total))
          << "group " << g << " by epoch " << e;
      ASSERT_TRUE(IsRounded(now - before[g], share, total))
          << "group " << g << " in epoch " << e;
      sum += now;
    }
    ASSERT_EQ(sum, draws * e);
    before = schedule.before();
  }
}

TEST(GroupScheduleTest, EpochsAndTheirSumsAreRoundedShares) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<uint64_t> shares(1 + random.Below(40));
    const uint64_t most = uint64_t{1} << (1 + random.Below(50));
    for (uint64_t& share : shares) share = random.Below(most);
    shares[0] += 1;
    CheckSchedule(1 + random.Below(100), shares, 60);
    if (HasFatalFailure()) return;
  }
}

TEST(GroupScheduleTest, RunsOverWholePeriods) {
  CheckSchedule(1, {1, 2, 3, 4, 5, 6}, 100);
  CheckSchedule(5, {1, 2, 3, 4, 5, 6}, 100);
  // Heavy ones, whose deadlines chain.
  CheckSchedule(9, {8, 8, 8, 9, 9, 7, 7, 10, 11, 11}, 300);
}

TEST(GroupScheduleTest, LargeNumbers) {
  const uint64_t large = uint64_t{1} << 61;
  CheckSchedule((uint64_t{1} << 47) - 1, {large, large - 1, 12345, 1}, 200);
}

TEST(MergedCountTest, FollowsTheMiddlesOfEqualParts) {
  RandomStream random = TestStream(2);
  for (int i = 0; i < 200; ++i) {
    std::vector<uint64_t> sizes(1 + random.Below(4));
    for (uint64_t& size : sizes) size = random.Below(30);
    sizes.back() += 1;
    // (place, source) of each sample, sorted.
    std::vector<std::pair<double, size_t>> order;
    for (size_t s = 0; s < sizes.size(); ++s) {
      for (uint64_t k = 0; k < sizes[s]; ++k) {
        // The same number where the fractions are the same.
        order.push_back(
            {static_cast<double>(2 * k + 1) / static_cast<double>(2 * sizes[s]),
             s});
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<uint64_t> count(sizes.size());
    for (uint64_t draws = 0; draws < 2 * order.size() + 3; ++draws) {
      for (size_t s = 0; s < sizes.size(); ++s) {
        ASSERT_EQ(MergedCount(sizes, s, draws), count[s]) << draws;
      }
      ++count[order[draws % order.size()].second];
    }
  }
}

TEST(MergedCountTest, LargestSizes) {
  const uint64_t n = (uint64_t{1} << 32) - 2;
  EXPECT_EQ(MergedCount({n, n}, 0, n), n / 2);
  EXPECT_EQ(MergedCount({n, 1}, 0, n / 2), n / 2);
  EXPECT_EQ(MergedCount({n, 1}, 1, n + 1), 1u);
}

TEST(WeightsTest, AWindowIsSpreadOverTheStoredOrder) {
  PlanSpec spec;
  spec.formats = {{{100000}, 0, 0}};
  Weights::Options options;
  options.samples_per_epoch = 1000;
  options.shares = {1};
  options.sources = {{0, 100000}};
  ASSERT_TRUE(Weights::Create(options, &spec.weights).ok());
  const SourceCycle cycle(spec, 0, spec.weights->Spans(3)[0], 0);
  std::vector<int> parts(100);
  cycle.ForEach([&](const SourceCycle::Sample& sample) {
    parts[sample.number / 1000] += sample.place < 1000;
  });
  for (const int part : parts) EXPECT_NEAR(part, 10, 2);
}

TEST(WeightsTest, GreatestSharesComeFirstAndEqualOnesHaveParts) {
  Weights::Options options;
  options.samples_per_epoch = 10;
  // Shares of a sample: 1/2, 2, 1, 2.
  options.shares = {2, 4, 2, 8};
  options.sources = {{0, 12, {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3}}};
  std::shared_ptr<const Weights> weights;
  ASSERT_TRUE(Weights::Create(options, &weights).ok());
  using List = std::vector<uint64_t>;
  EXPECT_EQ(weights->Greatest(0, 0), (List{0, 0, 0, 0}));
  EXPECT_EQ(weights->Greatest(0, 3), (List{0, 1, 0, 2}));
  EXPECT_EQ(weights->Greatest(0, 7), (List{0, 2, 1, 4}));
  EXPECT_EQ(weights->Greatest(0, 99), (List{4, 2, 2, 4}));
}

TEST(WeightsTest, WrongOptionsAreErrors) {
  struct Case {
    const char* message;
    Weights::Options options;
  };
  const Weights::Options good = {4, {1, 1}, {{0, 2, {0, 1}}}};
  std::shared_ptr<const Weights> weights;
  ASSERT_TRUE(Weights::Create(good, &weights).ok());
  std::vector<Case> cases(8, {"", good});
  cases[0].message = "samples_per_epoch (0) must be between";
  cases[0].options.samples_per_epoch = 0;
  cases[1].message = "sources[0].entries (3)";
  cases[1].options.sources[0].entries.push_back(0);
  cases[2].message = "must have groups below 2";
  cases[2].options.sources[0].entries[0] = 2;
  cases[3].message = "must leave the sum of shares below 2^63";
  cases[3].options.shares[1] = ~uint64_t{0} >> 1;
  cases[4].message = "shares[1] (1) must be 0: the group has no samples";
  cases[4].options.sources[0].entries[1] = 0;
  cases[5].message = "shares must not all be 0";
  cases[5].options.shares = {0, 0};
  cases[6].message = "index (3) must be below count";
  cases[6].options.worker = 3;
  cases[7].message = "must have groups below 2";
  cases[7].options.sources[0].first = 7;
  for (const Case& c : cases) {
    const Status status = Weights::Create(c.options, &weights);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace liquid::weights_test
