// Which blocks of a file are free.
#ifndef LIQUID_OPS_READER_FREE_BLOCKS_H_
#define LIQUID_OPS_READER_FREE_BLOCKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace liquid {

// Blocks that follow one another.
struct Extent {
  uint64_t begin = 0;
  uint64_t count = 0;

  bool operator==(const Extent& other) const {
    return begin == other.begin && count == other.count;
  }
};

// Whatever is asked for is given while so many blocks are free: in one piece
// where there is one, the smallest that is large enough; else in as few as the
// largest pieces allow. Thread-compatible; O(log(pieces)) for each piece.
class FreeBlocks {
 public:
  explicit FreeBlocks(uint64_t blocks);

  uint64_t left() const { return left_; }
  // Empty where fewer than `blocks` are free.
  std::vector<Extent> Take(uint64_t blocks);
  // Requires blocks that were taken.
  void Give(const std::vector<Extent>& extents);

 private:
  using ByBegin = std::map<uint64_t, uint64_t>;  // and their number
  void Add(Extent extent);
  Extent Cut(uint64_t begin, uint64_t count);

  uint64_t left_ = 0;
  ByBegin by_begin_;
  std::set<std::pair<uint64_t, uint64_t>> by_count_;  // and their begin
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_FREE_BLOCKS_H_
