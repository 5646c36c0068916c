// Records of files on a server, which may be slow, fail, or give wrong bytes.
#include "ops/reader/http_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/core/clock.h"
#include "ops/reader/range_reader.h"
#include "ops/reader/record_stream.h"
#include "tests/ops/http/http_server.h"
#include "tests/ops/reader/fake_shards.h"
#include "tests/ops/reader/stream_reading.h"

namespace liquid::http_file_test {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What the server does with its right answer to a request for a file.
using Change = std::function<void(const ServerRequest&, ServerAnswer*)>;

class HttpFileTest : public ::testing::Test {
 protected:
  // Shards of which the server has all.
  void Serve(FakeShards* shards, Change change) {
    shards_ = shards;
    server_ = std::make_unique<HttpServer>(
        // A server outlives the shards, and may answer what nobody waits for.
        [files = shards->files(), change](const ServerRequest& request) {
          // "/shard0?secret"
          ServerAnswer answer =
              AnswerOf(files[request.target[6] - '0'], request);
          if (change) change(request, &answer);
          return answer;
        });
  }
  std::shared_ptr<ShardSet> Open(double patience = 20) {
    return shards_->Open([this, patience](const std::string& path,
                                          std::unique_ptr<RandomFile>* file) {
      return OpenHttpFile(server_->Url("/" + path + "?secret"), patience, file);
    });
  }
  void Expect(const Record& record, uint64_t sample) {
    ASSERT_TRUE(record.status.ok()) << record.status.message();
    const IndexRow& row = shards_->rows()[sample];
    ASSERT_EQ(record.framed.size, row.length);
    EXPECT_EQ(shards_->files()[row.shard].compare(
                  row.offset, row.length,
                  reinterpret_cast<const char*>(record.framed.data),
                  record.framed.size),
              0);
  }

  FakeShards* shards_ = nullptr;
  std::unique_ptr<HttpServer> server_;
};

// Some of each kind: read in place, and copied.
size_t Uneven(uint64_t sample) {
  return sample % 5 == 4 ? 100 + sample : 120000 + sample * 7919 % 90000;
}

TEST_F(HttpFileTest, ReadsFarAhead) {
  FakeShards shards({20, 20}, Uneven);
  Serve(&shards,
        [](const ServerRequest&, ServerAnswer* answer) { answer->delay = .1; });
  for (const bool shuffled : {false, true}) {
    std::vector<uint64_t> order = Range(40);
    if (shuffled) std::shuffle(order.begin(), order.end(), std::mt19937(1));
    StreamOptions options = Options(32);
    options.max_read_bytes = 1;  // a read each
    const double begun = MonotonicSeconds();
    RecordStream stream(Open(), Positions(order), options);
    const std::vector<RecordPtr> records = ReadAll(&stream);
    // One after another they would take 4 s.
    EXPECT_LT(MonotonicSeconds() - begun, 2);
    ASSERT_THAT(records, SizeIs(40));
    for (size_t i = 0; i < 40; ++i) {
      Expect(*records[i], order[i]);
      EXPECT_EQ(records[i]->disk_bytes, records[i]->row.length);
    }
    EXPECT_EQ(stream.method(), "http");
    EXPECT_EQ(stream.TakeRetries(), 0u);
  }
  EXPECT_EQ(server_->requests(), 80);
}

// They are copied out of what was read, of which a disk needs little at once.
TEST_F(HttpFileTest, ReadsSmallRecordsFarAheadToo) {
  FakeShards shards({64}, [](uint64_t) { return 1000; });
  Serve(&shards,
        [](const ServerRequest&, ServerAnswer* answer) { answer->delay = .1; });
  StreamOptions options = Options(32);
  options.max_read_bytes = 1;  // a read each
  const double begun = MonotonicSeconds();
  RecordStream stream(Open(), Positions(Range(64)), options);
  const std::vector<RecordPtr> records = ReadAll(&stream);
  // Four at a time they would take 1.6 s.
  EXPECT_LT(MonotonicSeconds() - begun, 1);
  ASSERT_THAT(records, SizeIs(64));
  for (size_t i = 0; i < 64; ++i) Expect(*records[i], i);
}

TEST_F(HttpFileTest, AStormOfFailuresCostsRetriesOnly) {
  FakeShards shards({30, 10}, Uneven);
  std::mutex mu;
  std::mt19937 random(3);
  Serve(&shards, [&](const ServerRequest&, ServerAnswer* answer) {
    std::lock_guard<std::mutex> lock(mu);
    if (random() % 5 != 0) return;
    if (random() % 2 == 0) {
      answer->status = 503;
    } else {
      answer->most = answer->body.size() / 2;
    }
  });
  uint64_t retries = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    StreamOptions options = Options(8);
    options.lookahead_bytes = 4 << 20;
    RecordStream stream(Open(), Positions(Range(40)), options);
    const std::vector<RecordPtr> records = ReadAll(&stream);
    ASSERT_THAT(records, SizeIs(40));
    for (size_t i = 0; i < 40; ++i) Expect(*records[i], i);
    retries += stream.TakeRetries();
  }
  EXPECT_GT(retries, 0u);
}

