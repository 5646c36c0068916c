// The mix of each epoch, of formats that share samples.
//
// Formats may also be the same records at several fidelities. Their sections
// then move on with each epoch, so that every record has its turn at each.
#ifndef LIQUID_OPS_ENGINE_EPOCH_MIXES_H_
#define LIQUID_OPS_ENGINE_EPOCH_MIXES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// Whether the formats of a plan share samples, of which each has a section.
bool HasSections(const PlanSpec& spec);
// Of formats that are the same records at several fidelities, the record that
// the first section begins with in an epoch: a random one of the seed in epoch
// 0, and from there on by as many records as the first section has. Where that
// would leave sections out of the turns, by the next number that does not:
// after as many epochs as there are records, each was of each section as often
// as any other. Requires epoch >= 0.
uint64_t FirstRecord(const PlanSpec& spec, int64_t epoch);

// Grows by an epoch at a time: what was decided once stays, since later epochs
// follow from it. Thread-compatible.
class EpochMixes {
 public:
  // Numbers of an epoch: of each format its samples, before sections are moved;
  // then of each the records that are cached; then of each its fill.
  static constexpr size_t kKinds = 3;

  // `base`: a plan whose formats share samples, which are cut into their
  // sections in the order of formats. Its own sections do not count.
  explicit EpochMixes(std::shared_ptr<const PlanSpec> base);

  // Epochs that are decided, from 0 on.
  int64_t epochs() const { return static_cast<int64_t>(specs_.size()); }
  // Requires 0 <= epoch < epochs(). O(records) where sections move, else O(1),
  // and the same object for epochs of one plan that follow one another.
  std::shared_ptr<const PlanSpec> Of(int64_t epoch) const;
  // Decides the next epoch. Error: InvalidArgument where `numbers` are not
  // kKinds for each format that can be planned.
  Status Append(const std::vector<int64_t>& numbers);
  // The numbers of the first `epochs`, one after another.
  std::vector<int64_t> Numbers(int64_t epochs) const;
  // Replaces all by what Numbers gave. Error: likewise; nothing has changed.
  Status Assign(const std::vector<int64_t>& numbers);

 private:
  Status MakeSpec(const std::vector<int64_t>& numbers,
                  std::shared_ptr<const PlanSpec>* spec) const;

  std::shared_ptr<const PlanSpec> base_;
  std::vector<int64_t> numbers_;  // of all epochs
  // Before they are moved; equal ones are shared.
  std::vector<std::shared_ptr<const PlanSpec>> specs_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_EPOCH_MIXES_H_
