#include "ops/codecs/jpeg/baseline/baseline_scan.h"

#include <algorithm>
#include <cstring>

namespace liquid {

constexpr uint8_t kRst0 = 0xd0;
constexpr uint8_t kEoi = 0xd9;

void BaselineScan::Unstuff() {
  while (size_ < kPiece) {
    if (next_ == end_) {
      ended_ = true;
      return;
    }
    const size_t room =
        std::min<size_t>(kPiece - size_, static_cast<size_t>(end_ - next_));
    const void* found = std::memchr(next_, 0xff, room);
    const size_t plain =
        found == nullptr
            ? room
            : static_cast<size_t>(static_cast<const uint8_t*>(found) - next_);
    std::memcpy(bytes_ + size_, next_, plain);
    size_ += plain;
    next_ += plain;
    if (found == nullptr) continue;
    if (end_ - next_ < 2 || next_[1] != 0) {
      ended_ = true;
      marker_ = end_ - next_ < 2 ? 0xff : next_[1];
      return;
    }
    bytes_[size_++] = 0xff;
    next_ += 2;
  }
}

void BaselineScan::Start(ByteSpan data, uint32_t bit) {
  next_ = data.data;
  end_ = data.data + data.size;
  Clear();
  position = bit;
}

void BaselineScan::Clear() {
  size_ = 0;
  position = 0;
  ended_ = false;
  marker_ = 0;
  Fill();
}

void BaselineScan::Fill() {
  const size_t read = std::min<size_t>(position / 8, size_);
  std::memmove(bytes_, bytes_ + read, size_ - read);
  size_ -= read;
  position -= 8 * read;
  known_at_ = nullptr;
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
  next_ += 2;
  Clear();
  return true;
}

bool BaselineScan::IsAtEnd(uint32_t left) {
  if (!ended_) Fill();
  return ended_ && marker_ == 0 && position + left == 8 * size_;
}

const uint8_t* BaselineScan::FileByte() {
  const size_t at = position / 8;
  // Each byte of 255 is stuffed.
  if (known_at_ == nullptr) {
    known_at_ =
        next_ - (size_ - at) - std::count(bytes_ + at, bytes_ + size_, 0xff);
  } else {
    known_at_ += (at - known_) + std::count(bytes_ + known_, bytes_ + at, 0xff);
  }
  known_ = at;
  return known_at_;
}

bool BaselineScan::Finish() {
  while (!ended_) {
    position = 8 * size_;
    Fill();
  }
  return marker_ == kEoi;
}

}  // namespace liquid
