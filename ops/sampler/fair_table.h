// A table of fractions, given out as zeros and ones that are fair slot by slot.
//
// Every row has three cells, and holds one or two of them in each slot. Over n
// slots cell (r, c) is held part[r][c] times; what makes that fair is that in
// every slot each column is held by the floor or the ceiling of its mean number
// of rows, and that a cell is never far from its share so far.
//
// Such slots exist. Rows and columns are the two sides of a transport problem
// whose solutions have integral vertices (Hoffman and Kruskal, 1956; for
// rounding tables: Bacharach, "Matrix rounding problems", Management Science
// 1966). The mean of the slots that are left is a solution, so one in zeros
// and ones is among its roundings, and what remains after that slot is of the
// same kind as long as a cell that must be held in all slots that are left is,
// and one that has had all of its slots is not.
//
// Among the roundings a slot takes the one that leaves the least sum of
// squares of what cells are owed. That sum is linear in zeros and ones: a cell
// that is owed x gains 2x - 1 by being held. Each row first takes what gains
// most by itself, then places change columns along cheapest paths until every
// column has its number, as the successive shortest path algorithm of minimum
// cost flows does; with three columns a path is one exchange or two.
//
// No bound of how far a cell gets from its share is proven. In the tests it
// stays below two.
#ifndef LIQUID_OPS_SAMPLER_FAIR_TABLE_H_
#define LIQUID_OPS_SAMPLER_FAIR_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace liquid {

// Thread-compatible.
class FairTable {
 public:
  static constexpr size_t kColumns = 3;
  using Parts = std::array<uint64_t, kColumns>;
  using Held = std::array<bool, kColumns>;

  // Of `slots` slots, row r holds cell c in parts[r][c]. Requires parts of at
  // most `slots`, rows that sum to `slots` or twice that, a last column that
  // sums to a multiple of it, and rows * slots below 2^56. O(rows).
  FairTable(const std::vector<Parts>& parts, uint64_t slots);

  // Goes to the next slot. Requires that fewer than `slots` were asked for.
  // O(rows), times the rows where nearly all of them want the same column.
  void Next();

  // What a row holds in this slot.
  const Held& held(size_t row) const { return rows_[row].held; }

 private:
  struct Row {
    bool two;    // it holds two cells, not one
    Parts left;  // slots in which each cell is still to be held
    // Of each cell, in 1/slots: its share of the slots so far, less those that
    // it was held in; and what holding it in this one gains.
    std::array<int64_t, kColumns> owed = {}, gain = {};
    Held held = {};
  };
  // A row's place in one column for a place in another.
  struct Exchange {
    int64_t loss;
    Row* row;
  };

  void Want(Row* row);
  Exchange Cheapest(size_t from, size_t to);
  void MoveOne(size_t from, std::array<int64_t, kColumns>* excess);

  std::vector<Row> rows_;
  std::vector<Parts> parts_;
  uint64_t slots_;
  uint64_t slots_left_;
  uint64_t first_total_ = 0;  // of the first column, over all slots
  uint64_t first_steps_;      // Bresenham's error term for it, < slots
  uint64_t last_count_ = 0;   // of the last column, in each slot
  uint64_t places_ = 0;       // of all columns, in each slot
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_FAIR_TABLE_H_