TEST_F(HttpFileTest, WrongBytesAreAskedForAgain) {
  for (const size_t size : {size_t{100}, size_t{200000}}) {
    FakeShards shards({8}, [size](uint64_t) { return size; });
    const uint64_t damaged = shards.rows()[5].offset + 60;
    std::atomic<int> wrong{2};
    Serve(&shards, [&](const ServerRequest& request, ServerAnswer* answer) {
      const uint64_t begin = std::stoull(request.headers.at("range").substr(6));
      if (begin > damaged || damaged >= begin + answer->body.size()) return;
      if (wrong-- > 0) answer->body[damaged - begin] ^= 1;
    });
    RecordStream passing(Open(), Positions(Range(8)), Options(4));
    for (const RecordPtr& record : ReadAll(&passing)) {
      Expect(*record, record->position);
    }
    EXPECT_EQ(passing.TakeRetries(), 2u);

    wrong = 1000;
    RecordStream lasting(Open(), Positions(Range(8)), Options(4));
    const std::vector<RecordPtr> records = ReadAll(&lasting);
    ASSERT_THAT(records, SizeIs(8));
    for (const RecordPtr& record : records) {
      if (record->position != 5) {
        Expect(*record, record->position);
        continue;
      }
      EXPECT_EQ(record->status.code(), StatusCode::kDataLoss);
      EXPECT_THAT(record->status.message(), HasSubstr("CRC"));
      EXPECT_FALSE(record->memory);
    }
    EXPECT_EQ(wrong, 1000 - kRemoteAttempts);
  }
}

TEST_F(HttpFileTest, AFileThatIsMissingIsAskedForOnceARead) {
  FakeShards shards({10, 10}, [](uint64_t) { return 1000; });
  Serve(&shards, [](const ServerRequest& request, ServerAnswer* answer) {
    if (request.target == "/shard1?secret") answer->status = 404;
  });
  RecordStream stream(Open(), Positions(Range(20)), Options(4));
  const std::vector<RecordPtr> records = ReadAll(&stream);
  ASSERT_THAT(records, SizeIs(20));
  for (const RecordPtr& record : records) {
    if (record->position < 10) {
      Expect(*record, record->position);
      continue;
    }
    EXPECT_EQ(record->status.code(), StatusCode::kNotFound);
    EXPECT_THAT(record->status.message(),
                AllOf(HasSubstr(server_->Url("/shard1: ")),
                      HasSubstr("status 404"), Not(HasSubstr("secret"))));
  }
  EXPECT_EQ(server_->requests(), 2);
}

TEST_F(HttpFileTest, AServerThatStaysDownEndsPatienceOnce) {
  FakeShards shards({50}, [](uint64_t) { return 1000; });
  Serve(&shards, [](const ServerRequest&, ServerAnswer* answer) {
    answer->status = 503;
  });
  const double begun = MonotonicSeconds();
  RecordStream stream(Open(/*patience=*/1), Positions(Range(50)), Options(4));
  for (const RecordPtr& record : ReadAll(&stream)) {
    EXPECT_EQ(record->status.code(), StatusCode::kUnavailable);
  }
  EXPECT_LT(MonotonicSeconds() - begun, 4);
}

