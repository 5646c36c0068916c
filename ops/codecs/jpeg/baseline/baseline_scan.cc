#include "ops/codecs/jpeg/baseline/baseline_scan.h"

#include <algorithm>
#include <cstring>

namespace liquid {

constexpr uint8_t kRst0 = 0xd0;
constexpr uint8_t kEoi = 0xd9;

void BaselineScan::Unstuff() {
  while (size_ < kPiece) {
    const size_t room = std::min<size_t>(
        kPiece - size_, static_cast<size_t>(end_of_file_ - next_));
    const void* found = std::memchr(next_, 0xff, room);
    const size_t plain =
        found == nullptr
            ? room
            : static_cast<size_t>(static_cast<const uint8_t*>(found) - next_);
    std::memcpy(bytes_ + size_, next_, plain);
    size_ += plain;
    next_ += plain;
    if (end_of_file_ - next_ < 2) {
      ended_ = true;
      return;
    }
    if (found == nullptr) continue;
    if (next_[1] != 0) {
      ended_ = true;
      marker_ = next_[1];
      next_ += 2;
      return;
    }
    bytes_[size_++] = 0xff;
    next_ += 2;
  }
}

void BaselineScan::Fill() {
  const size_t read = std::min<size_t>(position / 8, size_);
  std::memmove(bytes_, bytes_ + read, size_ - read);
  size_ -= read;
  position -= 8 * read;
  Unstuff();
  if (ended_) {
    std::memset(bytes_ + size_, 0, kMcuBytes + 8);
    safe_ = UINT64_MAX;
  } else {
    safe_ = 8 * (size_ - kMcuBytes);
  }
}

bool BaselineScan::Restart(uint32_t number) {
  const auto left = [this] { return 8 * size_ - position >= 8; };
  if (!ended_ && !left()) Fill();
  if (!ended_ || left() || marker_ != kRst0 + number) return false;
  size_ = 0;
  position = 0;
  ended_ = false;
  marker_ = 0;
  Fill();
  return true;
}

bool BaselineScan::Finish() {
  while (!ended_) {
    position = 8 * size_;
    Fill();
  }
  return marker_ == kEoi;
}

}  // namespace liquid
