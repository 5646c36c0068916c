#include "ops/reader/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "ops/reader/read_job.h"
#include "tests/ops/reader/fake_shards.h"
#include "tests/ops/reader/gate.h"
#include "tests/ops/reader/stream_reading.h"

namespace liquid::record_stream_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::SizeIs;

TEST(RecordStreamTest, AdjacentRecordsAreOneRead) {
  FakeShards shards({10, 10}, [](uint64_t) { return 100; });
  RecordStream stream(shards.Open(), Positions(Range(20)), Options(1));
  const std::vector<RecordPtr> records = ReadAll(&stream);
  EXPECT_THAT(shards.requests(), SizeIs(2));
  // What a read costs beyond its records is counted once.
  uint64_t disk_bytes = 0;
  for (const RecordPtr& record : records) disk_bytes += record->disk_bytes;
  EXPECT_EQ(disk_bytes, shards.bytes_read() + 2 * FakeShards::kExcess);
}

TEST(RecordStreamTest, TheClockRunsWhileReadsAreUnderWay) {
  StreamOptions options = Options(2);
  options.group = std::make_shared<ReadGroup>();
  const ReadClock& clock = options.group->clock();
  EXPECT_EQ(clock.seconds(), 0);
  FakeShards shards({10, 10}, [](uint64_t) { return 100; });
  const auto begin = std::chrono::steady_clock::now();
  RecordStream stream(shards.Open(), Positions(Range(20)), options);
  ReadAll(&stream);
  const std::chrono::duration<double> all =
      std::chrono::steady_clock::now() - begin;
  const double seconds = clock.seconds();
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, all.count());
  EXPECT_EQ(clock.bytes(), shards.bytes_read());
  EXPECT_EQ(clock.seconds(), seconds) << "nothing is read any more";
}

TEST(RecordStreamTest, ReadsHaveALargestSize) {
  FakeShards shards({20}, [](uint64_t) { return 200000; });
  const uint64_t length = shards.rows()[0].length;
  StreamOptions options = Options(1);
  options.max_read_bytes = 3 * length + 1;
  RecordStream stream(shards.Open(), Positions(Range(20)), options);
  EXPECT_THAT(ReadAll(&stream), SizeIs(20));
  const std::vector<ShardRead> requests = shards.requests();
  EXPECT_THAT(requests, SizeIs(7));
  for (const ShardRead& request : requests) {
    EXPECT_LE(request.length, options.max_read_bytes);
  }
}

TEST(RecordStreamTest, HolesAreNotRead) {
  FakeShards shards({10}, [](uint64_t) { return 100; });
  RecordStream stream(shards.Open(), Positions({0, 1, 3, 4, 2}), Options(1));
  EXPECT_THAT(ReadAll(&stream), SizeIs(5));
  EXPECT_THAT(shards.requests(), SizeIs(3));
  EXPECT_EQ(shards.bytes_read(), 5 * shards.rows()[0].length);
}

// Of shards of `counts` records, `turn` of each in turn.
std::vector<uint64_t> Turns(std::vector<int> counts, int turn) {
  std::vector<uint64_t> firsts, positions;
  uint64_t records = 0;
  for (const int count : counts) {
    firsts.push_back(records);
    records += count;
  }
  while (positions.size() < records) {
    for (size_t i = 0; i < counts.size(); ++i) {
      for (int k = 0; k < turn && counts[i] > 0; ++k, --counts[i]) {
        positions.push_back(firsts[i]++);
      }
    }
  }
  return positions;
}

TEST(RecordStreamTest, OverANetworkTheTurnsOfAFileAreOneRead) {
  for (const bool remote : {false, true}) {
    FakeShards shards({160, 160, 160, 160}, [](uint64_t) { return 5000; });
    if (remote) shards.set_remote();
    const std::vector<uint64_t> order = Turns({160, 160, 160, 160}, 16);
    RecordStream stream(shards.Open(), Positions(order), Options(64));
    const std::vector<RecordPtr> records = ReadAll(&stream);
    ASSERT_EQ(records.size(), order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_TRUE(records[i]->status.ok());
      EXPECT_EQ(records[i]->row.sample, order[i]);
    }
    // 800 KB of each.
    EXPECT_THAT(shards.requests(), SizeIs(remote ? 4 : 40));
  }
}

