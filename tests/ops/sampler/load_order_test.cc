#include "ops/sampler/load_order.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "gtest/gtest.h"
#include "ops/sampler/plan_spec.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::load_order_test {
namespace {

std::vector<uint64_t> All(LoadOrder order) {
  std::vector<uint64_t> samples;
  for (uint64_t sample; order.Next(&sample);) samples.push_back(sample);
  return samples;
}

size_t FileOf(const FormatSpec& format, uint64_t sample) {
  size_t file = 0;
  while (sample >= format.files[file]) sample -= format.files[file++];
  return file;
}

TEST(LoadOrderTest, EverySampleThatIsNotHeldFilesForwardAndFewOpen) {
  RandomStream random = TestStream(1);
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const PlanSpec spec = RandomSpec(&random, 700);
    const FormatSpec& format = spec.formats[0];
    const uint64_t samples = SampleCount(format);
    SampleSet held(samples);
    const uint64_t share = random.Below(4);
    std::vector<uint64_t> expected;
    std::vector<uint64_t> left(format.files.size());
    for (uint64_t s = 0; s < samples; ++s) {
      if (random.Below(4) < share) {
        held.insert(s);
      } else {
        expected.push_back(s);
        ++left[FileOf(format, s)];
      }
    }
    const std::vector<uint64_t> order =
        All(LoadOrder(spec, 0, i, share == 0 ? nullptr : &held));
    std::vector<int64_t> last(format.files.size(), -1);
    for (size_t at = 0; at < order.size(); ++at) {
      const uint64_t s = order[at];
      const size_t file = FileOf(format, s);
      EXPECT_LT(last[file], static_cast<int64_t>(s)) << "not read forward";
      last[file] = static_cast<int64_t>(s);
      --left[file];
      uint64_t open = 0;
      for (size_t f = 0; f < left.size(); ++f) open += last[f] >= 0 && left[f];
      EXPECT_LE(open, kOpenFiles);
    }
    std::vector<uint64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, expected);
  }
}

TEST(LoadOrderTest, FilesTakeTurns) {
  PlanSpec spec;
  spec.seed = 3;
  spec.formats.resize(1);
  spec.formats[0].files.assign(9, 40);
  const std::vector<uint64_t> order = All(LoadOrder(spec, 0, 0, nullptr));
  ASSERT_EQ(order.size(), 360u);
  std::vector<size_t> turns;
  for (size_t at = 0; at < kOpenFiles * 32; ++at) {
    if (at % kRecordsPerTurn == 0) {
      turns.push_back(FileOf(spec.formats[0], order[at]));
    } else {
      EXPECT_EQ(order[at], order[at - 1] + 1);
    }
  }
  // Four files, in the same turns twice.
  EXPECT_TRUE(std::equal(turns.begin(), turns.begin() + kOpenFiles,
                         turns.begin() + kOpenFiles));
  turns.resize(kOpenFiles);
  std::sort(turns.begin(), turns.end());
  EXPECT_EQ(std::unique(turns.begin(), turns.end()), turns.end());
}

TEST(LoadOrderTest, WhenAFileEndsTheTurnPassesOn) {
  PlanSpec spec;
  spec.formats.resize(1);
  spec.formats[0].files = {70, 20, 100, 41};
  for (spec.seed = 0; spec.seed < 24; ++spec.seed) {
    const std::vector<uint64_t> order = All(LoadOrder(spec, 0, 0, nullptr));
    // A queue of files: the first has its turn and goes to the end.
    struct File {
      uint64_t next, end;
    };
    const File files[] = {{0, 70}, {70, 90}, {90, 190}, {190, 231}};
    std::deque<File> queue;
    for (size_t turn = 0; turn < kOpenFiles; ++turn) {
      queue.push_back(
          files[FileOf(spec.formats[0], order[turn * kRecordsPerTurn])]);
    }
    std::vector<uint64_t> expected;
    while (!queue.empty()) {
      File file = queue.front();
      queue.pop_front();
      for (uint64_t i = 0; i < kRecordsPerTurn && file.next < file.end; ++i) {
        expected.push_back(file.next++);
      }
      if (file.next < file.end) queue.push_back(file);
    }
    EXPECT_EQ(order, expected);
  }
}

TEST(LoadOrderTest, EpochsAndFormatsPermuteFilesDifferently) {
  PlanSpec spec;
  spec.formats.resize(2);
  spec.formats[0].files.assign(20, 3);
  spec.formats[1].files.assign(20, 3);
  const std::vector<uint64_t> order = All(LoadOrder(spec, 0, 0, nullptr));
  EXPECT_EQ(All(LoadOrder(spec, 0, 0, nullptr)), order);
  EXPECT_NE(All(LoadOrder(spec, 0, 1, nullptr)), order);
  EXPECT_NE(All(LoadOrder(spec, 1, 0, nullptr)), order);
}

TEST(LoadOrderTest, StoredOrderWithoutShuffle) {
  PlanSpec spec;
  spec.shuffle = false;
  spec.formats.resize(1);
  spec.formats[0].files = {3, 0, 30, 1};
  SampleSet held(34);
  held.insert(0);
  held.insert(5);
  const std::vector<uint64_t> order = All(LoadOrder(spec, 0, 7, &held));
  ASSERT_EQ(order.size(), 32u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order[0], 1u);
}

}  // namespace
}  // namespace liquid::load_order_test
