#include "ops/codecs/jpeg/baseline/baseline_lane.h"

#include <algorithm>

#include "ops/codecs/jpeg/baseline/baseline_targets.h"

namespace liquid {

BaselineLane::BaselineLane(ByteSpan data, const BaselineHeader& header)
    : data_(data), header_(header) {
  run_.scan = &scan_;
  run_.dc = dc_;
}

void BaselineLane::AddBlock(const HuffmanTables* tables, uint32_t component) {
  dropped_.blocks[dropped_.count++] = {tables, component, scratch_, 0};
}

void BaselineLane::Start() {
  scan_.Start(data_, 0);
  std::fill_n(dc_, 3, 0);
  restarts_ = 0;
  until_restart_ = header_.restart_interval;
}

// Passes over a restart marker, where one is due.
bool BaselineLane::StartInterval() {
  if (header_.restart_interval == 0 || until_restart_ > 0) return true;
  if (!scan_.Restart(restarts_++ % 8)) return false;
  std::fill_n(dc_, 3, 0);
  until_restart_ = header_.restart_interval;
  return true;
}

// Takes up to `count` MCUs off the interval. Returns how many.
uint32_t BaselineLane::UntilRestart(uint32_t count) {
  if (header_.restart_interval == 0) return count;
  const uint32_t now = std::min(count, until_restart_);
  until_restart_ -= now;
  return now;
}

bool BaselineLane::Walk(const Mcus& mcus, uint32_t count) {
  run_.mcus = mcus;
  while (count > 0) {
    if (!StartInterval()) return false;
    run_.count = UntilRestart(count);
    count -= run_.count;
    if (!CurrentBaselineFunctions().decode(&run_)) return false;
  }
  return true;
}

bool BaselineLane::Where(BaselineEntry* entry) {
  if (!StartInterval()) return false;
  entry->position = 8 * static_cast<uint64_t>(scan_.FileByte() - data_.data) +
                    scan_.position % 8;
  std::copy_n(dc_, 3, entry->dc);
  return true;
}

void BaselineLane::EnterRow(const BaselineIndex* index, uint32_t row,
                            const McuColumns& columns, const Mcus& mcus) {
  const uint32_t spacing = index->grid().spacing;
  index_ = index;
  row_ = row;
  columns_ = columns;
  mcus_ = mcus;
  entries_ = columns.first / spacing;
  next_ = index->Find(row, entries_);
  column_ = part_end_ = entries_ * spacing;
  ends_at_entry_ = false;
}

// Goes to what is between the next entry and the one behind it.
bool BaselineLane::EnterPart() {
  const BaselineGrid& grid = index_->grid();
  const BaselineEntry entry = next_;
  const uint32_t end = std::min(column_ + grid.spacing, grid.across);
  const bool in_row = ++entries_ < grid.entries;
  const bool has_next = in_row || row_ + 1 < grid.down;
  if (has_next) next_ = index_->Find(row_ + !in_row, in_row ? entries_ : 0);
  part_end_ = std::min(end, columns_.end);
  ends_at_entry_ = has_next && end == part_end_;
  return Enter(entry, has_next ? &next_ : nullptr,
               row_ * grid.across + column_);
}

// Goes to an entry, which is of this MCU, for what is before `end`, if that is
// not null. False for positions and DCs that no scan has.
bool BaselineLane::Enter(const BaselineEntry& entry, const BaselineEntry* end,
                         uint32_t mcu) {
  const uint32_t interval = header_.restart_interval;
  uint64_t begin, end_byte;
  if (!FindEntryBytes(data_, entry, end, &begin, &end_byte) ||
      !HasPossibleDc(entry, interval > 0 && mcu % interval == 0)) {
    return false;
  }
  std::copy_n(entry.dc, 3, dc_);
  if (interval > 0) {
    restarts_ = mcu / interval;
    until_restart_ = interval - mcu % interval;
  }
  scan_.Start(ByteSpan(data_.data + begin, end_byte - begin),
              entry.position % 8);
  return true;
}

// Whether what was entered for this end was read up to it.
bool BaselineLane::IsAt(const BaselineEntry& end) {
  return StartInterval() && scan_.IsAtEnd((8 - end.position % 8) % 8) &&
         std::equal(dc_, dc_ + header_.components, end.dc);
}

bool BaselineLane::Advance() {
  if (run_.count > 0) return true;
  if (column_ == part_end_) {
    if (ends_at_entry_ && !IsAt(next_)) return false;
    if (column_ == columns_.end) return true;
    if (!EnterPart()) return false;
  }
  if (!StartInterval()) return false;
  if (column_ < columns_.first) {
    run_.mcus = dropped_;
    run_.count = UntilRestart(std::min(columns_.first, part_end_) - column_);
  } else {
    if (column_ == columns_.first) run_.mcus = mcus_;
    run_.count = UntilRestart(part_end_ - column_);
  }
  column_ += run_.count;
  return true;
}

}  // namespace liquid
