// The mix of each epoch, of formats that share samples.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_EPOCH_MIXES_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_EPOCH_MIXES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// Whether the formats of a plan share samples, of which each has a part.
bool HasParts(const PlanSpec& spec);

// Grows by an epoch at a time: what was decided once stays, since later epochs
// follow from it. Thread-compatible.
class EpochMixes {
 public:
  // Numbers of an epoch: of each format its samples; then of each those that
  // are cached; then of each its fill.
  static constexpr size_t kKinds = 3;

  // `base`: a plan whose formats share samples, which are cut into their parts
  // in the order of formats. Its own parts are nobody's.
  explicit EpochMixes(std::shared_ptr<const PlanSpec> base);

  // Epochs that are decided, from 0 on.
  int64_t epochs() const { return static_cast<int64_t>(specs_.size()); }
  // Requires 0 <= epoch < epochs().
  const std::shared_ptr<const PlanSpec>& Of(int64_t epoch) const {
    return specs_[static_cast<size_t>(epoch)];
  }
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
  uint64_t samples_ = 0;  // that the formats share
  std::vector<std::shared_ptr<const PlanSpec>> specs_;  // equal ones are shared
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_EPOCH_MIXES_H_
