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

  BaselineScan() = default;
  BaselineScan(const BaselineScan&) = delete;
  BaselineScan& operator=(const BaselineScan&) = delete;

  // Goes to this bit of the first byte of `data`, which ends where the file
  // does, or sooner: behind a byte, with what stuffs it.
  void Start(ByteSpan data, uint32_t bit);

  // Whether Fill is due before another MCU is read.
  bool IsLow() const { return position > safe_; }
  // Moves what is left of the piece to its start, and reads more behind it.
  void Fill();
  // Whether what was read was there.
  bool IsInside() const { return position <= 8 * size_; }

  // Goes on behind the restart marker of this number. False where the segment
  // does not end there, with less than a byte left.
  bool Restart(uint32_t number);
  // Whether all that Start was given was read, but for `left` bits of the last
  // byte, and no marker follows.
  bool IsAtEnd(uint32_t left);
  // The file's byte that the next bit is of. Takes as long as what was read
  // since the last call.
  const uint8_t* FileByte();
  // Passes over what is left. False where no EOI follows.
  bool Finish();

  const uint8_t* bytes() const { return bytes_; }

  uint64_t position = 0;  // bit of bytes()

 private:
  static constexpr size_t kPiece = 16384;

  void Clear();
  void Unstuff();

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  size_t size_ = 0;
  uint64_t safe_ = 0;   // up to this bit a whole MCU can be read
  bool ended_ = false;  // at a marker
  uint8_t marker_ = 0;  // at next_; 0: the data ended
  // A byte of bytes(), and where the file has it; null: not known.
  size_t known_ = 0;
  const uint8_t* known_at_ = nullptr;
  uint8_t bytes_[kPiece + kMcuBytes + 8];
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_SCAN_H_
