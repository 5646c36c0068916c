// The bytes of a JPEG index. docs/formats/jpeg-index.md describes them.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_INDEX_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/baseline/baseline_header.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

inline constexpr size_t kBaselineIndexHeader = 40;
// A JPEG file of so many bytes or more has no index: positions are of 31 bits.
inline constexpr size_t kMaxIndexedBytes = size_t{1} << 28;

// Where an MCU begins.
struct BaselineEntry {
  // Bit of the scan's data, as it is in the file.
  uint64_t position = 0;
  int32_t dc[3] = {};  // of each component's last block, 0 after a restart
};

// Which MCUs have an entry: in each row the first, and each `spacing`-th.
struct BaselineGrid {
  uint32_t across = 0, down = 0;  // MCUs of the image
  uint32_t spacing = 0;           // 1 or more
  uint32_t entries = 0;           // of a row

  BaselineGrid() = default;
  // `spacing` 0: an entry a row.
  BaselineGrid(const BaselineHeader& header, uint32_t spacing);
};

class BaselineIndex {
 public:
  // Checks all but the entries behind the first one. The bytes must outlive
  // this object. Error:
  // DataLoss for an index that is damaged, or another file's.
  Status Read(ByteSpan index, size_t jpeg_size, const BaselineHeader& header);

  const BaselineGrid& grid() const { return grid_; }
  // An entry of a row of MCUs; any bits may stand there.
  BaselineEntry Find(uint32_t row, uint32_t entry) const;

 private:
  uint32_t Load(uint64_t bit, uint32_t width) const;

  ByteSpan bytes_;
  BaselineGrid grid_;
  uint32_t slope_ = 0;
  int32_t position_base_ = 0;
  int32_t dc_base_[3] = {};
  uint32_t position_width_ = 0, dc_width_[3] = {};
  uint32_t entry_bits_ = 0;
};

// Whether a scan may have an entry with these DCs, behind a restart or not.
bool HasPossibleDc(const BaselineEntry& entry, bool after_restart);

// Finds the bytes of a scan's data, [*begin, *end), that hold what is between
// an entry and `next`, or if that is null the file's end. False for positions
// that no scan has.
bool FindEntryBytes(ByteSpan data, const BaselineEntry& entry,
                    const BaselineEntry* next, uint64_t* begin, uint64_t* end);

// Appends the index of a file with these entries, row by row, to `*index`.
// `spacing` is as asked.
void AppendBaselineIndex(const std::vector<BaselineEntry>& entries,
                         const BaselineGrid& grid, uint32_t spacing,
                         size_t jpeg_size, std::string* index);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_INDEX_H_
