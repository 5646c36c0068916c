// A tier: records on a local disk, between their store and memory.
//
// Which ones, PlanTier says (ops/sampler/tier_plan.h). They are written when
// they are drawn, by a thread of the tier's, and leave when they are read for
// the last time. The index is in memory and the file has no name, so a process
// that ends leaves nothing, and begins with nothing.
//
// Nothing depends on what lies here but how many bytes the store is asked for.
// Where there is no room to write, or no time, a record is left out. A record
// whose bytes are wrong is forgotten and counted. A disk that fails, or is
// full, ends the tier, and somebody is told.
#ifndef LIQUID_OPS_READER_TIER_H_
#define LIQUID_OPS_READER_TIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ops/core/status.h"
#include "ops/reader/record.h"
#include "ops/reader/tier_file.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/tier_plan.h"

namespace liquid {

// Thread-safe. The destructor returns at once: a write under way ends on its
// own.
class Tier {
 public:
  struct Options {
    std::string folder;
    uint64_t bytes = 0;        // at most
    uint64_t queue_bytes = 0;  // of records that wait to be written, at most
    RecordBlocks blocks;       // of all that there are, by format
    // Told once why the tier has ended.
    std::function<void(const std::string&)> warn;
  };
  struct Count {
    uint64_t records = 0, bytes = 0;
  };
  struct Counters {
    uint64_t bytes = 0;  // of its file
    Count there, read, written;
    uint64_t left_out = 0;  // that were to be written
    uint64_t failed = 0;    // whose bytes were wrong, or could not be read
    std::string off;        // why it has ended; else empty
  };

  // One that cannot be made has ended.
  explicit Tier(Options options);
  ~Tier();
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

  // Waits until what is to be written was, plans what is left of an epoch, and
  // drops what that will not read. Error: that of PlanTier.
  Status Begin(const TierEpoch& epoch);

  // Where a record lies; null where it does not. It stays while that is kept.
  std::shared_ptr<const TierPlace> Find(uint32_t format, uint64_t record) const;
  // It was read here, and was right.
  void Read(uint32_t format, const Record& record);
  // It was not. `read`: how the read ended.
  void Failed(uint32_t format, uint64_t record, const Status& read);
  // It is drawn, and is written if the plan says so.
  void Drawn(uint32_t format, RecordPtr record);

  Counters counters() const;

 private:
  struct State;
  static void Work(std::shared_ptr<State> state);
  const std::shared_ptr<State> state_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_TIER_H_
