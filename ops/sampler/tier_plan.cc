#include "ops/sampler/tier_plan.h"

#include <algorithm>
#include <utility>

#include "ops/sampler/load_order.h"
#include "ops/sampler/mixture.h"
#include "ops/sampler/planner.h"

namespace liquid {
namespace {

Status Check(const PlanSpec& spec, const RecordBlocks& blocks) {
  if (spec.weights != nullptr || spec.policy != CachePolicy::kLiquid) {
    return InvalidArgument(
        "a tier must have the policy liquid, and samples without weights");
  }
  bool fits = blocks.size() == spec.formats.size();
  for (size_t f = 0; fits && f < blocks.size(); ++f) {
    if (!spec.formats[f].record_samples.empty()) {
      return InvalidArgument(
          "a tier must have formats whose records are samples");
    }
    fits = blocks[f].size() == StoredCount(spec.formats[f]);
  }
  if (fits) return OkStatus();
  return InvalidArgument(
      "a tier must have the blocks of each record of each format");
}

// When something happens to each record in what is left of an epoch: before
// which of its draws, counted from 1; 0 for never. Coarser in epochs of more
// than 2^32 draws.
class Times {
 public:
  Times(const PlanSpec& spec, uint64_t draws)
      : unit_(draws / UINT32_MAX + 1),
        end_(static_cast<size_t>(draws / unit_ + 2)) {
    for (const FormatSpec& f : spec.formats) of_.emplace_back(StoredCount(f));
  }
  void Set(uint32_t format, uint64_t record, uint64_t draw) {
    of_[format][record] = static_cast<uint32_t>(draw / unit_ + 1);
  }
  uint32_t Of(uint32_t format, uint64_t record) const {
    return of_[format][record];
  }
  // Behind all of them.
  size_t end() const { return end_; }

 private:
  const uint64_t unit_;
  const size_t end_;
  std::vector<std::vector<uint32_t>> of_;
};

// The loads of an epoch, format by format.
class Loads {
 public:
  explicit Loads(const EpochPlan& plan) : taken_(plan.spec().formats.size()) {
    for (uint32_t f = 0; f < taken_.size(); ++f) {
      orders_.emplace_back(plan.spec(), f, plan.epoch(), &plan.held()[f]);
    }
  }
  // Calls use(record) for those of a format up to number `end`, or to the last.
  template <typename Use>
  void TakeUpTo(uint32_t format, uint64_t end, Use use) {
    uint64_t record;
    while (taken_[format] < end && orders_[format].Next(&record)) {
      ++taken_[format];
      use(record);
    }
  }

 private:
  std::vector<uint64_t> taken_;
  std::vector<LoadOrder> orders_;
};

// Numbers that are spread evenly, whatever those of records are.
uint32_t Spread(uint64_t record) {
  return static_cast<uint32_t>(record) * 2654435761u;
}

// A load of a batch of the next epoch.
struct Candidate {
  uint32_t format;
  uint64_t record;
  uint32_t blocks;
  bool there;
  uint32_t time;  // the later the better
};

class Planning {
 public:
  Planning(const TierEpoch& epoch, const RecordBlocks& blocks, uint64_t room,
           uint64_t waiting, const HeldSets& there, TierPlan* plan)
      : epoch_(epoch),
        blocks_(blocks),
        room_(room),
        most_(room + waiting),
        there_(there),
        formats_(static_cast<uint32_t>(blocks.size())),
        loaded_(*epoch.spec, EpochSize(*epoch.spec)),
        drawn_(*epoch.spec, EpochSize(*epoch.spec)),
        plan_(*plan) {
    for (const SampleSet& set : there) empty_ &= set.count() == 0;
  }

  // Finds the times of what is left of the epoch, and what it keeps.
  Status Follow(HeldSets* kept) {
    std::unique_ptr<EpochPlan> plan;
    LIQUID_RETURN_IF_ERROR(
        EpochPlan::Create(epoch_.spec, epoch_.epoch, epoch_.held, &plan));
    Loads loads(*plan);
    plan->Skip(epoch_.begin);
    for (uint32_t f = 0; epoch_.begin > 0 && f < formats_; ++f) {
      loads.TakeUpTo(f, plan->loads(f), [](uint64_t) {});
    }
    while (plan->position() < std::min(epoch_.end, plan->size())) {
      const uint64_t now = plan->position();
      for (uint32_t f = 0; f < formats_; ++f) {
        loads.TakeUpTo(f, plan->loads(f),
                       [&](uint64_t record) { Load(f, record, now); });
      }
      const Draw draw = plan->Next();
      drawn_.Set(draw.format, draw.record, now);
      // Memory has lost what it had before the middle of an epoch.
      const bool lost = loaded_.Of(draw.format, draw.record) == 0;
      if (epoch_.begin > 0 && lost) Load(draw.format, draw.record, now);
    }
    plan->Skip(plan->size());
    *kept = plan->kept();
    return OkStatus();
  }

  // Chooses among the loads of the next epoch, which begins with `held`, as
  // much as there is room for at any time of this one.
  Status Choose(const HeldSets& held) {
    LIQUID_RETURN_IF_ERROR(ChooseFor(room_, held));
    if (MostUsed() <= most_) return OkStatus();
    uint64_t fits = 0, too_much = room_;
    for (int i = 0; i < kHalvings; ++i) {
      const uint64_t room = fits + (too_much - fits) / 2;
      LIQUID_RETURN_IF_ERROR(ChooseFor(room, held));
      (MostUsed() <= most_ ? fits : too_much) = room;
    }
    return ChooseFor(fits, held);
  }