TEST(RecordStreamTest, OverANetworkOrderAndLookAheadStay) {
  std::mt19937 random(7);
  const auto below = [&random](int most) {
    return static_cast<int>(random() % most);
  };
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<int> counts(1 + below(5));
    for (int& count : counts) count = below(60);
    const uint64_t largest = below(3) == 0 ? 400000 : 3000;
    std::vector<size_t> sizes(5 * 60);
    uint64_t most = 0;
    for (size_t& size : sizes) size = 1 + random() % largest;
    FakeShards shards(counts, [&](uint64_t s) { return sizes[s]; });
    shards.set_remote();
    for (const IndexRow& row : shards.rows()) most = std::max(most, row.length);
    std::vector<uint64_t> order = Turns(counts, 1 + below(20));
    // Some are left out, and some come again.
    for (uint64_t& position : order) {
      if (below(9) == 0) position = order[below(order.size())];
    }
    StreamOptions options = Options(1 + below(64));
    options.lookahead_bytes = 1 + random() % (largest * 100);
    const uint64_t read =
        std::max<uint64_t>(kReadInPlace, options.lookahead_bytes / 16);
    std::atomic<uint64_t> taken{0};
    shards.set_hook([&](const ShardRead&) {
      // The reads, and what waits to be taken; one may be larger than allowed.
      // Read before `taken`: both grow, and a thread may wait between the two.
      const uint64_t bytes_read = shards.bytes_read();
      EXPECT_LE(bytes_read,
                taken + options.lookahead_bytes + std::max(read, most));
      return OkStatus();
    });
    RecordStream stream(shards.Open(), Positions(order), options);
    std::vector<RecordPtr> some;
    size_t i = 0;
    do {
      // What is taken now is counted before others take its room.
      uint64_t next = 0;
      for (size_t k = i; k < std::min(i + 5, order.size()); ++k) {
        next += shards.rows()[order[k]].length;
      }
      taken += next;
      ASSERT_TRUE(stream.Next(5, &some).ok());
      uint64_t given = 0;
      for (const RecordPtr& record : some) {
        ASSERT_LT(i, order.size());
        ASSERT_TRUE(record->status.ok()) << record->status.message();
        ASSERT_EQ(record->row.sample, order[i++]);
        given += record->row.length;
      }
      taken -= next - given;
    } while (!some.empty());
    EXPECT_EQ(i, order.size());
  }
}

// Large records are read into their own memory, and small ones copied there
// from that of the read.
TEST(RecordStreamTest, OverANetworkTheWholeLookAheadIsUnderWay) {
  constexpr uint64_t kLookAhead = 32 << 20;
  for (const bool large : {false, true}) {
    const size_t size = large ? 500000 : 50000;
    const int count = static_cast<int>(2 * kLookAhead / size);
    FakeShards shards({count}, [size](uint64_t) { return size; });
    shards.set_remote();
    Gate gate;
    shards.set_hook(gate.Hook());
    StreamOptions options = Options(64);
    options.lookahead_bytes = kLookAhead;
    RecordStream stream(shards.Open(), Positions(Range(count)), options);
    // Reads of 2 MiB.
    gate.WaitForReads(large ? 15 : 7);
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_LE(shards.bytes_read(), large ? kLookAhead : kLookAhead / 2);
    gate.Open();
    EXPECT_THAT(ReadAll(&stream), SizeIs(count));
    for (const ShardRead& read : shards.requests()) {
      EXPECT_LE(read.length, uint64_t{2} << 20);
    }
  }
}

