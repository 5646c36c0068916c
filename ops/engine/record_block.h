// What flows from the sources of records to the draws, and from these to the
// decoder: a few records, by reference.
#ifndef LIQUID_OPS_ENGINE_RECORD_BLOCK_H_
#define LIQUID_OPS_ENGINE_RECORD_BLOCK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/arena.h"
#include "ops/engine/epoch_run.h"
#include "ops/reader/record.h"
#include "ops/sampler/mixture.h"

namespace liquid {

// Records in one element of a source, at most: they share its cost.
constexpr size_t kBlockRecords = 64;

// What a device may read behind an image in its memory, and means nothing.
constexpr uint64_t kBehindOnDevice = 256;

// The way of a kept record's image to a device: whoever decodes the record
// there has the image go to `to`, once, which has kBehindOnDevice bytes behind
// it, and fulfils the promise with a record that lies there. Until then, and if
// it never does, that is the record itself.
struct DeviceMove {
  std::shared_ptr<const Arena::Piece> to;
  std::shared_ptr<RecordPromise> promise;
  std::atomic<bool> is_begun{false};
};

struct RecordBlock {
  struct Item {
    RecordPtr record;
    uint32_t format = 0;  // position of its format in the plan
    bool load = false;    // costs a read: evicted, or not in memory
    bool memory_hit = false;
    std::shared_ptr<RecordPromise> promise;  // to fulfil; null for most
    std::shared_ptr<DeviceMove> move;        // to do; null for most
    bool whole = true;        // the record is this sample and no other
    uint64_t disk_bytes = 0;  // read for it, or for its record
  };

  int64_t epoch = 0;
  uint64_t first_draw = 0;  // position of items[0] in the epoch
  bool last = false;        // the epoch's last block
  bool part = false;  // of a part of the epoch, beside which others are run
  std::vector<Item> items;
  // Of each format whose records hold many samples: those that count for this
  // block. Empty in a block without a run.
  std::vector<BatchPart> turns;
  double read_seconds = 0;          // waited for these records
  double disk_seconds = 0;          // reads were under way since the last block
  uint64_t retries = 0;             // of a source's reads by now; see ReadCount
  std::shared_ptr<BatchCost> cost;  // with a run
  // Whom to tell of the delivery; null in a block that crossed a process.
  std::shared_ptr<EpochRun> run;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_RECORD_BLOCK_H_
