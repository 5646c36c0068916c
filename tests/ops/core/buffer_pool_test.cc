#include "ops/core/buffer_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "ops/core/block_store.h"

namespace liquid::buffer_pool_test {
namespace {

constexpr uint64_t kAll = uint64_t{1} << 40;

TEST(BufferPoolTest, BlocksHoldWhatIsAskedAndLittleMore) {
  size_t last = 0;
  for (size_t size = 1; size < size_t{1} << 40; size += size / 19 + 1) {
    const size_t capacity = BlockSize::For(size);
    ASSERT_GE(capacity, size);
    ASSERT_GE(capacity, last);
    ASSERT_LT(capacity - size, std::max<size_t>(size / 16 + 1, 64));
    ASSERT_EQ(capacity % (size >= BlockSize::kPageAligned ? 4096 : 64), 0u);
    ASSERT_EQ(BlockSize::For(capacity), capacity);
    last = capacity;
  }
}

TEST(BufferPoolTest, MemoryIsAlignedAndOnesOwn) {
  BufferPool pool;
  const BufferPool::Allowance all = pool.Allow(kAll);
  std::vector<Buffer> buffers;
  std::mt19937 random(1);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 200; ++i) {
      const size_t size = 1 + (random() % (size_t{1} << (1 + random() % 22)));
      buffers.push_back(pool.Acquire(size));
      ASSERT_TRUE(buffers.back());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back().data()) %
                    (size >= BlockSize::kPageAligned ? 4096 : 64),
                0u);
      std::memset(buffers.back().data(), i, buffers.back().capacity());
    }
    for (int i = 0; i < 200; ++i) {
      const Buffer& buffer = buffers[i];
      EXPECT_EQ(buffer.data()[0], i);
      EXPECT_EQ(buffer.data()[buffer.capacity() - 1], i);
    }
    buffers.clear();
  }
  const BufferPool::Counters counters = pool.counters();
  EXPECT_EQ(counters.used_bytes, 0u);
  EXPECT_GT(counters.reused, 0u);
  EXPECT_EQ(counters.fresh + counters.reused, 600u);
}

// So that they are what a disk reads into at one go, and costs few page faults.
TEST(BufferPoolTest, LargeBlocksBeginAtAHugePage) {
  BufferPool pool;
  std::vector<Buffer> buffers;
  for (const size_t size : {2u << 20, 3u << 20, 8u << 20, 1u << 20, 4u << 20,
                            5u << 19, 25u << 20}) {
    for (int i = 0; i < 5; ++i) {
      buffers.push_back(pool.Acquire(size));
      ASSERT_TRUE(buffers.back());
      std::memset(buffers.back().data(), i, size);
      if (size < 2 << 20) continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back().data()) % (2 << 20),
                0u);
    }
  }
}

TEST(BufferPoolTest, AnEqualBlockIsUsedAgain) {
  BufferPool pool;
  const BufferPool::Allowance all = pool.Allow(kAll);
  for (const size_t size : {10u, 5000u, 3000000u}) {
    Buffer first = pool.Acquire(size);
    const uint8_t* const data = first.data();
    first.Reset();
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(pool.Acquire(size - 1).data(), data);
    EXPECT_NE(pool.Acquire(20 * size).data(), data);
  }
}

TEST(BufferPoolTest, ABlockThatIsUsedAgainCostsNoPageFaults) {
  const auto faults = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  BufferPool pool;
  const BufferPool::Allowance all = pool.Allow(kAll);
  constexpr size_t kSize = 3 << 20;
  const auto touch = [&pool] {
    Buffer buffer = pool.Acquire(kSize);
    for (size_t i = 0; i < kSize; i += 4096) buffer.data()[i] = 1;
  };
  touch();
  const long before = faults();
  for (int i = 0; i < 100; ++i) touch();
  // Fresh, they would be 76,800.
  EXPECT_LT(faults() - before, 7680);
}

TEST(BufferPoolTest, MovingMovesTheBlock) {
  BufferPool pool;
  const BufferPool::Allowance all = pool.Allow(kAll);
  Buffer a = pool.Acquire(100);
  uint8_t* const data = a.data();
  Buffer b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(b.data(), data);
  Buffer c = pool.Acquire(100);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(pool.counters().used_bytes, 128u);
  EXPECT_EQ(pool.counters().retained_bytes, 128u);
}

