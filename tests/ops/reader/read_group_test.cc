#include "ops/reader/read_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "ops/reader/record_stream.h"
#include "tests/ops/reader/fake_shards.h"
#include "tests/ops/reader/gate.h"
#include "tests/ops/reader/stream_reading.h"

namespace liquid::read_group_test {
namespace {

using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

constexpr size_t kLarge = 200000, kSmall = 100;

// Two streams of one group that read one record at a time.
class ReadGroupTest : public ::testing::TestWithParam<size_t> {
 protected:
  static constexpr int kRecords = 60;

  // Of what `turns` says, from the first record of a shard on.
  std::unique_ptr<RecordStream> Stream(int shard, std::vector<uint64_t> turns,
                                       uint64_t lookahead = 64 << 20) {
    StreamOptions options = Options(1);
    options.max_read_bytes = 0;
    options.lookahead_bytes = lookahead;
    options.group = group_;
    auto next = [turns = std::move(turns), shard,
                 i = size_t{0}](ReadTurn* read) mutable {
      if (i == turns.size()) return false;
      *read = {static_cast<uint64_t>(shard * kRecords) + i, turns[i]};
      ++i;
      return true;
    };
    return std::make_unique<RecordStream>(source_, std::move(next), options);
  }

  // Waits until a stream may read, or might if it were its turn.
  static void WaitUntilReady(const RecordStream& stream) {
    while (stream.method().empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Shards of the reads so far, in their order.
  std::vector<int> Read() const {
    std::vector<int> shards;
    for (const ShardRead& read : shards_.requests()) {
      shards.push_back(read.path.back() - '0');
    }
    return shards;
  }

  Gate gate_;
  FakeShards shards_{{kRecords, kRecords}, [](uint64_t) { return GetParam(); }};
  std::shared_ptr<ShardSet> source_ = shards_.Open();
  std::shared_ptr<ReadGroup> group_ = std::make_shared<ReadGroup>();
};

TEST_P(ReadGroupTest, WhatIsNeededFirstIsReadFirst) {
  std::mt19937 random(7);
  std::vector<uint64_t> turns[2];
  std::vector<int> wanted;
  // The first stream has most, but for a stretch in the middle.
  for (uint64_t turn = 0; wanted.size() < 2 * kRecords; ++turn) {
    const bool middle = turn > 30 && turn < 50;
    int shard = random() % 6 == 0 || middle ? 1 : 0;
    if (turn == 0) shard = 0;
    if (turns[shard].size() == kRecords) shard = 1 - shard;
    turns[shard].push_back(turn);
    wanted.push_back(shard);
  }
  shards_.set_hook(gate_.Hook());
  const auto first = Stream(0, turns[0]);
  gate_.WaitForReads(1);
  const auto second = Stream(1, turns[1]);
  WaitUntilReady(*second);
  gate_.Open();
  EXPECT_THAT(ReadAll(first.get()), SizeIs(kRecords));
  EXPECT_THAT(ReadAll(second.get()), SizeIs(kRecords));
  // A small one may wait for staging memory, and another goes before it.
  if (GetParam() == kLarge) {
    EXPECT_EQ(Read(), wanted);
  } else {
    EXPECT_THAT(Read(), UnorderedElementsAreArray(wanted));
  }
}

// Whoever waits for the second stream takes nothing of the first one.
TEST_P(ReadGroupTest, AFullLookAheadIsNotWaitedFor) {
  const auto first = Stream(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1);
  const auto second = Stream(1, {10, 11, 12, 13});
  EXPECT_THAT(ReadAll(second.get()), SizeIs(4));
  EXPECT_THAT(ReadAll(first.get()), SizeIs(10));
}

TEST_P(ReadGroupTest, AStreamThatGoesAwayIsNotWaitedFor) {
  shards_.set_hook(gate_.Hook());
  auto first = Stream(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  gate_.WaitForReads(1);
  const auto second = Stream(1, {10, 11, 12, 13});
  WaitUntilReady(*second);
  first = nullptr;
  gate_.Open();
  EXPECT_THAT(ReadAll(second.get()), SizeIs(4));
  EXPECT_THAT(Read(), SizeIs(5));
}

TEST_P(ReadGroupTest, ItsDepthIsThatOfAllStreams) {
  shards_.set_hook(gate_.Hook());
  const auto first = Stream(0, {0, 1, 2, 3});
  gate_.WaitForReads(1);
  const auto second = Stream(1, {0, 1, 2, 3});
  WaitUntilReady(*second);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(Read(), SizeIs(1));
  gate_.Open();
  EXPECT_THAT(ReadAll(first.get()), SizeIs(4));
  EXPECT_THAT(ReadAll(second.get()), SizeIs(4));
  EXPECT_GT(group_->clock().bytes(), 0);
}

INSTANTIATE_TEST_SUITE_P(Records, ReadGroupTest,
                         ::testing::Values(kSmall, kLarge));

}  // namespace
}  // namespace liquid::read_group_test
