// Records in a tier: written, read, gone, damaged, and on a disk that fails.
#include "ops/reader/tier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/reader/read_order.h"
#include "ops/reader/record_stream.h"
#include "ops/reader/tiered_source.h"
#include "ops/sampler/planner.h"
#include "tests/ops/reader/fake_shards.h"
#include "tests/ops/reader/stream_reading.h"

namespace liquid::tier_test {
namespace {

namespace fs = std::filesystem;

TEST(FreeBlocksTest, GivesWhatIsThereInFewPieces) {
  FreeBlocks free(10);
  const auto a = free.Take(3), b = free.Take(3), c = free.Take(3);
  EXPECT_EQ(a, std::vector<Extent>({{0, 3}}));
  EXPECT_TRUE(free.Take(2).empty());
  EXPECT_EQ(free.left(), 1u);
  free.Give(b);
  EXPECT_EQ(free.Take(1), std::vector<Extent>({{9, 1}}));  // the smallest
  free.Give({{9, 1}});
  EXPECT_EQ(free.Take(4), std::vector<Extent>({{3, 3}, {9, 1}}));
  free.Give({{3, 3}, {9, 1}});
  free.Give(a);
  free.Give(c);
  EXPECT_EQ(free.Take(10), std::vector<Extent>({{0, 10}}));
  EXPECT_TRUE(free.Take(1).empty());
}

class TierTest : public testing::Test {
 protected:
  static constexpr uint64_t kRecords = 120;

  void SetUp() override {
    folder_ = testing::TempDir() + "/tier_test";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  // `bytes(s)`: of sample s.
  void MakeShards(const std::function<size_t(uint64_t)>& bytes) {
    shards_ = std::make_unique<FakeShards>(std::vector<int>{50, 40, 30}, bytes);
    set_ = shards_->Open();
    for (const IndexRow& row : shards_->rows()) {
      blocks_.push_back(static_cast<uint32_t>(TierFile::BlocksFor(row.length)));
    }
    spec_ = std::make_shared<PlanSpec>();
    spec_->seed = 5;
    spec_->batch_size = 10;
    spec_->formats.resize(1);
    spec_->formats[0].files = {50, 40, 30};
    spec_->formats[0].fill = 20;
    held_ = NothingHeld(*spec_);
  }

  void MakeTier(uint64_t bytes, const std::string& folder) {
    Tier::Options options;
    options.folder = folder;
    options.bytes = bytes;
    options.queue_bytes = 64 << 20;
    options.blocks = {blocks_};
    options.warn = [this](const std::string& why) {
      ++warnings_;
      warning_ = why;
    };
    tier_ = std::make_shared<Tier>(std::move(options));
  }

  std::unique_ptr<EpochPlan> Plan(int64_t epoch) const {
    std::unique_ptr<EpochPlan> plan;
    EXPECT_TRUE(EpochPlan::Create(spec_, epoch, held_, &plan).ok());
    return plan;
  }

  // Runs an epoch as the pipeline does, and counts what came from the store.
  // `at_begin` is called when the tier has planned it.
  void RunEpoch(int64_t epoch, const std::function<void()>& at_begin = {}) {
    const Status begun =
        tier_->Begin({spec_, epoch, held_, 0, UINT64_MAX, spec_});
    ASSERT_TRUE(begun.ok()) << begun.message();
    if (at_begin) at_begin();
    auto source = std::make_shared<TieredSource>(set_, tier_, 0);
    AtHand at_hand = {SampleSet(kRecords)};
    for (const auto& entry : kept_) at_hand.records.insert(entry.first);
    auto order =
        std::make_shared<ReadOrder>(Plan(epoch), 0, at_hand, MemoryLimits());
    RecordStream stream(
        source,
        [order, source](ReadTurn* read) {
          PlannedRead next;
          if (!order->Next(&next)) return false;
          *read = {source->PositionOf(next.record), next.turn};
          return true;
        },
        Options(4));
    std::map<uint64_t, RecordPtr> memory = std::move(kept_);
    kept_.clear();
    store_reads_ = store_bytes_ = 0;
    const auto plan = Plan(epoch);
    while (plan->position() < plan->size()) {
      const Draw draw = plan->Next();
      while (memory.count(draw.record) == 0) {
        std::vector<RecordPtr> records;
        ASSERT_TRUE(stream.Next(7, &records).ok());
        ASSERT_FALSE(records.empty());
        for (RecordPtr& record : records) {
          store_reads_ += !record->in_tier;
          if (!record->in_tier) store_bytes_ += record->row.length;
          EXPECT_EQ(record->in_tier, record->disk_bytes == 0);
          memory[record->position] = std::move(record);
        }
      }
      const RecordPtr record = memory[draw.record];
      ExpectRight(*record, draw.record);
      tier_->Drawn(0, record);
      if (draw.keep) kept_[draw.record] = record;
      memory.erase(draw.record);
    }
    held_ = plan->kept();
  }

  void ExpectRight(const Record& record, uint64_t number) const {
    ASSERT_TRUE(record.status.ok()) << record.status.message();
    const IndexRow& row = shards_->rows()[number];
    EXPECT_EQ(record.content.id, row.sample);
    EXPECT_EQ(record.row.offset, row.offset);
    EXPECT_EQ(record.row.shard, row.shard);
    const std::string& file = shards_->files()[row.shard];
    ASSERT_EQ(record.framed.size, row.length);
    EXPECT_EQ(file.compare(row.offset, row.length,
                           reinterpret_cast<const char*>(record.framed.data),
                           row.length),
              0);
  }

  // A descriptor of the tier's file, which has no name.
  static int OpenFileOfTier() {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(entry.path(), error).string();
      if (target.find("liquid-tier-") == std::string::npos) continue;
      return open(entry.path().c_str(), O_RDWR);
    }
    return -1;
  }

