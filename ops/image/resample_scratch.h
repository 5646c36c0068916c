// Memory that a thread resizes in. It grows to what the largest image needs and
// is kept from one to the next.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_SCRATCH_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace liquid {

class ResampleScratch {
 public:
  // What the parts of the memory are for. A resize uses each once at most.
  enum Use { kSource, kEdge, kBetween, kPointers, kResult, kUses };

  // Memory for `count` values, until the next call for the same use. Its
  // contents are whatever they were.
  template <typename T>
  T* Get(Use use, size_t count) {
    Piece& piece = pieces_[use];
    const size_t bytes = count * sizeof(T);
    if (piece.size < bytes) {
      // Vectors read bytes that they then give no weight.
      piece.memory.reset(new uint8_t[bytes]());
      piece.size = bytes;
    }
    return reinterpret_cast<T*>(piece.memory.get());
  }

 private:
  struct Piece {
    std::unique_ptr<uint8_t[]> memory;
    size_t size = 0;
  };

  Piece pieces_[kUses];
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_SCRATCH_H_
