// Which samples an epoch draws, and how often, where not all are drawn once.
//
// Samples are in *groups*: all of one group have the same share of an epoch.
// GroupSchedule says how many draws a group has. These are the next ones in the
// group's *cycle*, an endless repetition of one fixed order of its samples: so
// a sample's draws, in an epoch and in all epochs so far, are the floor or the
// ceiling of its share of them.
//
// A *source* is a format, here of one dataset of several. The samples of a
// group that lie in a source have a cycle of their own (SourceCycle); in the
// group's cycle those of its sources follow one another as evenly as they can,
// the k-th of n at (k + 1/2) / n of a pass. So a source's draws of an epoch are
// a span of its own cycle.
//
// Workers cut the draws that a group has in an epoch into ranges, one after
// another in its cycle.
#ifndef LIQUID_OPS_SAMPLER_WEIGHTS_H_
#define LIQUID_OPS_SAMPLER_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/core/status.h"
#include "ops/sampler/group_schedule.h"
#include "ops/sampler/worker_part.h"

namespace liquid {

// The groups of one source's samples.
struct SourceGroups {
  uint32_t first = 0;  // entry k is group first + k
  uint64_t samples = 0;
  // Of each sample, in stored order; empty: all are of entry 0.
  std::vector<uint16_t> entries = {};
};

// Draws number start .. start + length - 1 of a cycle, counted from epoch 0.
struct CycleSpan {
  uint64_t start = 0;
  uint64_t length = 0;
};

// Immutable, and so thread-safe.
class Weights {
 public:
  struct Options {
    uint64_t samples_per_epoch = 0;  // of all workers together
    std::vector<uint64_t> shares;    // of groups, in proportion; 0: never drawn
    std::vector<SourceGroups> sources;
    uint64_t worker = 0;
    uint64_t workers = 1;
    PartPolicy policy = PartPolicy::kPad;
  };

  // Error: InvalidArgument that names argument, value and constraint.
  static Status Create(Options options, std::shared_ptr<const Weights>* made);

  // Samples of an epoch of this worker: the same in each.
  uint64_t epoch_size() const { return epoch_size_; }
  size_t sources() const { return options_.sources.size(); }
  uint64_t samples(size_t source) const {
    return options_.sources[source].samples;
  }
  uint64_t worker() const { return options_.worker; }
  // Of each entry of a source the samples there.
  const std::vector<uint64_t>& sizes(size_t source) const {
    return sizes_[source];
  }
  // Entry of a sample.
  uint16_t entry(size_t source, uint64_t sample) const {
    const auto& entries = options_.sources[source].entries;
    return entries.empty() ? 0 : entries[sample];
  }
  // Spans of this worker in an epoch, of each source and entry. O(groups) for
  // each epoch since the last call's, or since 0 where it is behind that.
  std::vector<std::vector<CycleSpan>> Spans(int64_t epoch) const;
  // Those of epoch 0.
  const std::vector<std::vector<CycleSpan>>& first_spans() const {
    return first_spans_;
  }
  // Of each entry of a source how many of its samples are among the `most`
  // whose share is greatest. Where shares are equal, each entry has its part.
  std::vector<uint64_t> Greatest(size_t source, uint64_t most) const;
  // Whether an entry's samples are drawn once an epoch each, so that a worker
  // has the same part of them in every epoch, and there are several workers.
  bool HasFixedParts(size_t source, size_t entry) const;
  // Of everything that the draws follow from.
  uint32_t fingerprint() const { return fingerprint_; }

 private:
  // Where a group has samples.
  struct Place {
    uint32_t group, source, entry;
    uint64_t samples;
  };
  explicit Weights(Options options);
  Status CountSizes();
  Status CheckShares();
  std::vector<uint32_t> EvenOrder() const;

  const Options options_;
  uint64_t total_ = 0;  // of the shares
  uint64_t epoch_size_ = 0;
  uint32_t fingerprint_ = 0;
  std::vector<std::vector<uint64_t>> sizes_;
  std::vector<uint64_t> group_sizes_;
  std::vector<Place> places_;  // by group
  std::vector<std::vector<CycleSpan>> first_spans_;
  mutable std::mutex mu_;
  mutable std::unique_ptr<GroupSchedule> schedule_;  // guarded by mu_
};

// Of the first `draws` of a cycle that is merged from `sizes`, evenly, how many
// are of the one at `which`. O(sizes log(samples)).
uint64_t MergedCount(const std::vector<uint64_t>& sizes, size_t which,
                     uint64_t draws);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_WEIGHTS_H_