 private:
  // How closely what fits is found, in halves of the room.
  static constexpr int kHalvings = 8;

  // Chooses `room` blocks.
  Status ChooseFor(uint64_t room, HeldSets held) {
    plan_.wanted = NothingHeld(*epoch_.spec);
    loaded_blocks_ = chosen_blocks_ = 0;
    std::unique_ptr<EpochPlan> plan;
    LIQUID_RETURN_IF_ERROR(EpochPlan::Create(epoch_.next, epoch_.epoch + 1,
                                             std::move(held), &plan));
    const uint64_t all = BlocksOfLoads(*plan);
    const uint64_t of_store = all - std::min(all, room);
    const uint64_t size = plan->size();
    Loads loads(*plan);
    std::vector<uint64_t> evicted(formats_);
    std::vector<Candidate> batch;
    while (plan->position() < size) {
      for (uint64_t i = 0;
           i < epoch_.next->batch_size && plan->position() < size; ++i) {
        const Draw draw = plan->Next();
        evicted[draw.format] += !draw.keep;
      }
      const bool last = plan->position() == size;
      batch.clear();
      for (uint32_t f = 0; f < formats_; ++f) {
        loads.TakeUpTo(f, last ? UINT64_MAX : evicted[f],
                       [&](uint64_t record) { Add(f, record, &batch); });
      }
      const uint64_t store = MulDivFloor(of_store, plan->position(), size);
      ChooseOf(&batch, store, room);
    }
    return OkStatus();
  }

  // Blocks that are in use at any time of what is left of the epoch, at most.
  uint64_t MostUsed() const {
    std::vector<int64_t> changes(drawn_.end());
    int64_t used = 0;
    for (uint32_t f = 0; f < formats_; ++f) {
      for (uint64_t record = 0; record < blocks_[f].size(); ++record) {
        const bool wanted = plan_.wanted[f].contains(record);
        const bool there = there_[f].contains(record) &&
                           (wanted || plan_.coming[f].contains(record));
        const int64_t blocks = blocks_[f][record];
        if (there) used += blocks;
        if (there && !wanted) changes[loaded_.Of(f, record)] -= blocks;
        if (wanted && !there) changes[drawn_.Of(f, record)] += blocks;
      }
    }
    // A draw comes behind the loads before it.
    int64_t most = used;
    for (const int64_t change : changes) most = std::max(most, used += change);
    return static_cast<uint64_t>(most);
  }

  void Load(uint32_t format, uint64_t record, uint64_t draw) {
    loaded_.Set(format, record, draw);
    plan_.coming[format].insert(record);
  }

  uint64_t BlocksOfLoads(const EpochPlan& plan) const {
    uint64_t sum = 0;
    Loads loads(plan);
    for (uint32_t f = 0; f < formats_; ++f) {
      loads.TakeUpTo(f, UINT64_MAX,
                     [&](uint64_t record) { sum += blocks_[f][record]; });
    }
    return sum;
  }

  void Add(uint32_t format, uint64_t record, std::vector<Candidate>* batch) {
    const uint32_t blocks = blocks_[format][record];
    loaded_blocks_ += blocks;
    const bool there = there_[format].contains(record);
    if (there) {
      const uint32_t time = loaded_.Of(format, record);
      batch->push_back({format, record, blocks, true, time});
      return;
    }
    const uint32_t drawn = drawn_.Of(format, record);
    const bool writable =
        epoch_.holds_stored || !epoch_.held[format].contains(record);
    if (drawn == 0 || !writable) return;
    // While nothing must leave first, writing has all of the epoch: any do.
    const uint32_t time = empty_ ? Spread(record) : drawn;
    batch->push_back({format, record, blocks, false, time});
  }

  // `store`: blocks that come from there up to the end of this batch.
  void ChooseOf(std::vector<Candidate>* batch, uint64_t store, uint64_t room) {
    std::stable_sort(batch->begin(), batch->end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::make_pair(a.there, a.time) >
                              std::make_pair(b.there, b.time);
                     });
    for (const Candidate& c : *batch) {
      const uint64_t chosen = chosen_blocks_ + c.blocks;
      // To the nearest, so that large records leave no room unused.
      if (chosen > room || chosen - c.blocks / 2 + store > loaded_blocks_) {
        continue;
      }
      chosen_blocks_ = chosen;
      plan_.wanted[c.format].insert(c.record);
    }
  }

  const TierEpoch& epoch_;
  const RecordBlocks& blocks_;
  const uint64_t room_, most_;
  const HeldSets& there_;
  const uint32_t formats_;
  Times loaded_, drawn_;
  TierPlan& plan_;
  bool empty_ = true;
  uint64_t loaded_blocks_ = 0;  // of the next epoch's batches so far
  uint64_t chosen_blocks_ = 0;  // of them, those that are wanted
};

}  // namespace

Status PlanTier(const TierEpoch& epoch, const RecordBlocks& blocks,
                uint64_t room, uint64_t waiting, const HeldSets& there,
                TierPlan* plan) {
  LIQUID_RETURN_IF_ERROR(Check(*epoch.spec, blocks));
  LIQUID_RETURN_IF_ERROR(Check(*epoch.next, blocks));
  plan->coming = NothingHeld(*epoch.spec);
  Planning planning(epoch, blocks, room, waiting, there, plan);
  HeldSets kept;
  LIQUID_RETURN_IF_ERROR(planning.Follow(&kept));
  return planning.Choose(CarryOver(*epoch.next, std::move(kept)));
}

}  // namespace liquid
