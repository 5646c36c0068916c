// Which engine reads, and io_uring where it hangs or is forbidden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/reader/record_stream.h"
#include "tests/ops/reader/fake_shards.h"
#include "tests/ops/reader/stream_reading.h"

namespace liquid::read_engine_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Reads of it by io_uring hang, the first block apart.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(pipe(ends_), 0);
    const std::string block(4096, 0);
    EXPECT_EQ(write(ends_[1], block.data(), block.size()), 4096);
  }
  ~Pipe() {
    Open();
    close(ends_[0]);
  }
  int fd() const { return ends_[0]; }
  void Open() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

TEST(IoUringTest, GoesAwayWhileTheDiskHangs) {
  Pipe disk;
  FakeShards shards({20}, [](uint64_t) { return 200000; });
  shards.set_fd(disk.fd());
  StreamOptions options = Options(3);
  options.mode = ReadMode::kIoUring;
  options.max_read_bytes = 1;  // a read each
  const uint64_t before = BufferPool::Process().counters().used_bytes;
  std::weak_ptr<ShardSet> alive;
  {
    auto set = shards.Open();
    alive = set;
    RecordStream stream(std::move(set), Positions(Range(20)), options);
    Status status;
    steady_clock::time_point ended;
    std::thread consumer([&] {
      std::vector<RecordPtr> records;
      status = stream.Next(1, &records);
      ended = steady_clock::now();
    });
    std::this_thread::sleep_for(milliseconds(100));
    const auto asked = steady_clock::now();
    stream.Cancel();
    consumer.join();
    if (status.code() == StatusCode::kUnimplemented) {
      GTEST_SKIP() << status.message();
    }
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_LT(ended - asked, milliseconds(100));
  }
  // The kernel still has the memory of three reads.
  EXPECT_FALSE(alive.expired());
  EXPECT_GE(BufferPool::Process().counters().used_bytes, before + 3 * 200000);
  disk.Open();
  for (int i = 0; i < 500 && !alive.expired(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(BufferPool::Process().counters().used_bytes, before);
}

// Forbids io_uring, as containers do, to this thread and those it starts.
void ForbidIoUring(int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {4, filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(IoUringTest, WhereItIsForbiddenThreadsRead) {
  for (const int error : {EPERM, ENOSYS}) {
    std::thread([error] {
      ForbidIoUring(error);
      FakeShards shards({20}, [](uint64_t) { return 1000; });
      shards.Store(::testing::TempDir() + "liquid_forbidden_");
      const auto open = [&] {
        return shards.Open(
            [](const std::string& path, std::unique_ptr<RandomFile>* file) {
              return OpenPosixFile(path, DirectReads::kTry, file);
            });
      };
      RecordStream stream(open(), Positions(Range(20)), Options(4));
      const std::vector<RecordPtr> records = ReadAll(&stream);
      EXPECT_THAT(records, SizeIs(20));
      for (const RecordPtr& record : records) EXPECT_TRUE(record->status.ok());
      EXPECT_THAT(stream.method(), ::testing::StartsWith("threads+"));

      StreamOptions asked_for = Options(4);
      asked_for.mode = ReadMode::kIoUring;
      RecordStream other(open(), Positions(Range(20)), asked_for);
      std::vector<RecordPtr> none;
      const Status status = other.Next(1, &none);
      EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
      EXPECT_THAT(status.message(), HasSubstr(std::strerror(error)));
      for (const std::string& path : shards.paths()) {
        std::remove(path.c_str());
      }
    }).join();
  }
}

TEST(ReadModeTest, IsReadFromItsName) {
  ReadMode mode;
  ASSERT_TRUE(ParseReadMode("threads", &mode).ok());
  EXPECT_EQ(mode, ReadMode::kThreads);
  const Status status = ParseReadMode("mmap", &mode);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("reader (\"mmap\") must be one of"));
}

TEST(ReadModeTest, AFileThatIsNotLocalTakesNone) {
  FakeShards shards({3}, [](uint64_t) { return 100; });
  StreamOptions options = Options(1);
  options.mode = ReadMode::kThreads;
  RecordStream stream(shards.Open(), Positions(Range(3)), options);
  std::vector<RecordPtr> records;
  const Status status = stream.Next(1, &records);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no local file"));
}

}  // namespace
}  // namespace liquid::read_engine_test
