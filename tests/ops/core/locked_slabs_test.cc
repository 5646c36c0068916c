#include "ops/core/locked_slabs.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "ops/core/block_store.h"
#include "ops/core/buffer_pool.h"

namespace liquid::locked_slabs_test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A driver, with what it has locked. Pages that it was given must be the same
// ones when they are given back.
class FakeLock : public MemoryLock {
 public:
  explicit FakeLock(bool touches = true) : touches_(touches) {}

  bool Lock(uint8_t* data, size_t size) override {
    std::lock_guard<std::mutex> guard(mu_);
    if (locks_left_-- <= 0) return false;
    for (size_t i = 0; touches_ && i < size; i += 4096) data[i] = 0;
    locked_[data] = size;
    return true;
  }
  bool Unlock(uint8_t* data) override {
    std::lock_guard<std::mutex> guard(mu_);
    if (is_lost_) return false;
    const auto found = locked_.find(data);
    EXPECT_TRUE(found != locked_.end());
    std::vector<unsigned char> resident(found->second / 4096);
    EXPECT_EQ(mincore(data, found->second, resident.data()), 0);
    for (const unsigned char page : resident) EXPECT_GE(page & 1, touches_);
    locked_.erase(found);
    return true;
  }

  void set_locks_left(int64_t count) { locks_left_ = count; }
  void set_is_lost(bool is_lost) { is_lost_ = is_lost; }
  size_t locked() const {
    size_t sum = 0;
    for (const auto& [data, size] : locked_) sum += size;
    return sum;
  }
  size_t pieces() const { return locked_.size(); }

 private:
  const bool touches_;
  std::mutex mu_;
  std::map<uint8_t*, size_t> locked_;
  int64_t locks_left_ = INT64_MAX;
  bool is_lost_ = false;
};

TEST(LockedSlabsTest, GrowByWhatThereIs) {
  auto lock = std::make_shared<FakeLock>();
  {
    LockedSlabs slabs;
    EXPECT_EQ(slabs.Allocate(64 << 10), nullptr);
    slabs.LockWith(lock);
    uint8_t* const first = slabs.Allocate(64 << 10);
    ASSERT_NE(first, nullptr);
    EXPECT_TRUE(slabs.Has(first));
    EXPECT_TRUE(slabs.Has(first + (64 << 10) - 1));
    EXPECT_FALSE(slabs.Has(reinterpret_cast<uint8_t*>(&lock)));
    EXPECT_EQ(lock->locked(), LockedSlabs::kSmallest);
    std::vector<uint8_t*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(slabs.Allocate(kMiB));
    EXPECT_GE(lock->locked(), 100 * kMiB);
    EXPECT_LE(lock->locked(), 135 * kMiB);
    EXPECT_LE(lock->pieces(), 12u);
    EXPECT_EQ(slabs.Allocate(LockedSlabs::kLargestBlock + 4096), nullptr);
    for (uint8_t* block : blocks) EXPECT_TRUE(slabs.Free(block, kMiB));
    EXPECT_FALSE(slabs.Free(reinterpret_cast<uint8_t*>(&lock), kMiB));
    // Some is kept, until nothing is to be locked any more.
    EXPECT_GE(lock->locked(), 100 * kMiB);
    slabs.LockWith(nullptr);
    EXPECT_EQ(lock->pieces(), 1u);
    EXPECT_TRUE(slabs.Free(first, 64 << 10));
    EXPECT_EQ(lock->pieces(), 0u);
    slabs.LockWith(lock);
    slabs.Allocate(kMiB);
  }
  EXPECT_EQ(lock->pieces(), 0u);
}

TEST(LockedSlabsTest, FreeNeighboursBecomeOne) {
  auto lock = std::make_shared<FakeLock>();
  LockedSlabs slabs;
  slabs.LockWith(lock);
  std::vector<uint8_t*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(slabs.Allocate(kMiB));
  EXPECT_EQ(lock->pieces(), 1u);
  for (const int i : {3, 1, 2, 5, 4}) slabs.Free(blocks[i], kMiB);
  EXPECT_EQ(slabs.Allocate(5 * kMiB), blocks[1]);
  EXPECT_EQ(lock->pieces(), 1u);
}

