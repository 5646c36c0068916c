#include "ops/reader/depth_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace liquid::depth_tuner_test {
namespace {

// Runs reads of 1 MB from a disk that gives `rate(depth)` bytes per second.
class Disk {
 public:
  explicit Disk(std::function<double(int)> rate) : rate_(std::move(rate)) {}
  void Read(DepthTuner* tuner, int reads, bool saturated = true) {
    for (int i = 0; i < reads; ++i) {
      now_ += 1e6 / rate_(tuner->depth());
      tuner->Ended(1000000, now_, saturated);
      deepest_ = std::max(deepest_, tuner->depth());
    }
  }
  int deepest() const { return deepest_; }

 private:
  const std::function<double(int)> rate_;
  double now_ = 100;
  int deepest_ = 0;
};

TEST(DepthTunerTest, ClimbsToWhereTheDiskIsFastest) {
  for (const int best : {1, 2, 6, 12, 16}) {
    DepthTuner tuner(16);
    Disk disk([best](int depth) {
      return 1e9 * std::min(depth, best) / std::max(depth, best);
    });
    disk.Read(&tuner, 20000);
    // A trial may be under way.
    EXPECT_NEAR(tuner.depth(), best, 1) << best;
  }
}

TEST(DepthTunerTest, StaysWhereDepthDoesNotMatter) {
  DepthTuner tuner(16);
  Disk disk([](int) { return 1e9; });
  disk.Read(&tuner, 20000);
  EXPECT_NEAR(tuner.depth(), 4, 1);
  EXPECT_LE(disk.deepest(), 5);
}

TEST(DepthTunerTest, HasItsBound) {
  for (const int most : {1, 2, 3}) {
    DepthTuner tuner(most);
    EXPECT_LE(tuner.depth(), most);
    Disk disk([](int depth) { return 1e8 * depth; });
    disk.Read(&tuner, 5000);
    EXPECT_EQ(disk.deepest(), most);
    EXPECT_GE(tuner.depth(), 1);
  }
  EXPECT_EQ(DepthTuner(0).depth(), 1);
}

TEST(DepthTunerTest, ADiskThatWaitsForUsTeachesNothing) {
  DepthTuner tuner(16);
  Disk disk([](int depth) { return 1e8 * depth; });
  disk.Read(&tuner, 5000, /*saturated=*/false);
  EXPECT_EQ(disk.deepest(), 4);
}

TEST(DepthTunerTest, FollowsADiskThatChanges) {
  DepthTuner tuner(16);
  int best = 12;
  Disk disk([&best](int depth) {
    return 1e9 * std::min(depth, best) / std::max(depth, best);
  });
  disk.Read(&tuner, 20000);
  best = 2;
  disk.Read(&tuner, 60000);
  EXPECT_NEAR(tuner.depth(), 2, 1);
}

}  // namespace
}  // namespace liquid::depth_tuner_test
