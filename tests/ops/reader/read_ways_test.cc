// Every way to read gives the same records, whatever is wrong with the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ops/reader/record_stream.h"
#include "tests/ops/reader/fake_shards.h"
#include "tests/ops/reader/stream_reading.h"

namespace liquid::read_ways_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<uint64_t> Shuffled(uint64_t size, unsigned seed) {
  std::vector<uint64_t> order = Range(size);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

// Every way to read.
struct Way {
  std::string name;
  ReadMode mode;
  bool on_disk;
};

class WaysTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().mode != ReadMode::kIoUring) return;
    std::unique_ptr<RandomFile> file;
    ASSERT_TRUE(OpenPosixFile("/proc/self/exe", DirectReads::kNo, &file).ok());
    std::unique_ptr<ReadEngine> engine;
    const Status status = MakeIoUringEngine(*file, 1, &engine);
    if (!status.ok()) GTEST_SKIP() << status.message();
  }
  void TearDown() override {
    for (const std::string& path : written_) std::remove(path.c_str());
    if (empty_ != nullptr) std::fclose(empty_);
  }

  std::shared_ptr<ShardSet> Open(FakeShards* shards) {
    if (GetParam().on_disk) {
      shards->Store(::testing::TempDir() + "liquid_stream_test_");
      written_ = shards->paths();
      return shards->Open(
          [](const std::string& path, std::unique_ptr<RandomFile>* file) {
            return OpenPosixFile(path,
                                 GetParam().mode == ReadMode::kBuffered
                                     ? DirectReads::kNo
                                     : DirectReads::kTry,
                                 file);
          });
    }
    if (GetParam().mode == ReadMode::kIoUring) {
      // Every read of it ends short, and goes on in the fake.
      empty_ = std::tmpfile();
      shards->set_fd(fileno(empty_));
    }
    return shards->Open();
  }
  StreamOptions Options(int depth) {
    StreamOptions options;
    options.mode = GetParam().mode;
    options.depth = depth;
    return options;
  }
  void Expect(const FakeShards& shards, const Record& record, uint64_t sample) {
    ASSERT_TRUE(record.status.ok()) << record.status.message();
    EXPECT_EQ(record.position, sample);
    EXPECT_EQ(record.content.id, sample);
    EXPECT_THAT(record.content.labels, ElementsAre(sample));
    const IndexRow& row = shards.rows()[sample];
    EXPECT_EQ(record.row.offset, row.offset);
    ASSERT_EQ(record.framed.size, row.length);
    EXPECT_EQ(shards.files()[row.shard].compare(
                  row.offset, row.length,
                  reinterpret_cast<const char*>(record.framed.data),
                  record.framed.size),
              0);
  }

 private:
  std::vector<std::string> written_;
  std::FILE* empty_ = nullptr;
};

TEST_P(WaysTest, DeliversInTheOrderOfTheSource) {
  for (const int depth : {1, 2, 8}) {
    FakeShards shards({40, 30, 30},
                      [](uint64_t s) { return 10 + s * 37 % 500; });
    shards.set_hook([](const ShardRead& request) {
      // Reads end in another order than they began.
      std::this_thread::sleep_for(
          std::chrono::microseconds(request.offset * 7919 % 500));
      return OkStatus();
    });
    for (const unsigned seed : {0u, 1u, 2u}) {
      const std::vector<uint64_t> order =
          seed == 0 ? Range(100) : Shuffled(100, seed);
      StreamOptions options = Options(depth);
      options.lookahead_bytes = 3000;
      RecordStream stream(Open(&shards), Positions(order), options);
      const std::vector<RecordPtr> records = ReadAll(&stream);
      ASSERT_THAT(records, SizeIs(100));
      for (size_t i = 0; i < records.size(); ++i) {
        Expect(shards, *records[i], order[i]);
      }
      EXPECT_THAT(records[99]->Where(),
                  ::testing::EndsWith(
                      "shard" + std::to_string(records[99]->row.shard) +
                      ", record " + std::to_string(records[99]->number) +
                      " (sample " + std::to_string(order[99]) + ", offset " +
                      std::to_string(records[99]->row.offset) + ")"));
    }
  }
}

// Some of each kind: read in place, and copied.
size_t Uneven(uint64_t sample) {
  return sample % 5 == 4 ? 100 + sample : 120000 + sample * 7919 % 90000;
}

TEST_P(WaysTest, LargeRecordsAndSmallOnes) {
  FakeShards shards({30, 10}, Uneven);
  for (const uint64_t lookahead :
       {uint64_t{0}, uint64_t{4} << 20, uint64_t{64} << 20}) {
    for (const std::vector<uint64_t>& order : {Range(40), Shuffled(40, 1)}) {
      StreamOptions options = Options(8);
      options.lookahead_bytes = lookahead;
      RecordStream stream(Open(&shards), Positions(order), options);
      const std::vector<RecordPtr> records = ReadAll(&stream, 3);
      ASSERT_THAT(records, SizeIs(40));
      uint64_t disk_bytes = 0, bytes = 0;
      for (size_t i = 0; i < records.size(); ++i) {
        Expect(shards, *records[i], order[i]);
        disk_bytes += records[i]->disk_bytes;
        bytes += records[i]->row.length;
      }
      EXPECT_GE(disk_bytes, bytes);
      EXPECT_LE(disk_bytes, bytes + 40 * 2 * kDirectAlignment);
    }
  }
}