// The pages that a device knows: nothing is lost by giving them back, and what
// is in use is what was written.
TEST(LockedSlabsTest, BlocksAreOnesOwn) {
  auto lock = std::make_shared<FakeLock>();
  LockedSlabs slabs;
  slabs.LockWith(lock);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<std::pair<uint8_t*, size_t>> mine(16, {nullptr, 0});
      for (int i = 0; i < 3000; ++i) {
        auto& [data, size] = mine[random() % mine.size()];
        if (data != nullptr) {
          wrong += data[0] != t || data[size - 1] != t;
          slabs.Free(data, size);
        }
        size = 4096 * (16 + random() % 200);
        data = slabs.Allocate(size);
        data[0] = data[size - 1] = static_cast<uint8_t>(t);
      }
      for (const auto& [data, size] : mine) {
        if (data != nullptr) slabs.Free(data, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  slabs.LockWith(nullptr);
  EXPECT_EQ(lock->pieces(), 0u);
}

TEST(LockedSlabsTest, IdleOnesGoFromABoundOn) {
  auto lock = std::make_shared<FakeLock>(/*touches=*/false);
  LockedSlabs slabs;
  slabs.LockWith(lock);
  std::vector<uint8_t*> blocks;
  for (int i = 0; i < 7; ++i) blocks.push_back(slabs.Allocate(64 * kMiB));
  EXPECT_GT(lock->locked(), LockedSlabs::kMostIdle);
  for (uint8_t* block : blocks) slabs.Free(block, 64 * kMiB);
  EXPECT_LE(lock->locked(), LockedSlabs::kMostIdle);
  EXPECT_GT(lock->locked(), 0u);
  // A driver that has lost its device lets nothing go; it is used all the same.
  lock->set_is_lost(true);
  slabs.LockWith(nullptr);
  const size_t kept = lock->locked();
  EXPECT_GT(kept, 0u);
  uint8_t* const data = slabs.Allocate(64 * kMiB);
  ASSERT_NE(data, nullptr);
  data[0] = 1;
  slabs.Free(data, 64 * kMiB);
  lock->set_is_lost(false);
  slabs.LockWith(nullptr);
  EXPECT_EQ(lock->locked(), 0u);
}

TEST(LockedSlabsTest, APoolGoesOnWithoutTheLock) {
  auto lock = std::make_shared<FakeLock>();
  BufferPool pool;
  const BufferPool::Allowance some = pool.Allow(64 * kMiB);
  Buffer before = pool.Acquire(kMiB);
  pool.Acquire(3 * kMiB).Reset();
  EXPECT_EQ(pool.counters().retained_bytes, 3 * kMiB);
  lock->set_locks_left(1);
  pool.LockWith(lock);
  // What a device cannot read is not given out again.
  EXPECT_EQ(pool.counters().retained_bytes, 0u);
  EXPECT_FALSE(pool.IsLocked(before.data()));
  before.Reset();
  EXPECT_EQ(pool.counters().retained_bytes, 0u);
  Buffer locked = pool.Acquire(5 * kMiB);
  EXPECT_TRUE(pool.IsLocked(locked.data()));
  EXPECT_FALSE(pool.IsLocked(pool.Acquire(1000).data()));
  Buffer not_locked = pool.Acquire(5 * kMiB);
  ASSERT_TRUE(not_locked);
  EXPECT_FALSE(pool.IsLocked(not_locked.data()));
  // Now either is as good.
  not_locked.Reset();
  locked.Reset();
  EXPECT_EQ(pool.counters().retained_bytes, 10 * kMiB + 1024);
  EXPECT_TRUE(pool.IsLocked(pool.Acquire(5 * kMiB).data()));
  EXPECT_EQ(lock->pieces(), 1u);
}

}  // namespace
}  // namespace liquid::locked_slabs_test