TEST_F(HttpFileTest, GoesAwayWhileTheServerIsSilent) {
  const auto used = [] { return BufferPool::Process().counters().used_bytes; };
  // The threads of earlier streams end on their own.
  while (used() > 0) std::this_thread::sleep_for(milliseconds(1));
  FakeShards shards({20}, [](uint64_t) { return 200000; });
  Serve(&shards, [](const ServerRequest&, ServerAnswer* answer) {
    answer->most = 1000;
    answer->stalls = true;
  });
  std::weak_ptr<ShardSet> alive;
  {
    auto set = Open(/*patience=*/.2);
    alive = set;
    StreamOptions options = Options(3);
    options.max_read_bytes = 1;  // a read each
    RecordStream stream(std::move(set), Positions(Range(20)), options);
    Status status;
    std::thread consumer([&] {
      std::vector<RecordPtr> records;
      status = stream.Next(1, &records);
    });
    while (server_->requests() < 3) std::this_thread::yield();
    const double asked = MonotonicSeconds();
    stream.Cancel();
    consumer.join();
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_LT(MonotonicSeconds() - asked, .1);
  }
  EXPECT_FALSE(alive.expired());
  EXPECT_GE(used(), uint64_t{3 * 200000});
  server_ = nullptr;
  for (int i = 0; i < 1000 && !alive.expired(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(used(), 0u);
}

TEST_F(HttpFileTest, IsReadInOneWay) {
  FakeShards shards({1}, Uneven);
  Serve(&shards, nullptr);
  StreamOptions options = Options(1);
  options.mode = ReadMode::kThreads;
  RecordStream stream(Open(), Positions(Range(1)), options);
  std::vector<RecordPtr> records;
  const Status status = stream.Next(1, &records);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("no local file"), Not(HasSubstr("secret"))));
}

// RecordIO files as they are, one on a disk among them.
TEST_F(HttpFileTest, RangesOfRecords) {
  FakeShards shards({30, 3, 20}, Uneven);
  Serve(&shards, nullptr);
  shards.Store(::testing::TempDir() + "liquid_http_file_");
  std::vector<FileRange> ranges;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t size = shards.files()[i].size();
    // The last record begins in the range and ends after it.
    ranges.push_back(
        {i == 1 ? shards.paths()[i]
                : server_->Url("/shard" + std::to_string(i) + "?secret"),
         {0, size - 8}});
  }
  const auto open = [](const std::string& path,
                       std::unique_ptr<RandomFile>* file) {
    return path[0] == '/' ? OpenPosixFile(path, DirectReads::kTry, file)
                          : OpenHttpFile(path, 20, file);
  };
  RangeReaderOptions options;
  options.block_bytes = 100000;
  RangeReader reader(ranges, open, options, nullptr);
  std::string read, wanted;
  int records = 0;
  for (;;) {
    ByteSpan payload;
    bool found = false;
    const Status status = reader.Next(&payload, &found);
    ASSERT_TRUE(status.ok()) << status.message();
    if (!found) break;
    ++records;
    ASSERT_TRUE(AppendRecord(payload, &read).ok());
  }
  EXPECT_EQ(records, 53);
  for (const std::string& file : shards.files()) wanted += file;
  EXPECT_TRUE(read == wanted);
  for (const std::string& path : shards.paths()) std::remove(path.c_str());

  ranges[0].records = 29;
  RangeReader wrong(ranges, open, options, nullptr);
  Status status;
  for (bool found = true; found && status.ok();) {
    ByteSpan payload;
    status = wrong.Next(&payload, &found);
  }
  EXPECT_THAT(status.message(), AllOf(StartsWith(server_->Url("/shard0: ")),
                                      Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace liquid::http_file_test
