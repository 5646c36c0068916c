// The rows of one format that are read: all of some splits, or those of chosen
// samples among them, by their rank in stored order.
//
// A choice is one bit for each row and a directory of ranks, 1/32 of that, so
// that choosing among many millions of samples costs little beside their index.
#ifndef LIQUID_OPS_READER_SELECTED_ROWS_H_
#define LIQUID_OPS_READER_SELECTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/core/span.h"

namespace liquid {

// Immutable. Shares the index's bytes.
class SelectedRows {
 public:
  SelectedRows() = default;
  // The rows of `format` in `splits`, one split after the other. `chosen`: a
  // bit for each sample number, the first in the lowest of byte 0; samples
  // beyond it are not chosen. Without bytes all are. O(rows), O(1) where all
  // are chosen.
  SelectedRows(const IndexView& index, const std::vector<uint8_t>& splits,
               uint8_t format, ByteSpan chosen);

  // Ranks: 0..size()-1.
  uint64_t size() const { return size_; }
  // Which of all rows of the format in these splits has a rank. O(log(rows)),
  // O(1) where all are chosen.
  uint64_t PlaceOf(uint64_t rank) const;
  IndexRow operator[](uint64_t rank) const { return At(PlaceOf(rank)); }

  // All rows, chosen or not, by their places.
  uint64_t places() const { return ends_.empty() ? 0 : ends_.back(); }
  IndexRow At(uint64_t place) const;
  bool IsChosen(uint64_t place) const {
    return words_.empty() || (words_[place >> 6] >> (place & 63) & 1) != 0;
  }

 private:
  std::vector<IndexView> pieces_;  // of the splits
  std::vector<uint64_t> ends_;     // places of their ends
  uint64_t size_ = 0;
  std::vector<uint64_t> words_;  // a bit for each place; none: all are chosen
  std::vector<uint64_t> ranks_;  // chosen places before each block of words
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_SELECTED_ROWS_H_
