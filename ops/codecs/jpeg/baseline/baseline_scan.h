// The entropy-coded data of a scan, without stuffing.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCAN_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCAN_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/span.h"

namespace liquid {

// Holds a piece of the data at a time. A segment ends at a marker; zeros follow
// it here.
class BaselineScan {
 public:
  // Blocks of an MCU: 4 + 1 + 1 of 4:2:0.
  static constexpr size_t kMaxBlocks = 6;
  // A coefficient has a code of at most 16 bits and 15 of its own.
  static constexpr size_t kMcuBytes = kMaxBlocks * 64 * 4;

  // `data` begins where the scan's does and ends where the file does.
  explicit BaselineScan(ByteSpan data)
      : next_(data.data), end_of_file_(data.data + data.size) {
    Fill();
  }
  BaselineScan(const BaselineScan&) = delete;
  BaselineScan& operator=(const BaselineScan&) = delete;

  // Call before an MCU is read.
  void Prepare() {
    if (position > safe_) Fill();
  }
  // Whether what was read was there.
  bool IsInside() const { return position <= 8 * size_; }

  // Goes on behind the restart marker of this number. False where the segment
  // does not end there, with less than a byte left.
  bool Restart(uint32_t number);
  // Passes over what is left. False where no EOI follows.
  bool Finish();

  const uint8_t* bytes() const { return bytes_; }

  uint64_t position = 0;  // bit of bytes()

 private:
  static constexpr size_t kPiece = 16384;

  void Fill();
  void Unstuff();

  const uint8_t* next_;
  const uint8_t* const end_of_file_;
  size_t size_ = 0;
  uint64_t safe_ = 0;   // up to this bit a whole MCU can be read
  bool ended_ = false;  // at a marker
  uint8_t marker_ = 0;  // 0: the file ended
  uint8_t bytes_[kPiece + kMcuBytes + 8];
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCAN_H_
