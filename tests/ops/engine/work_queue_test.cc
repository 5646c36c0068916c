#include "ops/engine/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace liquid::work_queue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Keeps what it is asked to run until the test runs it.
class Shelf {
 public:
  WorkQueue::Runner runner() {
    return [this](std::function<void()> work) {
      std::lock_guard<std::mutex> lock(mu_);
      works_.push_back(std::move(work));
    };
  }
  size_t size() {
    std::lock_guard<std::mutex> lock(mu_);
    return works_.size();
  }
  // Runs the oldest, on this thread.
  void RunOne() {
    std::function<void()> work;
    {
      std::lock_guard<std::mutex> lock(mu_);
      work = std::move(works_.front());
      works_.erase(works_.begin());
    }
    work();
  }
  void RunAll() {
    while (size() > 0) RunOne();
  }

 private:
  std::mutex mu_;
  std::vector<std::function<void()>> works_;
};

// What became of a job.
struct Log {
  std::mutex mu;
  std::vector<std::vector<uint32_t>> claims;
  int done = 0;

  WorkQueue::Job Job(std::vector<uint64_t> costs) {
    WorkQueue::Job job;
    job.costs = std::move(costs);
    job.work = [this](const uint32_t* items, size_t count) {
      std::lock_guard<std::mutex> lock(mu);
      claims.emplace_back(items, items + count);
    };
    job.done = [this]() {
      std::lock_guard<std::mutex> lock(mu);
      ++done;
    };
    return job;
  }
};

TEST(WorkQueueTest, TheDearestItemsComeFirstAndCheapOnesTogether) {
  Shelf shelf;
  Log log;
  WorkQueue queue([]() { return 1; }, 100);
  queue.Add(log.Job({10, 300, 50, 60, 10, 200}), shelf.runner());
  EXPECT_EQ(log.done, 0);
  shelf.RunAll();
  EXPECT_THAT(log.claims, ElementsAre(ElementsAre(1), ElementsAre(5),
                                      ElementsAre(3, 2), ElementsAre(0, 4)));
  EXPECT_EQ(log.done, 1);
  queue.Drain();
}

TEST(WorkQueueTest, EqualItemsKeepTheirOrder) {
  Shelf shelf;
  Log log;
  WorkQueue queue([]() { return 4; }, 2);
  queue.Add(log.Job({1, 1, 1, 1, 1}), shelf.runner());
  shelf.RunAll();
  EXPECT_THAT(log.claims, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3),
                                      ElementsAre(4)));
}

TEST(WorkQueueTest, NoMoreWorkersThanAllowedNorThanThereIsWorkFor) {
  Shelf shelf;
  Log log;
  int most = 3;
  WorkQueue queue([&most]() { return most; }, 1);
  queue.Add(log.Job({5, 5}), shelf.runner());
  EXPECT_EQ(shelf.size(), 2u);
  queue.Add(log.Job({5, 5, 5, 5}), shelf.runner());
  EXPECT_EQ(shelf.size(), 3u);
  most = 1;  // two of the workers find out and leave
  shelf.RunOne();
  shelf.RunOne();
  EXPECT_THAT(log.claims, SizeIs(0));
  shelf.RunOne();
  EXPECT_THAT(log.claims, SizeIs(6));
  EXPECT_EQ(log.done, 2);
}

TEST(WorkQueueTest, AWorkerGoesOnWithTheNextJob) {
  Shelf shelf;
  Log first, second;
  WorkQueue queue([]() { return 1; }, 1);
  queue.Add(first.Job({1, 1}), shelf.runner());
  queue.Add(second.Job({1, 1}), shelf.runner());
  EXPECT_EQ(shelf.size(), 1u);
  shelf.RunOne();
  EXPECT_EQ(first.done, 1);
  EXPECT_EQ(second.done, 1);
  EXPECT_EQ(shelf.size(), 0u);
}

TEST(WorkQueueTest, AJobMayGoBeforeAllOthers) {
  Shelf shelf;
  Log first, second, third;
  WorkQueue queue([]() { return 1; }, 1);
  queue.Add(first.Job({1, 1}), shelf.runner());
  queue.Add(second.Job({1, 1}), shelf.runner());
  const WorkQueue::Runner runner = shelf.runner();
  WorkQueue::Job job = third.Job({1});
  job.done = [&]() {
    ++third.done;
    EXPECT_EQ(first.done + second.done, 0);
  };
  queue.Add(std::move(job), runner, /*first=*/true);
  shelf.RunAll();
  EXPECT_EQ(first.done + second.done + third.done, 3);
}

TEST(WorkQueueTest, AWorkerGivesItsThreadBackNowAndThen) {
  Shelf shelf;
  Log log;
  WorkQueue queue([]() { return 1; }, 1);
  queue.Add(log.Job(std::vector<uint64_t>(1000, 1)), shelf.runner());
  shelf.RunOne();
  EXPECT_EQ(log.done, 0);
  EXPECT_EQ(shelf.size(), 1u);
  shelf.RunAll();
  EXPECT_THAT(log.claims, SizeIs(1000));
  EXPECT_EQ(log.done, 1);
}

TEST(WorkQueueTest, AJobWithoutItemsIsDone) {
  Shelf shelf;
  Log log;
  WorkQueue queue([]() { return 1; }, 1);
  queue.Add(log.Job({}), shelf.runner());
  EXPECT_EQ(log.done, 1);
  EXPECT_EQ(shelf.size(), 0u);
}

TEST(WorkQueueTest, CancelLeavesTheRest) {
  Shelf shelf;
  Log log;
  WorkQueue queue([]() { return 1; }, 1);
  queue.Add(log.Job({1, 1, 1}), shelf.runner());
  queue.Cancel();
  shelf.RunAll();
  EXPECT_THAT(log.claims, SizeIs(0));
  EXPECT_EQ(log.done, 0);
  queue.Drain();
}

TEST(WorkQueueTest, EveryItemOnceOnManyThreads) {
  constexpr int kJobs = 200;
  constexpr int kItems = 50;
  std::mutex mu;
  std::vector<std::thread> threads;
  const WorkQueue::Runner runner = [&](std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mu);
    threads.emplace_back(std::move(work));
  };
  std::vector<std::atomic<int>> given(kJobs * kItems);
  std::atomic<int> done{0};
  {
    WorkQueue queue([]() { return 4; }, 7);
    for (int j = 0; j < kJobs; ++j) {
      WorkQueue::Job job;
      for (int i = 0; i < kItems; ++i) job.costs.push_back(i % 10);
      job.work = [&given, j](const uint32_t* items, size_t count) {
        for (size_t i = 0; i < count; ++i) ++given[j * kItems + items[i]];
      };
      job.done = [&done, &given, j]() {
        for (int i = 0; i < kItems; ++i) EXPECT_EQ(given[j * kItems + i], 1);
        ++done;
      };
      queue.Add(std::move(job), runner);
    }
    queue.Drain();
  }
  EXPECT_EQ(done, kJobs);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace liquid::work_queue_test
