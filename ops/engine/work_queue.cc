#include "ops/engine/work_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace liquid {
namespace {

// A worker gives its thread back after so many claims and asks for another:
// the pool serves others too, which should not wait for the end of an epoch.
constexpr int kClaimsInTurn = 64;

}  // namespace

void WorkQueue::Add(Job job, const Runner& runner, bool first) {
  auto state = std::make_shared<State>();
  state->job = std::move(job);
  const std::vector<uint64_t>& costs = state->job.costs;
  state->order.resize(costs.size());
  std::iota(state->order.begin(), state->order.end(), 0);
  if (!std::is_sorted(costs.rbegin(), costs.rend())) {
    std::stable_sort(
        state->order.begin(), state->order.end(),
        [&costs](uint32_t a, uint32_t b) { return costs[a] > costs[b]; });
  }
  if (costs.empty()) {
    state->job.done();
    return;
  }
  const uint64_t total =
      std::accumulate(costs.begin(), costs.end(), uint64_t{});
  const uint64_t claims =
      std::min<uint64_t>(costs.size(), 1 + total / claim_cost_);
  int started = 0;
  {
    std::lock_guard<std::mutex> lock(mu_);
    jobs_.insert(first ? jobs_.begin() : jobs_.end(), std::move(state));
    const int room = std::max(1, most_workers_()) - workers_;
    started = static_cast<int>(
        std::min<uint64_t>(claims, static_cast<uint64_t>(std::max(0, room))));
    workers_ += started;
  }
  for (int i = 0; i < started; ++i) {
    runner([this, runner]() { Work(runner); });
  }
}

void WorkQueue::Work(const Runner& runner) {
  std::unique_lock<std::mutex> lock(mu_);
  Claim claim;
  for (int i = 0; i < kClaimsInTurn; ++i) {
    // The last worker stays, whatever the limit has become.
    const bool too_many = workers_ > std::max(1, most_workers_());
    if (too_many || !Take(&claim)) {
      if (--workers_ == 0) idle_.NotifyAll();
      return;
    }
    lock.unlock();
    claim.state->job.work(&claim.state->order[claim.begin],
                          claim.end - claim.begin);
    lock.lock();
    const bool done = Finish(claim);
    if (!done) continue;
    lock.unlock();
    claim.state->job.done();
    claim.state.reset();
    lock.lock();
  }
  lock.unlock();
  runner([this, runner]() { Work(runner); });
}

bool WorkQueue::Take(Claim* claim) {
  if (jobs_.empty()) return false;
  State& state = *jobs_.front();
  claim->state = jobs_.front();
  claim->begin = state.next;
  uint64_t cost = 0;
  do {
    cost += state.job.costs[state.order[state.next++]];
  } while (state.next < state.order.size() && cost < claim_cost_);
  claim->end = state.next;
  if (state.next == state.order.size()) jobs_.pop_front();
  return true;
}

bool WorkQueue::Finish(const Claim& claim) {
  claim.state->finished += claim.end - claim.begin;
  return claim.state->finished == claim.state->order.size();
}

void WorkQueue::Cancel() {
  std::lock_guard<std::mutex> lock(mu_);
  jobs_.clear();
}

void WorkQueue::Drain() {
  std::unique_lock<std::mutex> lock(mu_);
  idle_.Wait(lock, [this]() { return workers_ == 0; });
}

}  // namespace liquid
