#include "ops/reader/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/ops/reader/fake_shards.h"

namespace liquid {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

PositionSource Positions(std::vector<uint64_t> positions) {
  return
      [positions = std::move(positions), i = size_t{0}](uint64_t* out) mutable {
        if (i == positions.size()) return false;
        *out = positions[i++];
        return true;
      };
}

std::vector<uint64_t> Range(uint64_t size) {
  std::vector<uint64_t> positions(size);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

std::vector<RecordPtr> ReadAll(RecordStream* stream, size_t most = 7) {
  std::vector<RecordPtr> all, some;
  do {
    const Status status = stream->Next(most, &some);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_LE(some.size(), most);
    all.insert(all.end(), some.begin(), some.end());
  } while (!some.empty());
  return all;
}

StreamOptions Options(int threads) {
  StreamOptions options;
  options.threads = threads;
  return options;
}

// Makes reads wait until it is opened.
class Gate {
 public:
  FakeShards::Hook Hook() {
    return [this](const ReadRequest&) {
      std::unique_lock<std::mutex> lock(mu_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      --waiting_;
      changed_.notify_all();
      return OkStatus();
    };
  }
  void WaitForReads(int count) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  void Open() {
    std::unique_lock<std::mutex> lock(mu_);
    open_ = true;
    changed_.notify_all();
    // Whoever waited still writes here.
    changed_.wait(lock, [this] { return waiting_ == 0; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

class ThreadsTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadsTest, DeliversInTheOrderOfTheSource) {
  FakeShards shards({40, 30, 30}, [](uint64_t s) { return 10 + s * 37 % 500; });
  shards.set_hook([](const ReadRequest& request) {
    // Reads end in another order than they began.
    std::this_thread::sleep_for(
        std::chrono::microseconds(request.offset * 7919 % 500));
    return OkStatus();
  });
  std::vector<uint64_t> order = Range(100);
  for (const unsigned seed : {0u, 1u, 2u}) {
    if (seed > 0) {
      std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    }
    StreamOptions options = Options(GetParam());
    options.lookahead_bytes = 3000;
    RecordStream stream(shards.Open(), Positions(order), options);
    const std::vector<RecordPtr> records = ReadAll(&stream);
    ASSERT_THAT(records, SizeIs(100));
    for (size_t i = 0; i < records.size(); ++i) {
      const Record& record = *records[i];
      const uint64_t sample = order[i];
      ASSERT_TRUE(record.status.ok()) << record.status.message();
      EXPECT_EQ(record.position, sample);
      EXPECT_EQ(record.row.sample, sample);
      EXPECT_EQ(record.content.id, sample);
      EXPECT_THAT(record.content.labels, ElementsAre(sample));
      EXPECT_EQ(record.content.image.size, 10 + sample * 37 % 500);
      EXPECT_EQ(record.content.image.data[0], static_cast<uint8_t>(sample));
    }
    EXPECT_EQ(records[99]->Where(),
              "shard" + std::to_string(records[99]->row.shard) + ", record " +
                  std::to_string(records[99]->number) + " (sample " +
                  std::to_string(order[99]) + ", offset " +
                  std::to_string(records[99]->row.offset) + ")");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThreadsTest, ::testing::Values(1, 2, 8));

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

TEST(RecordStreamTest, ReadsHaveALargestSize) {
  FakeShards shards({20}, [](uint64_t) { return 100; });
  const uint64_t length = shards.rows()[0].length;
  StreamOptions options = Options(1);
  options.max_read_bytes = 3 * length + 1;
  RecordStream stream(shards.Open(), Positions(Range(20)), options);
  EXPECT_THAT(ReadAll(&stream), SizeIs(20));
  const std::vector<ReadRequest> requests = shards.requests();
  EXPECT_THAT(requests, SizeIs(7));
  for (const ReadRequest& request : requests) {
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

TEST(RecordStreamTest, DoesNotReadAheadMoreThanItMay) {
  FakeShards shards({100}, [](uint64_t) { return 1000; });
  const uint64_t length = shards.rows()[0].length;
  for (const int threads : {1, 8}) {
    StreamOptions options = Options(threads);
    options.lookahead_bytes = 10 * length;
    options.max_read_bytes = 2 * length;
    const uint64_t before = shards.bytes_read();
    RecordStream stream(shards.Open(), Positions(Range(100)), options);
    std::vector<RecordPtr> records;
    ASSERT_TRUE(stream.Next(1, &records).ok());
    std::this_thread::sleep_for(milliseconds(50));
    // One record was taken, which made room for one.
    EXPECT_LE(shards.bytes_read() - before, 11 * length);
    EXPECT_GE(shards.bytes_read() - before, 10 * length);
    EXPECT_THAT(ReadAll(&stream), SizeIs(99));
  }
}

TEST(RecordStreamTest, ARecordLargerThanTheLookAheadIsRead) {
  FakeShards shards({5}, [](uint64_t s) { return s == 2 ? 10000 : 100; });
  StreamOptions options = Options(2);
  options.lookahead_bytes = 500;
  RecordStream stream(shards.Open(), Positions(Range(5)), options);
  EXPECT_THAT(ReadAll(&stream), SizeIs(5));
}

TEST(RecordStreamTest, WithoutPositionsItIsAtItsEnd) {
  FakeShards shards({5}, [](uint64_t) { return 100; });
  RecordStream stream(shards.Open(), Positions({}), Options(4));
  EXPECT_THAT(ReadAll(&stream), SizeIs(0));
  EXPECT_THAT(ReadAll(&stream), SizeIs(0));
}

TEST(RecordStreamTest, ADamagedRecordIsNamedAndItsNeighboursAreNot) {
  FakeShards shards({4, 4}, [](uint64_t) { return 100; });
  shards.Flip(6, 60);
  RecordStream stream(shards.Open(), Positions(Range(8)), Options(1));
  const std::vector<RecordPtr> records = ReadAll(&stream);
  ASSERT_THAT(records, SizeIs(8));
  for (const RecordPtr& record : records) {
    if (record->position != 6) {
      EXPECT_TRUE(record->status.ok()) << record->status.message();
      continue;
    }
    EXPECT_EQ(record->status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(record->status.message(),
                HasSubstr("shard1, record 2 (sample 6, offset " +
                          std::to_string(record->row.offset) + "): "));
    EXPECT_THAT(record->status.message(), HasSubstr("CRC"));
  }
}

TEST(RecordStreamTest, AFailedReadCostsOnlyWhatLiesInIt) {
  FakeShards shards({8}, [](uint64_t) { return 100; });
  const IndexRow bad = shards.rows()[3];
  shards.set_hook([bad](const ReadRequest& request) {
    const bool meets = request.offset < bad.offset + bad.length &&
                       bad.offset < request.offset + request.length;
    return meets ? Internal(request.path + ": cannot read") : OkStatus();
  });
  RecordStream stream(shards.Open(), Positions(Range(8)), Options(1));
  const std::vector<RecordPtr> records = ReadAll(&stream);
  ASSERT_THAT(records, SizeIs(8));
  for (const RecordPtr& record : records) {
    EXPECT_EQ(record->status.ok(), record->position != 3);
  }
  EXPECT_EQ(records[3]->status.code(), StatusCode::kInternal);
  EXPECT_THAT(records[3]->status.message(),
              HasSubstr("shard0, record 3 (sample 3, offset "));
  EXPECT_THAT(records[3]->status.message(), HasSubstr("cannot read"));
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

TEST(RecordStreamTest, RecordsOutliveTheStream) {
  FakeShards shards({3}, [](uint64_t) { return 100; });
  std::vector<RecordPtr> records;
  {
    RecordStream stream(shards.Open(), Positions(Range(3)), Options(1));
    records = ReadAll(&stream);
  }
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[2]->content.image.data[99], 2);
}

}  // namespace
}  // namespace liquid
