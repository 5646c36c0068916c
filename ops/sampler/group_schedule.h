// How many draws each group of samples has in each epoch.
//
// A group's share of an epoch is a fraction of it. Every epoch gives each group
// the floor or the ceiling of its share, and all epochs so far together the
// floor or the ceiling of the sum of its shares; every epoch has all of its
// draws. Rounding the epochs by themselves would let sums drift, and rounding
// the sums would let an epoch be off by two.
//
// What is left after the floors is a Pfair schedule: groups are tasks whose
// fractional parts are their rates, an epoch is a slot, and the sum of the
// fractional parts is the number of processors, all of them always busy. PD2
// (Anderson and Srinivasan, "Mixed Pfair/ERfair scheduling of asynchronous
// periodic tasks", JCSS 68(1), 2004) meets every deadline of such a schedule:
// it takes the draw whose deadline is next; of equal ones that which overlaps
// with its successor; of these that whose chain of such draws is longest.
#ifndef LIQUID_OPS_SAMPLER_GROUP_SCHEDULE_H_
#define LIQUID_OPS_SAMPLER_GROUP_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace liquid {

// Thread-compatible. Integers only: the same everywhere.
class GroupSchedule {
 public:
  // Group g has shares[g] of the sum of shares in an epoch of `draws`. `order`:
  // all groups, those in front first where deadlines leave a choice. Requires
  // a sum of shares in [1, 2^63) and draws below 2^48.
  GroupSchedule(uint64_t draws, const std::vector<uint64_t>& shares,
                const std::vector<uint32_t>& order);

  // The next epoch; its number is that of the calls of Advance so far.
  int64_t epoch() const { return epoch_; }
  // Draws of each group in the epochs before it.
  const std::vector<uint64_t>& before() const { return before_; }
  // Goes on to the epoch after it. O(groups).
  void Advance();

 private:
  // A group whose share is no whole number, and its next draw beside the whole
  // ones.
  struct Task {
    uint32_t group;
    uint64_t part;      // of `total_`: the rate
    uint64_t made = 0;  // draws so far
    uint64_t release = 0, deadline = 0;
    bool overlaps = false;
    uint64_t chain_end = 0;
  };
  void SetNext(Task* task) const;

  uint64_t total_ = 0;  // of the shares
  uint64_t rate_ = 0;   // draws of all tasks in an epoch
  int64_t epoch_ = 0;
  std::vector<uint64_t> whole_;  // in every epoch
  std::vector<uint64_t> before_;
  std::vector<Task> tasks_;
  std::vector<uint32_t> ready_;  // scratch
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_GROUP_SCHEDULE_H_