  std::string folder_;
  std::unique_ptr<FakeShards> shards_;
  std::shared_ptr<ShardSet> set_;
  std::vector<uint32_t> blocks_;
  std::shared_ptr<PlanSpec> spec_;
  HeldSets held_;
  std::map<uint64_t, RecordPtr> kept_;
  std::shared_ptr<Tier> tier_;
  uint64_t store_reads_ = 0, store_bytes_ = 0;  // of the last epoch
  std::atomic<int> warnings_{0};
  std::string warning_;
};

TEST_F(TierTest, HalfTheRecordsHalfTheReads) {
  MakeShards([](uint64_t) { return 5000; });
  MakeTier(60 * 2 * 4096, folder_);
  EXPECT_TRUE(fs::is_empty(folder_));  // its file has no name
  RunEpoch(0);
  EXPECT_EQ(store_reads_, 120u);
  for (int epoch = 1; epoch < 5; ++epoch) {
    RunEpoch(epoch);
    EXPECT_EQ(store_reads_, 60u) << epoch;
  }
  const Tier::Counters counters = tier_->counters();
  EXPECT_EQ(counters.bytes, 60u * 2 * 4096);
  EXPECT_EQ(counters.read.records, 4u * 60);
  EXPECT_EQ(counters.left_out, 0u);
  EXPECT_EQ(counters.failed, 0u);
  EXPECT_EQ(counters.off, "");
  EXPECT_EQ(warnings_, 0);
}

TEST_F(TierTest, BesideMemory) {
  MakeShards([](uint64_t) { return 3000; });
  spec_->formats[0].cached = 36;
  MakeTier(42 * 4096, folder_);
  RunEpoch(0);
  for (int epoch = 1; epoch < 5; ++epoch) {
    RunEpoch(epoch);
    EXPECT_EQ(store_reads_, 120u - 36 - 42) << epoch;
  }
}

TEST_F(TierTest, RecordsOfAllSizes) {
  // Read in place and by way of a buffer.
  MakeShards([](uint64_t s) { return 100 + s * s * 37 % 300000; });
  uint64_t all = 0;
  for (const uint32_t blocks : blocks_) all += blocks;
  MakeTier(all * 4096 / 2, folder_);
  RunEpoch(0);
  const uint64_t bytes = store_bytes_;
  for (int epoch = 1; epoch < 6; ++epoch) {
    RunEpoch(epoch);
    EXPECT_LE(store_bytes_, bytes * 55 / 100) << epoch;
    EXPECT_LE(tier_->counters().there.bytes, all * 4096 / 2);
  }
  EXPECT_EQ(tier_->counters().failed, 0u);
}

TEST_F(TierTest, RealFiles) {
  MakeShards([](uint64_t s) { return s % 3 == 0 ? 200000 : 900; });
  shards_->Store(folder_ + "/");
  set_ = shards_->Open(
      [](const std::string& path, std::unique_ptr<RandomFile>* file) {
        return OpenPosixFile(path, DirectReads::kTry, file);
      });
  MakeTier(uint64_t{1} << 40, folder_);  // takes what there is
  RunEpoch(0);
  for (int epoch = 1; epoch < 3; ++epoch) {
    RunEpoch(epoch);
    EXPECT_EQ(store_reads_, 0u);
  }
}

TEST_F(TierTest, FlippedBitsAreReadFromTheStore) {
  MakeShards([](uint64_t) { return 5000; });
  MakeTier(uint64_t{1} << 30, folder_);
  RunEpoch(0);
  RunEpoch(1, [] {
    const int fd = OpenFileOfTier();
    ASSERT_GE(fd, 0);
    for (int i = 0; i < 7; ++i) {
      // Every place is of two blocks.
      const off_t at = i * 11 * 2 * 4096 + 777;
      char byte;
      ASSERT_EQ(pread(fd, &byte, 1, at), 1);
      byte ^= 4;
      ASSERT_EQ(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
  });
  EXPECT_EQ(store_reads_, 7u);
  EXPECT_EQ(tier_->counters().failed, 7u);
  RunEpoch(2);  // written anew
  EXPECT_EQ(store_reads_, 0u);
  EXPECT_EQ(tier_->counters().off, "");
}

TEST_F(TierTest, ReadsThatFailEndIt) {
  MakeShards([](uint64_t) { return 5000; });
  MakeTier(uint64_t{1} << 30, folder_);
  RunEpoch(0);
  RunEpoch(1, [] {
    const int fd = OpenFileOfTier();
    ASSERT_EQ(ftruncate(fd, 0), 0);
    close(fd);
  });
  EXPECT_GE(store_reads_, 100u);
  EXPECT_EQ(warnings_, 1);
  EXPECT_NE(warning_.find("cannot read"), std::string::npos) << warning_;
  EXPECT_EQ(tier_->counters().off, warning_);
  RunEpoch(2);
  EXPECT_EQ(store_reads_, 120u);
  EXPECT_EQ(warnings_, 1);
}

// Files cannot grow, and nothing be written behind `bytes` of one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST_F(TierTest, WritesThatFailEndIt) {
  MakeShards([](uint64_t) { return 5000; });
  MakeTier(uint64_t{1} << 30, folder_);
  {
    const FileSizeLimit limit(40 * 4096);
    RunEpoch(0);
    RunEpoch(1);
  }
  EXPECT_EQ(store_reads_, 120u);
  EXPECT_EQ(warnings_, 1);
  EXPECT_NE(warning_.find("cannot write"), std::string::npos) << warning_;
}

TEST_F(TierTest, WithoutSpaceThereIsNone) {
  MakeShards([](uint64_t) { return 5000; });
  {
    const FileSizeLimit limit(40 * 4096);
    MakeTier(uint64_t{1} << 30, folder_);
  }
  EXPECT_EQ(warnings_, 1);
  EXPECT_NE(warning_.find("cannot take 983040 bytes"), std::string::npos)
      << warning_;
  RunEpoch(0);
  RunEpoch(1);
  EXPECT_EQ(store_reads_, 120u);
}

TEST_F(TierTest, WithoutFolderThereIsNone) {
  MakeShards([](uint64_t) { return 5000; });
  MakeTier(uint64_t{1} << 30, folder_ + "/none");
  EXPECT_EQ(warnings_, 1);
  RunEpoch(0);
  EXPECT_EQ(store_reads_, 120u);
}

TEST_F(TierTest, AForkedChildHasNone) {
  MakeShards([](uint64_t) { return 5000; });
  MakeTier(uint64_t{1} << 30, folder_);
  RunEpoch(0);
  // Then its thread waits, and has no lock.
  ASSERT_TRUE(tier_->Begin({spec_, 1, held_, 0, UINT64_MAX, spec_}).ok());
  const pid_t child = fork();
  if (child == 0) {
    const Status begun = tier_->Begin({spec_, 1, held_, 0, UINT64_MAX, spec_});
    const bool none = begun.ok() && tier_->Find(0, 7) == nullptr;
    _exit(none && warnings_ == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  RunEpoch(1);
  EXPECT_EQ(store_reads_, 0u);
}

TEST_F(TierTest, APlaceStaysWhileItIsRead) {
  std::shared_ptr<TierFile> file;
  ASSERT_TRUE(TierFile::Create(folder_, 3, &file).ok());
  auto first = file->Reserve(4096), second = file->Reserve(4096),
       third = file->Reserve(4096);
  EXPECT_EQ(file->Reserve(1), nullptr);
  second.reset();
  first.reset();
  third.reset();
  first = file->Reserve(4096);
  second = file->Reserve(4096);
  third = file->Reserve(4096);
  first.reset();
  third.reset();
  // In two pieces.
  const auto scattered = file->Reserve(2 * 4096);
  ASSERT_NE(scattered, nullptr);
  EXPECT_EQ(scattered->fd(), -1);
  Buffer out, in;
  ASSERT_TRUE(Reserve(2 * 4096, &out) && Reserve(2 * 4096, &in));
  for (int i = 0; i < 2 * 4096; ++i)
    out.data()[i] = static_cast<uint8_t>(i / 61);
  ASSERT_TRUE(scattered->Write(ByteSpan(out.data(), 2 * 4096)).ok());
  ReadCount count;
  ASSERT_TRUE(
      scattered->ReadInto(scattered->begin(), {{in.data(), 2 * 4096}}, &count)
          .ok());
  EXPECT_EQ(count.bytes, 2u * 4096);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), 2 * 4096), 0);
}

}  // namespace
}  // namespace liquid::tier_test
