// Bits of a span of bytes, from the least significant of the first byte on.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_BITS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_BITS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/codecs/l3/host/l3_arithmetic.h"

namespace liquid {

class L3BitReader {
 public:
  L3BitReader() = default;
  L3BitReader(const uint8_t* begin, const uint8_t* end, uint32_t at = 0)
      : bytes_(begin), size_(8 * static_cast<uint32_t>(end - begin)), at_(at) {}

  uint32_t At() const { return at_; }
  // Bytes that some bit has been read of.
  const uint8_t* Position() const { return bytes_ + (at_ + 7) / 8; }

  // Reads up to 16 bits. False: there are not as many.
  bool Read(uint32_t count, uint32_t* value) {
    if (size_ - at_ < count) return false;
    *value = L3Bits(bytes_, at_, count);
    at_ += count;
    return true;
  }

  // Reads zeros and the one that ends them. False: there is none within
  // `longest` zeros.
  bool ReadRun(uint32_t longest, uint32_t* zeros) {
    for (uint32_t count = 0; count <= longest && at_ < size_; ++count) {
      const uint32_t bit = bytes_[at_ / 8] >> (at_ % 8) & 1;
      ++at_;
      if (bit != 0) {
        *zeros = count;
        return true;
      }
    }
    return false;
  }

 private:
  const uint8_t* bytes_ = nullptr;
  uint32_t size_ = 0;  // bits
  uint32_t at_ = 0;
};

// Writes into memory that is large enough.
class L3BitWriter {
 public:
  explicit L3BitWriter(uint8_t* at) : begin_(at), at_(at) {}

  // Appends up to 32 bits, of which `value` has no more.
  void Write(uint32_t value, uint32_t count) {
    pending_ |= uint64_t{value} << count_;
    count_ += count;
    while (count_ >= 8) {
      *at_++ = static_cast<uint8_t>(pending_);
      pending_ >>= 8;
      count_ -= 8;
    }
  }

  // Fills the last byte with zeros and returns the bytes written.
  size_t Finish() {
    if (count_ > 0) *at_++ = static_cast<uint8_t>(pending_);
    pending_ = 0;
    count_ = 0;
    return static_cast<size_t>(at_ - begin_);
  }

 private:
  uint8_t* begin_;
  uint8_t* at_;
  uint64_t pending_ = 0;
  uint32_t count_ = 0;  // bits of pending_
};

// Packs the low `width` bits of 8 values, `bias` added to each. Writes 16
// bytes, of which `width` count.
template <typename Sample>
void L3PackGroup(const Sample* values, uint32_t bias, uint32_t width,
                 uint8_t* at) {
  if (width == 0) return;
  const uint32_t mask = (1u << width) - 1;
  uint64_t halves[2] = {0, 0};  // of 4 pixels each
  for (uint32_t k = 0; k < kL3Group; ++k) {
    halves[k / 4] |= uint64_t{(values[k] + bias) & mask} << (width * (k % 4));
  }
  const uint32_t shift = 4 * width;
  uint64_t low = halves[0], high = halves[1];
  if (shift < 64) {
    low |= halves[1] << shift;
    high = halves[1] >> (64 - shift);
  }
  std::memcpy(at, &low, 8);
  std::memcpy(at + 8, &high, 8);
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_BITS_H_
