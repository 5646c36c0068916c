// A place in the scan that moves from MCU to MCU.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_LANE_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_LANE_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/jpeg/baseline/baseline_blocks.h"
#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/jpeg/baseline/baseline_header.h"
#include "ops/codecs/jpeg/baseline/baseline_index.h"
#include "ops/codecs/jpeg/baseline/baseline_scan.h"
#include "ops/core/span.h"

namespace liquid {

// The columns of a row of MCUs that a window needs.
struct McuColumns {
  uint32_t first, end;
};

class BaselineLane {
 public:
  // `data` begins where the scan's does and ends where the file does.
  BaselineLane(ByteSpan data, const BaselineHeader& header);
  BaselineLane(const BaselineLane&) = delete;
  BaselineLane& operator=(const BaselineLane&) = delete;

  // Adds a block of each MCU to what is decoded and dropped.
  void AddBlock(const HuffmanTables* tables, uint32_t component);

  // Goes to the scan's start.
  void Start();
  // Decodes the next MCUs.
  bool Walk(const Mcus& mcus, uint32_t count);
  // Decodes the next MCUs and drops them.
  bool Skip(uint32_t count) { return Walk(dropped_, count); }
  // Where the next MCU begins. False where no restart marker stands before it
  // and one should.
  bool Where(BaselineEntry* entry);
  // Whether the file ends behind what is left.
  bool Finish() { return scan_.Finish(); }

  // Goes to a row of MCUs by the index, with the blocks of the MCU of
  // columns.first. Advance says whether the row has it.
  void EnterRow(const BaselineIndex* index, uint32_t row,
                const McuColumns& columns, const Mcus& mcus);
  // Makes the next run of the row, if that before is done; of no MCU: the row
  // is done. False where the index and the scan do not fit each other.
  bool Advance();
  McuRun* run() { return &run_; }

 private:
  bool StartInterval();
  uint32_t UntilRestart(uint32_t count);
  bool EnterPart();
  bool Enter(const BaselineEntry& entry, const BaselineEntry* end,
             uint32_t mcu);
  bool IsAt(const BaselineEntry& end);

  const ByteSpan data_;
  const BaselineHeader& header_;
  BaselineScan scan_;
  int32_t dc_[3] = {};
  uint32_t until_restart_ = 0;
  uint32_t restarts_ = 0;  // markers so far
  McuRun run_;
  Mcus dropped_ = {};

  // Of a row that was entered.
  const BaselineIndex* index_ = nullptr;
  uint32_t row_ = 0;
  McuColumns columns_ = {};
  Mcus mcus_ = {};
  uint32_t column_ = 0;         // of the MCU behind the run
  uint32_t part_end_ = 0;       // column, of what was entered
  uint32_t entries_ = 0;        // of the row, up to that of the next part
  BaselineEntry next_;          // the entry behind the part, or of the next row
  bool ends_at_entry_ = false;  // whether the part does

  int16_t scratch_[kBlockSize + 1];
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_LANE_H_
