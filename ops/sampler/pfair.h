// Pfair scheduling: shares of whole things that are fair at every moment.
//
// Task i is to run in work[i] of `slots` slots, and in every slot the same
// number of tasks runs. A Pfair schedule (Baruah et al., Algorithmica 1996) is
// one in which after t slots every task has run floor or ceiling of
// t * work[i] / slots times. Rounding each slot by itself cannot do that: the
// number that runs has to come out right as well.
//
// PD2 (Anderson and Srinivasan, "Mixed Pfair/ERfair scheduling of asynchronous
// periodic tasks", JCSS 2004) finds it greedily. The i-th run of a task of
// weight w = work / slots must fall in its window [floor((i-1)/w), ceil(i/w));
// of the tasks whose window has begun, those run that have
//   1. the earliest deadline ceil(i/w);
//   2. then a window that overlaps the next one of the task (i/w no integer):
//      running late would shorten that one;
//   3. then, for w >= 1/2, the later group deadline: the end of the chain of
//      windows of two slots that running late would push on.
// Window ends are multiples of slots/work, kept as quotient and remainder:
// exact for any size, without a division per slot.
#ifndef LIQUID_OPS_SAMPLER_PFAIR_H_
#define LIQUID_OPS_SAMPLER_PFAIR_H_

#include <cstdint>
#include <vector>

namespace liquid {

// Thread-compatible.
class PfairSchedule {
 public:
  // Requires work[i] < slots for every task, and a sum of work that is a
  // multiple of `slots`. O(tasks).
  PfairSchedule(const std::vector<uint64_t>& work, uint64_t slots);

  // Sets `running` to the tasks of the next slot, in no particular order.
  // Requires that fewer than `slots` slots have been asked for. O(tasks).
  void Next(std::vector<uint32_t>* running);

 private:
  // Goes through the multiples i * slots / work, i = 0, 1, ...
  struct Multiples {
    Multiples(uint64_t slots, uint64_t work)
        : whole(slots / work), part(slots % work), work(work) {}
    void Step() {
      floor += whole;
      remainder += part;
      if (remainder >= work) {
        remainder -= work;
        ++floor;
      }
    }
    bool integer() const { return remainder == 0; }
    uint64_t ceiling() const { return floor + (remainder > 0); }

    uint64_t whole, part, work;
    uint64_t floor = 0, remainder = 0;
  };

  struct Task {
    Task(uint32_t index, uint64_t work, uint64_t slots);
    void Step();
    bool operator<(const Task& other) const;

    uint32_t index;
    bool heavy;            // weight of 1/2 or more
    uint64_t release = 0;  // of the run that is due next
    uint64_t deadline = 0;
    bool overlaps = false;
    uint64_t group_deadline = 0;
    Multiples runs;
    // The slots in which a heavy task rests are those of a task of weight
    // 1 - w; its deadlines are the group deadlines of the heavy one.
    Multiples rests;
  };

  std::vector<Task> tasks_;  // those with work
  std::vector<Task*> due_;   // scratch
  uint64_t slot_ = 0;
  uint64_t running_per_slot_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_PFAIR_H_
