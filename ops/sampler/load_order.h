// The order in which records come from disk. Thread-compatible.
#ifndef LIQUID_OPS_SAMPLER_LOAD_ORDER_H_
#define LIQUID_OPS_SAMPLER_LOAD_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/core/rng.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// Files of a format that are read at the same time, and how many records are
// read of one before it is the next one's turn: part of the order of samples.
constexpr size_t kOpenFiles = 4;
constexpr uint64_t kRecordsPerTurn = 16;

// The order in which one format's records are loaded from disk in one epoch:
// files permuted and several interleaved, each read forward, records of `held`
// left out. With shuffle off, stored order. O(files) memory, O(1) amortised per
// record of the format.
class LoadOrder {
 public:
  // `held` may be null: nothing is held. It must outlive the order.
  LoadOrder(const PlanSpec& spec, uint32_t format, int64_t epoch,
            const SampleSet* held);
  // Likewise, with files permuted by the numbers that are next in `files`.
  LoadOrder(RandomStream* files, const PlanSpec& spec, uint32_t format,
            const SampleSet* held);
  // False at the end.
  bool Next(uint64_t* record);

 private:
  struct Cursor {
    uint64_t next, end;
  };
  void OpenFiles(const PlanSpec& spec, uint32_t format, RandomStream* files);
  void EndTurn();

  const SampleSet* held_;      // not owned
  std::vector<Cursor> files_;  // in this epoch's order
  std::vector<Cursor> open_;   // interleaved
  size_t next_file_ = 0;       // first of files_ that has not been opened
  size_t turn_ = 0;            // whose turn of open_ it is
  uint64_t left_in_turn_ = kRecordsPerTurn;
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_LOAD_ORDER_H_
