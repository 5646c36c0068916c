#include "ops/gpu/driver/pinned_memory.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace liquid {
namespace {

struct Piece {
  void* data;
  size_t capacity;
};

// Those that nobody has, the one given back last at the end.
struct Pieces {
  std::mutex mutex;
  std::vector<Piece> free;
};

// Never destroyed: at the process's end the driver may be gone.
Pieces& Process() {
  static Pieces* const pieces = new Pieces;
  return *pieces;
}

// Takes the smallest that has room, and is no more than twice as large.
bool TakeFree(size_t size, Piece* found) {
  Pieces& pieces = Process();
  std::lock_guard<std::mutex> lock(pieces.mutex);
  auto best = pieces.free.end();
  for (auto piece = pieces.free.begin(); piece != pieces.free.end(); ++piece) {
    if (piece->capacity < size || piece->capacity / 2 > size) continue;
    if (best == pieces.free.end() || piece->capacity < best->capacity) {
      best = piece;
    }
  }
  if (best == pieces.free.end()) return false;
  *found = *best;
  pieces.free.erase(best);
  return true;
}

}  // namespace

Status PinnedMemory::Reserve(size_t size) {
  if (size <= capacity_) return OkStatus();
  GiveBack();
  Piece piece = {nullptr, size + size / 8};  // batches are of about one size
  if (!TakeFree(size, &piece)) {
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(driver_,
                   driver_.host_allocate(&piece.data, piece.capacity,
                                         kCuHostMemoryPortable),
                   "to take pinned memory"));
  }
  data_ = piece.data;
  capacity_ = piece.capacity;
  return OkStatus();
}

void PinnedMemory::GiveBack() {
  if (data_ == nullptr) return;
  Piece oldest = {nullptr, 0};
  {
    Pieces& pieces = Process();
    std::lock_guard<std::mutex> lock(pieces.mutex);
    pieces.free.push_back({data_, capacity_});
    if (pieces.free.size() > kMostPinnedPieces) {
      oldest = pieces.free.front();
      pieces.free.erase(pieces.free.begin());
    }
  }
  data_ = nullptr;
  capacity_ = 0;
  // What fails here has nobody to tell.
  if (oldest.data != nullptr) driver_.host_free(oldest.data);
}

}  // namespace liquid
