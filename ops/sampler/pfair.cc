#include "ops/sampler/pfair.h"

#include <algorithm>

namespace liquid {

PfairSchedule::Task::Task(uint32_t index, uint64_t work, uint64_t slots)
    : index(index),
      heavy(work >= slots - work),
      runs(slots, work),
      rests(slots, slots - work) {
  Step();
}

void PfairSchedule::Task::Step() {
  release = runs.floor;
  runs.Step();
  deadline = runs.ceiling();
  overlaps = !runs.integer();
  if (!heavy) return;
  while (rests.ceiling() < deadline) rests.Step();
  group_deadline = rests.ceiling();
}

bool PfairSchedule::Task::operator<(const Task& other) const {
  if (deadline != other.deadline) return deadline < other.deadline;
  if (overlaps != other.overlaps) return overlaps;
  if (group_deadline != other.group_deadline) {
    return group_deadline > other.group_deadline;
  }
  return index < other.index;
}

PfairSchedule::PfairSchedule(const std::vector<uint64_t>& work,
                             uint64_t slots) {
  // In whole slots and a rest: the sum of all work may not fit 64 bits.
  uint64_t rest = 0;
  for (uint32_t i = 0; i < work.size(); ++i) {
    if (work[i] == 0) continue;
    tasks_.emplace_back(i, work[i], slots);
    if (rest >= slots - work[i]) {
      rest -= slots - work[i];
      ++running_per_slot_;
    } else {
      rest += work[i];
    }
  }
  due_.reserve(tasks_.size());
}

void PfairSchedule::Next(std::vector<uint32_t>* running) {
  running->clear();
  due_.clear();
  for (Task& task : tasks_) {
    if (task.release <= slot_) due_.push_back(&task);
  }
  ++slot_;
  // PD2 leaves no slot idle; the bound only keeps misuse inside the vector.
  const size_t count = std::min<uint64_t>(running_per_slot_, due_.size());
  std::nth_element(due_.begin(), due_.begin() + count, due_.end(),
                   [](const Task* a, const Task* b) { return *a < *b; });
  for (size_t i = 0; i < count; ++i) {
    running->push_back(due_[i]->index);
    due_[i]->Step();
  }
}

}  // namespace liquid