TEST(RecordStreamTest, DoesNotReadAheadMoreThanItMay) {
  for (const size_t size : {size_t{1000}, size_t{200000}}) {
    FakeShards shards({100}, [size](uint64_t) { return size; });
    const uint64_t length = shards.rows()[0].length;
    for (const int depth : {1, 8}) {
      StreamOptions options = Options(depth);
      options.lookahead_bytes = 10 * length;
      options.max_read_bytes = 2 * length;
      const uint64_t before = shards.bytes_read();
      RecordStream stream(shards.Open(), Positions(Range(100)), options);
      std::vector<RecordPtr> records;
      ASSERT_TRUE(stream.Next(1, &records).ok());
      std::this_thread::sleep_for(milliseconds(50));
      // One record was taken. What small ones are read into is a part of it.
      const uint64_t least = size < kReadInPlace ? 4 : 9;
      EXPECT_LE(shards.bytes_read() - before, 11 * length);
      EXPECT_GE(shards.bytes_read() - before, least * length);
      EXPECT_THAT(ReadAll(&stream), SizeIs(99));
    }
  }
}

TEST(RecordStreamTest, WaitsForRoomRatherThanReadLittle) {
  FakeShards shards({200}, [](uint64_t) { return 10000; });
  StreamOptions options = Options(4);
  options.lookahead_bytes = 4 << 20;
  RecordStream stream(shards.Open(), Positions(Range(200)), options);
  std::vector<RecordPtr> records;
  do {
    ASSERT_TRUE(stream.Next(1, &records).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  } while (!records.empty());
  // 2 MB in reads of a sixteenth of 4 MiB.
  EXPECT_LE(shards.requests().size(), 9u);
}

TEST(RecordStreamTest, ARecordLargerThanTheLookAheadIsRead) {
  FakeShards shards({5}, [](uint64_t s) { return s == 2 ? 10000 : 100; });
  StreamOptions options = Options(2);
  options.lookahead_bytes = 500;
  RecordStream stream(shards.Open(), Positions(Range(5)), options);
  EXPECT_THAT(ReadAll(&stream), SizeIs(5));
}

TEST(RecordStreamTest, CancellingEndsAWaitAtOnce) {
  Gate gate;
  FakeShards shards({20}, [](uint64_t) { return 100; });
  shards.set_hook(gate.Hook());
  RecordStream stream(shards.Open(), Positions(Range(20)), Options(1));
  gate.WaitForReads(1);
  Status status;
  steady_clock::time_point ended;
  std::thread consumer([&] {
    std::vector<RecordPtr> records;
    status = stream.Next(1, &records);
    ended = steady_clock::now();
  });
  std::this_thread::sleep_for(milliseconds(20));
  const auto asked = steady_clock::now();
  stream.Cancel();
  consumer.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_LT(ended - asked, milliseconds(100));
  std::vector<RecordPtr> records;
  EXPECT_EQ(stream.Next(1, &records).code(), StatusCode::kCancelled);
  EXPECT_GT(stream.wait_seconds(), 0.01);
  gate.Open();
}

TEST(RecordStreamTest, GoesAwayWhileTheDiskHangs) {
  Gate gate;
  FakeShards shards({20}, [](uint64_t) { return 100; });
  shards.set_hook(gate.Hook());
  StreamOptions options = Options(3);
  options.max_read_bytes = 1;  // a read each
  std::weak_ptr<ShardSet> alive;
  {
    auto set = shards.Open();
    alive = set;
    RecordStream stream(std::move(set), Positions(Range(20)), options);
    gate.WaitForReads(3);
    const auto asked = steady_clock::now();
    stream.Cancel();
    EXPECT_LT(steady_clock::now() - asked, milliseconds(100));
  }
  // The reads under way own what they need, and give it back when they end.
  EXPECT_FALSE(alive.expired());
  gate.Open();
  for (int i = 0; i < 500 && !alive.expired(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_THAT(shards.requests(), SizeIs(3));
}

}  // namespace
}  // namespace liquid::record_stream_test