TEST_P(WaysTest, ADamagedRecordIsNamedAndItsNeighboursAreNot) {
  for (const size_t size : {size_t{100}, size_t{200000}}) {
    FakeShards shards({4, 4}, [size](uint64_t) { return size; });
    shards.Flip(6, 60);
    RecordStream stream(Open(&shards), Positions(Range(8)), Options(1));
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
}

TEST_P(WaysTest, ATruncatedFileCostsWhatIsMissing) {
  if (!GetParam().on_disk) GTEST_SKIP() << "truncates a file";
  for (const size_t size : {size_t{100}, size_t{200000}}) {
    FakeShards shards({5}, [size](uint64_t) { return size; });
    const auto set = Open(&shards);
    ASSERT_EQ(truncate(shards.paths()[0].c_str(),
                       static_cast<off_t>(shards.rows()[3].offset + 50)),
              0);
    RecordStream stream(set, Positions(Range(5)), Options(4));
    const std::vector<RecordPtr> records = ReadAll(&stream);
    ASSERT_THAT(records, SizeIs(5));
    for (const RecordPtr& record : records) {
      if (record->position < 3) {
        Expect(shards, *record, record->position);
      } else {
        EXPECT_EQ(record->status.code(), StatusCode::kDataLoss);
        EXPECT_THAT(record->status.message(), HasSubstr("truncated"));
        EXPECT_FALSE(record->memory);
      }
    }
  }
}

TEST_P(WaysTest, AMissingFileCostsItsRecords) {
  FakeShards shards({3, 3}, [](uint64_t) { return 100; });
  Open(&shards);
  const auto set = shards.Open(
      [](const std::string& path, std::unique_ptr<RandomFile>* file) {
        if (path.back() == '0') return NotFound(path + ": cannot open");
        return OpenPosixFile("/proc/self/exe", DirectReads::kNo, file);
      });
  RecordStream stream(set, Positions(Range(6)), Options(4));
  const std::vector<RecordPtr> records = ReadAll(&stream);
  ASSERT_THAT(records, SizeIs(6));
  EXPECT_EQ(records[0]->status.code(), StatusCode::kNotFound);
  EXPECT_THAT(records[2]->status.message(), HasSubstr("record 2"));
  EXPECT_EQ(records[3]->status.code(), StatusCode::kDataLoss);  // the CRC
}

TEST_P(WaysTest, AFailedReadCostsOnlyWhatLiesInIt) {
  if (GetParam().on_disk) GTEST_SKIP() << "needs a disk that fails";
  for (const size_t size : {size_t{100}, size_t{200000}}) {
    FakeShards shards({8}, [size](uint64_t) { return size; });
    const IndexRow bad = shards.rows()[3];
    shards.set_hook([bad](const ShardRead& request) {
      const bool meets = request.offset < bad.offset + bad.length &&
                         bad.offset < request.offset + request.length;
      return meets ? Internal(request.path + ": cannot read") : OkStatus();
    });
    RecordStream stream(Open(&shards), Positions(Range(8)), Options(1));
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
}

TEST_P(WaysTest, RecordsOutliveTheStreamAndGiveTheirMemoryBack) {
  FakeShards shards({30, 10}, Uneven);
  const uint64_t before = BufferPool::Process().counters().used_bytes;
  std::vector<RecordPtr> records;
  {
    RecordStream stream(Open(&shards), Positions(Range(40)), Options(8));
    records = ReadAll(&stream);
  }
  ASSERT_THAT(records, SizeIs(40));
  for (const RecordPtr& record : records) {
    Expect(shards, *record, record->position);
  }
  records.clear();
  for (int i = 0; i < 500; ++i) {
    if (BufferPool::Process().counters().used_bytes == before) break;
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(BufferPool::Process().counters().used_bytes, before);
}

TEST_P(WaysTest, WithoutPositionsItIsAtItsEnd) {
  FakeShards shards({5}, [](uint64_t) { return 100; });
  RecordStream stream(Open(&shards), Positions({}), Options(4));
  EXPECT_THAT(ReadAll(&stream), SizeIs(0));
  EXPECT_THAT(ReadAll(&stream), SizeIs(0));
  EXPECT_EQ(stream.method(), "");
}

TEST_P(WaysTest, SaysWhatItReadsWith) {
  FakeShards shards({5}, [](uint64_t) { return 100; });
  const auto set = Open(&shards);
  RecordStream stream(set, Positions(Range(5)), Options(4));
  ReadAll(&stream);
  std::shared_ptr<RandomFile> file;
  ASSERT_TRUE(set->Open(0, &file).ok());
  const std::string how = file->method();
  if (GetParam().mode == ReadMode::kIoUring) {
    EXPECT_EQ(stream.method(), "io_uring+" + how);
  } else if (!GetParam().on_disk) {
    EXPECT_EQ(stream.method(), "fake");
  } else if (GetParam().mode != ReadMode::kAuto) {
    EXPECT_EQ(stream.method(), "threads+" + how);
  }
  if (GetParam().mode == ReadMode::kBuffered) {
    EXPECT_EQ(how, "buffered");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WaysTest,
    ::testing::Values(Way{"Fake", ReadMode::kAuto, false},
                      Way{"ShortRing", ReadMode::kIoUring, false},
                      Way{"Ring", ReadMode::kIoUring, true},
                      Way{"Threads", ReadMode::kThreads, true},
                      Way{"Buffered", ReadMode::kBuffered, true},
                      Way{"Auto", ReadMode::kAuto, true}),
    [](const ::testing::TestParamInfo<Way>& info) { return info.param.name; });

}  // namespace
}  // namespace liquid::read_ways_test
