// Where the patches of a file lie, as its table says. Every place that comes
// out of here lies inside the file.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_PLACES_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_PLACES_H_

#include <cstdint>
#include <vector>

#include "ops/codecs/l3/host/l3_format.h"

namespace liquid {

struct L3Place {
  uint64_t offset;  // in the file
  uint32_t size;    // bytes
};

// The patches of `range` in version 1, [3][rows][columns]. The file has been
// peeked at. O(all patches). Error: DataLoss.
Status FindL3V1Patches(ByteSpan bytes, const L3Info& info,
                       const L3PatchRange& range, std::vector<L3Place>* places);

// The table of version 2, in a file that has been peeked at and outlives it.
class L3V2Table {
 public:
  // Checks that the table is whole and ends where the file does. O(1). Error:
  // DataLoss.
  static Status Read(ByteSpan bytes, const L3Info& info, L3V2Table* table);

  uint64_t PatchesAcross() const { return across_; }
  // Finds patch `number`, which the image must have. O(1). Error: DataLoss.
  Status Find(uint64_t number, L3Place* place) const;
  // Finds where patches [first, last) lie together, and the bytes of the
  // largest of them. Returns whether that is inside the file and has room for
  // them; what the table says of each is not checked. O(last - first).
  bool FindRun(uint64_t first, uint64_t last, L3Place* place,
               uint32_t* largest) const;
  uint32_t LeastBytes() const { return least_; }  // of a patch
  uint32_t MostBytes() const { return most_; }

 private:
  const uint8_t* entries_ = nullptr;
  uint64_t across_ = 0, data_at_ = 0;
  uint32_t data_size_ = 0;
  uint32_t least_ = 0, most_ = 0;  // bytes of a patch
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_PLACES_H_
