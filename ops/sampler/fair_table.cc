#include "ops/sampler/fair_table.h"

#include <algorithm>
#include <limits>

namespace liquid {
namespace {

// Outweighs the gains of all rows together.
constexpr int64_t kMust = int64_t{1} << 60;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max() / 2;

}  // namespace

FairTable::FairTable(const std::vector<Parts>& parts, uint64_t slots)
    : parts_(parts),
      slots_(slots),
      slots_left_(slots),
      first_steps_(slots / 2) {
  uint64_t last_total = 0;
  for (const Parts& row : parts) {
    const uint64_t sum = row[0] + row[1] + row[2];
    rows_.push_back({sum > slots, row});
    places_ += sum / slots;
    first_total_ += row[0];
    last_total += row[2];
  }
  last_count_ = last_total / slots;
}

// What the row would hold if columns were of any size.
void FairTable::Want(Row* row) {
  size_t most = 0, least = 0;
  for (size_t c = 0; c < kColumns; ++c) {
    row->gain[c] = 2 * row->owed[c] - static_cast<int64_t>(slots_);
    if (row->left[c] == slots_left_) row->gain[c] = kMust;
    if (row->left[c] == 0) row->gain[c] = -kMust;
    if (row->gain[c] > row->gain[most]) most = c;
    if (row->gain[c] <= row->gain[least]) least = c;
  }
  for (size_t c = 0; c < kColumns; ++c) {
    row->held[c] = row->two ? c != least : c == most;
  }
}

FairTable::Exchange FairTable::Cheapest(size_t from, size_t to) {
  Exchange cheapest = {kNone, nullptr};
  for (Row& row : rows_) {
    if (!row.held[from] || row.held[to]) continue;
    const int64_t loss = row.gain[from] - row.gain[to];
    if (loss < cheapest.loss) cheapest = {loss, &row};
  }
  return cheapest;
}

// Moves one place out of `from` to a column that lacks one.
void FairTable::MoveOne(size_t from, std::array<int64_t, kColumns>* excess) {
  const auto exchange = [](const Exchange& e, size_t from, size_t to) {
    e.row->held[from] = false;
    e.row->held[to] = true;
  };
  int64_t least = kNone;
  size_t to = from, over = from;
  Exchange first = {}, second = {};
  for (size_t c = 0; c < kColumns; ++c) {
    if ((*excess)[c] >= 0) continue;
    const size_t third = kColumns - from - c;
    const Exchange direct = Cheapest(from, c);
    if (direct.loss < least) {
      least = direct.loss;
      first = direct;
      to = over = c;
    }
    const Exchange there = Cheapest(from, third);
    const Exchange on = Cheapest(third, c);
    if (there.row != nullptr && on.row != nullptr &&
        there.loss + on.loss < least) {
      least = there.loss + on.loss;
      first = there;
      second = on;
      to = c;
      over = third;
    }
  }
  --(*excess)[from];
  ++(*excess)[to];
  // There is a path in every table that the constructor allows.
  if (least == kNone) return;
  exchange(first, from, over);
  if (over != to) exchange(second, over, to);
}

void FairTable::Next() {
  first_steps_ += first_total_ % slots_;
  const bool one_more = first_steps_ >= slots_;
  if (one_more) first_steps_ -= slots_;
  const uint64_t first = first_total_ / slots_ + one_more;
  std::array<int64_t, kColumns> excess = {
      -static_cast<int64_t>(first),
      -static_cast<int64_t>(places_ - first - last_count_),
      -static_cast<int64_t>(last_count_)};
  for (size_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    for (size_t c = 0; c < kColumns; ++c) {
      row.owed[c] += static_cast<int64_t>(parts_[r][c]);
    }
    Want(&row);
    for (size_t c = 0; c < kColumns; ++c) excess[c] += row.held[c];
  }
  for (size_t c = 0; c < kColumns; ++c) {
    while (excess[c] > 0) MoveOne(c, &excess);
  }
  for (Row& row : rows_) {
    for (size_t c = 0; c < kColumns; ++c) {
      if (!row.held[c]) continue;
      row.owed[c] -= static_cast<int64_t>(slots_);
      --row.left[c];
    }
  }
  --slots_left_;
}

}  // namespace liquid
