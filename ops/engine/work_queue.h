// The decoding of several batches, shared by one set of workers.
#ifndef LIQUID_OPS_ENGINE_WORK_QUEUE_H_
#define LIQUID_OPS_ENGINE_WORK_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/core/condition.h"

namespace liquid {

// Jobs are worked on in the order in which they are added, and a worker that
// finds nothing left in one goes on with the next. Inside a job the dearest
// items come first, so that no worker begins a large one when the others have
// finished.
//
// Thread-safe. The queue must outlive its workers: Drain waits for them.
class WorkQueue {
 public:
  // Runs a function on some thread, now or later.
  using Runner = std::function<void(std::function<void()>)>;

  struct Job {
    // Of each item, how long it may take, in units of its own.
    std::vector<uint64_t> costs;
    // Called with distinct items, from several threads at once, until each was
    // given once.
    std::function<void(const uint32_t* items, size_t count)> work;
    // Called once, when work has returned for every item.
    std::function<void()> done;
  };

  // `most_workers` is asked whenever a worker is about to begin or go on.
  // Cheap items are given out together, until they cost `claim_cost`.
  WorkQueue(std::function<int()> most_workers, uint64_t claim_cost)
      : most_workers_(std::move(most_workers)), claim_cost_(claim_cost) {}

  // Adds a job and starts workers on `runner`. `first`: before all others,
  // behind which it would wait. O(items * log items).
  void Add(Job job, const Runner& runner, bool first = false);
  // Leaves the items that no worker has yet; their jobs are never done.
  void Cancel();
  // Waits until no worker is left.
  void Drain();

 private:
  struct State {
    Job job;
    std::vector<uint32_t> order;  // items, dearest first
    size_t next = 0;              // first of `order` that no worker has
    size_t finished = 0;
  };
  struct Claim {
    std::shared_ptr<State> state;
    size_t begin = 0;
    size_t end = 0;
  };

  void Work(const Runner& runner);
  // Require mu_. Whether there was something; whether the job is done by now.
  bool Take(Claim* claim);
  static bool Finish(const Claim& claim);

  const std::function<int()> most_workers_;
  const uint64_t claim_cost_;

  std::mutex mu_;
  Condition idle_;
  // All below guarded by mu_.
  std::deque<std::shared_ptr<State>> jobs_;  // with items that no worker has
  int workers_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_WORK_QUEUE_H_
