// One format's records in memory while an epoch is planned.
#ifndef LIQUID_OPS_SAMPLER_REGION_H_
#define LIQUID_OPS_SAMPLER_REGION_H_

#include <cstdint>
#include <vector>

#include "ops/core/rng.h"
#include "ops/sampler/load_order.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

namespace liquid {

// The region of planner.h. A record is *taken* out of it, and has a *turn*, at
// which its place is free unless it is kept. Where a record is one sample both
// happen at its draw; records of many samples are taken before their turn.
//
// Thread-compatible. Everything is O(1) amortised per record of the format.
class Region {
 public:
  struct Size {
    uint64_t share = 0;  // records of the format in a batch, rounded up
    uint64_t fill = 0;   // FormatSpec::fill, in records
    uint64_t ahead = 0;  // records taken before their turn, at most
  };
  struct Taken {
    uint64_t record;
    int64_t load;  // as in Draw
  };

  // `held` must outlive it.
  Region(const PlanSpec& spec, uint32_t format, int64_t epoch, const Size& size,
         const SampleSet& held);

  uint64_t loads() const { return loads_; }

  // A random member, or the next one in stored order with shuffle off. Requires
  // that fewer than all records were taken.
  Taken Take() {
    if (!shuffle_) {
      const uint64_t record = next_stored_++;
      return {record, record < held_count_
                          ? Draw::kHeld
                          : static_cast<int64_t>(record - held_count_)};
    }
    // Loads follow the turns of records of mean size; a record that is taken
    // before its turn may find none left.
    if (members_.empty()) Load();
    Member& member = members_[random_.Below(members_.size())];
    const Taken taken = {member.record, member.load == Member::kHeld
                                            ? Draw::kHeld
                                            : int64_t{member.load}};
    member = members_.back();
    members_.pop_back();
    return taken;
  }

  void Turn(bool keep) {
    if (undrawn_ == 0) Load();
    --undrawn_;
    kept_count_ += keep;
    for (int i = 0; i < 2; ++i) {
      if (undrawn_ + kept_count_ < capacity_ && loads_ < on_disk_) Load();
    }
  }

 private:
  struct Member {
    static constexpr uint32_t kHeld = 0xFFFFFFFF;
    uint32_t record;
    uint32_t load;  // which load brought it, or kHeld
  };

  void Load() {
    if (shuffle_) {
      uint64_t record = 0;
      order_.Next(&record);
      members_.push_back(
          {static_cast<uint32_t>(record), static_cast<uint32_t>(loads_)});
    }
    ++loads_;
    ++undrawn_;
  }

  bool shuffle_;
  RandomStream random_;
  LoadOrder order_;
  std::vector<Member> members_;  // not taken, in memory; empty without shuffle
  uint64_t held_count_ = 0;      // when the epoch began
  uint64_t on_disk_ = 0;         // records that were not held then
  uint64_t capacity_ = 0;        // undrawn and kept together
  uint64_t undrawn_ = 0;         // in memory, their turn still to come
  uint64_t kept_count_ = 0;
  uint64_t loads_ = 0;
  uint64_t next_stored_ = 0;  // next record without shuffle
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_REGION_H_