TEST(BufferPoolTest, WhatIsKeptIsBoundedAndTheOldestGoes) {
  BufferPool pool;
  const BufferPool::Allowance some = pool.Allow(10000);
  const uint8_t* const recent = [&] {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 20; ++i) buffers.push_back(pool.Acquire(1024));
    EXPECT_EQ(pool.counters().used_bytes, 20480u);
    EXPECT_EQ(pool.counters().retained_bytes, 0u);
    const uint8_t* last = buffers.back().data();
    buffers.clear();
    return last;
  }();
  EXPECT_EQ(pool.counters().retained_bytes, 9 * 1024u);
  EXPECT_EQ(pool.Acquire(1024).data(), recent);
  // Blocks of another size push out those that nobody asks for.
  for (int i = 0; i < 3; ++i) {
    Buffer a = pool.Acquire(2048), b = pool.Acquire(2048),
           c = pool.Acquire(2048), d = pool.Acquire(2048);
  }
  EXPECT_EQ(pool.counters().retained_bytes, 4 * 2048u + 1024u);
  EXPECT_EQ(pool.counters().fresh, 24u);
}

TEST(BufferPoolTest, OnlyWhatIsAllowedIsKept) {
  BufferPool pool;
  pool.Acquire(1024).Reset();
  EXPECT_EQ(pool.counters().retained_bytes, 0u);
  BufferPool::Allowance first = pool.Allow(3000);
  {
    const BufferPool::Allowance second = pool.Allow(2000);
    EXPECT_EQ(pool.counters().allowed_bytes, 5000u);
    std::vector<Buffer> used;
    for (int i = 0; i < 6; ++i) used.push_back(pool.Acquire(1024));
    used.clear();
    EXPECT_EQ(pool.counters().retained_bytes, 4 * 1024u);
    // It pushes nothing out in vain.
    pool.Acquire(8192).Reset();
    EXPECT_EQ(pool.counters().retained_bytes, 4 * 1024u);
  }
  EXPECT_EQ(pool.counters().retained_bytes, 2 * 1024u);
  BufferPool::Allowance moved = std::move(first);
  EXPECT_EQ(pool.counters().allowed_bytes, 3000u);
  moved = BufferPool::Allowance();
  EXPECT_EQ(pool.counters().allowed_bytes, 0u);
  EXPECT_EQ(pool.counters().retained_bytes, 0u);
}

uint64_t Resident() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size, resident;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(getpagesize());
}

// Every other one, so that what lies between two of them is no hole at an end.
TEST(BufferPoolTest, WhatIsNotKeptLeavesTheProcess) {
  BufferPool pool;
  for (const size_t size :
       {64u << 10, 300u << 10, 2u << 20, 3u << 20, 4u << 20}) {
    std::vector<Buffer> buffers;
    constexpr uint64_t kTotal = 64 << 20;
    const uint64_t before = Resident();
    for (uint64_t bytes = 0; bytes < kTotal; bytes += size) {
      buffers.push_back(pool.Acquire(size));
      std::memset(buffers.back().data(), 1, size);
    }
    const uint64_t full = Resident();
    EXPECT_GE(full, before + kTotal * 9 / 10);
    for (size_t i = 0; i < buffers.size(); i += 2) buffers[i].Reset();
    EXPECT_LE(Resident(), full - kTotal * 4 / 10) << size;
    // What comes back is as if new.
    for (size_t i = 0; i + 1 < buffers.size(); i += 2) {
      buffers[i] = pool.Acquire(size);
      EXPECT_EQ(buffers[i].data()[size / 2], 0);
      EXPECT_EQ(buffers[i + 1].data()[size / 2], 1);
    }
  }
}

TEST(BufferPoolTest, SaysThatThereIsNoMemory) {
  BufferPool pool;
  const BufferPool::Allowance all = pool.Allow(kAll);
  EXPECT_FALSE(pool.Acquire(0));
  EXPECT_FALSE(pool.Acquire(~size_t{0}));
  EXPECT_EQ(BlockSize::For(~size_t{0}), 0u);
  EXPECT_EQ(pool.counters().used_bytes, 0u);
}

TEST(BufferPoolTest, IsUsedByManyThreads) {
  BufferPool pool;
  const BufferPool::Allowance some = pool.Allow(1 << 20);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&pool, &wrong, t] {
      std::mt19937 random(t);
      std::vector<Buffer> mine(16);
      for (int i = 0; i < 2000; ++i) {
        Buffer& buffer = mine[random() % mine.size()];
        if (buffer) wrong[t] += buffer.data()[0] != t;
        buffer = pool.Acquire(1 + random() % 100000);
        buffer.data()[0] = static_cast<uint8_t>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
  EXPECT_EQ(pool.counters().used_bytes, 0u);
  EXPECT_LE(pool.counters().retained_bytes, uint64_t{1} << 20);
}

TEST(BufferPoolTest, TheProcessHasOne) {
  EXPECT_EQ(&BufferPool::Process(), &BufferPool::Process());
  EXPECT_TRUE(BufferPool::Process().Acquire(1));
}

}  // namespace
}  // namespace liquid::buffer_pool_test
