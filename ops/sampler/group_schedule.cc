#include "ops/sampler/group_schedule.h"

#include <algorithm>

namespace liquid {
namespace {

using Wide = unsigned __int128;

uint64_t Floor(Wide a, uint64_t b, uint64_t c) {
  return static_cast<uint64_t>(a * b / c);
}

uint64_t Ceil(Wide a, uint64_t b, uint64_t c) {
  return static_cast<uint64_t>((a * b + c - 1) / c);
}

}  // namespace

GroupSchedule::GroupSchedule(uint64_t draws,
                             const std::vector<uint64_t>& shares,
                             const std::vector<uint32_t>& order)
    : whole_(shares.size()), before_(shares.size()) {
  for (const uint64_t share : shares) total_ += share;
  Wide parts = 0;
  for (const uint32_t g : order) {
    const Wide exact = static_cast<Wide>(draws) * shares[g];
    whole_[g] = static_cast<uint64_t>(exact / total_);
    const auto part = static_cast<uint64_t>(exact % total_);
    if (part == 0) continue;
    Task task;
    task.group = g;
    task.part = part;
    SetNext(&task);
    tasks_.push_back(task);
    parts += part;
  }
  rate_ = static_cast<uint64_t>(parts / total_);
}

void GroupSchedule::SetNext(Task* task) const {
  const uint64_t number = task->made + 1;
  task->release = Floor(task->made, total_, task->part);
  task->deadline = Ceil(number, total_, task->part);
  task->overlaps = static_cast<Wide>(number) * total_ % task->part != 0;
  task->chain_end = 0;
  const uint64_t rest = total_ - task->part;
  // Only draws of heavy tasks can force one another.
  if (task->part >= rest) {
    const uint64_t idle = Ceil(task->deadline, rest, total_);
    task->chain_end = Ceil(idle, total_, rest);
  }
}

void GroupSchedule::Advance() {
  ready_.clear();
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].release <= static_cast<uint64_t>(epoch_)) ready_.push_back(i);
  }
  const auto before = [this](uint32_t i, uint32_t j) {
    const Task& a = tasks_[i];
    const Task& b = tasks_[j];
    if (a.deadline != b.deadline) return a.deadline < b.deadline;
    if (a.overlaps != b.overlaps) return a.overlaps;
    if (a.overlaps && a.chain_end != b.chain_end) {
      return a.chain_end > b.chain_end;
    }
    return i < j;
  };
  // At least as many are ready, since no task is ever late.
  if (rate_ < ready_.size()) {
    std::nth_element(ready_.begin(),
                     ready_.begin() + static_cast<std::ptrdiff_t>(rate_),
                     ready_.end(), before);
    ready_.resize(rate_);
  }
  for (size_t g = 0; g < whole_.size(); ++g) before_[g] += whole_[g];
  for (const uint32_t i : ready_) {
    Task& task = tasks_[i];
    ++before_[task.group];
    ++task.made;
    SetNext(&task);
  }
  ++epoch_;
}

}  // namespace liquid
