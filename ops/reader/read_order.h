// The order in which one format's records are read in one epoch.
//
// Follows the plan: the loads, in disk order, as soon as the plan makes them
// available. What is not in memory at its draw is read just before it: a record
// that the plan holds and memory does not (after a restore, after an abandoned
// epoch, or dropped for the budget), a load for which there was no room, and a
// record of which memory has fewer scan groups than its draw needs. Once read,
// a record of many samples is in memory until the last of them is drawn.
//
// Where samples have weights, a record may be loaded again before its last
// draw. Its content is the same, so memory has it once, and how many of its
// loads are still to be drawn. A pinned record stays in memory from its first
// draw on, where there is room for it between epochs; else it is read at each
// draw.
#ifndef LIQUID_OPS_READER_READ_ORDER_H_
#define LIQUID_OPS_READER_READ_ORDER_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ops/sampler/fidelity.h"
#include "ops/sampler/load_order.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

namespace liquid {

// How many records of a format there is memory for. The order of an epoch does
// not depend on it: what has no room is read later.
struct MemoryLimits {
  uint64_t resident = UINT64_MAX;  // in memory at once
  uint64_t kept = UINT64_MAX;      // of them, drawn and kept
};

// Records of a format in memory.
struct AtHand {
  SampleSet records;
  // Scan groups of each record; empty where the format has none.
  std::vector<uint32_t> groups = {};
};

// The pinned records of a format that memory has room for; none without
// weights. O(records).
SampleSet Retained(const PlanSpec& spec, uint32_t format,
                   const MemoryLimits& limits);

struct PlannedRead {
  uint64_t record = 0;
  uint32_t groups = 0;  // scan groups, at most those it has; 0 without any
  uint64_t turn = 0;    // the draw before which there is a place for it
};

// A part of an epoch that ends before its last draw.
struct ReadRange {
  uint64_t end = UINT64_MAX;  // the draw before which reading ends
  SampleSet drawn = {};       // records that are drawn until then
  // Of records that are drawn several times, how often beside once.
  std::unordered_map<uint64_t, uint64_t> again = {};
};

// The range from where `plan` stands to `end`, to which it is moved.
ReadRange FindRange(EpochPlan* plan, uint32_t format, uint64_t end);

// Thread-compatible.
class ReadOrder {
 public:
  // `plan` stands at the draw with which reading begins. `at_hand`: held
  // records that need no read. `groups`: scan groups of each record; empty
  // where the format has none. `range`: see above; begins at the same draw.
  ReadOrder(std::unique_ptr<EpochPlan> plan, uint32_t format, AtHand at_hand,
            const MemoryLimits& limits, Fidelity fidelity = {},
            std::vector<uint32_t> groups = {}, ReadRange range = {});
  // The next record to read; false at the end.
  bool Next(PlannedRead* read);

 private:
  PlannedRead ReadOf(uint64_t record, uint32_t fidelity) const;
  void Arrive(const PlannedRead& read);
  bool IsThere(uint64_t record) const;
  bool HasRoom(uint64_t record) const;
  bool Serves(const PlannedRead& wanted) const;
  uint32_t FidelityNow() const;
  bool NextLoad(uint64_t* record);
  bool ClaimDraw(uint64_t record);
  void Leave(const Draw& draw);

  const std::unique_ptr<EpochPlan> plan_;
  ReadRange range_;  // less what was read
  const uint32_t format_;
  const MemoryLimits limits_;
  const Fidelity fidelity_;
  const std::vector<uint32_t> groups_;
  AtHand at_hand_;  // in memory by now
  const bool weighted_;
  const SampleSet retained_;
  uint64_t retained_left_ = 0;  // of them, those that are not at hand
  // Loads of a record at hand that are to be drawn, beside one.
  std::unordered_map<uint64_t, uint64_t> more_loads_;
  LoadOrder loads_;
  uint64_t loaded_ = 0;  // loads that the plan has made available
  uint64_t resident_;    // records in memory
  uint64_t kept_ = 0;    // of them drawn and kept
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_ORDER_H_
