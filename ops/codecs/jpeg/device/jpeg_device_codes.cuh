// Entropy decoding: a thread a segment, from an entry of the index to the next.
//
// It takes what the decoder of our own takes (ops/codecs/jpeg/baseline), and
// finds what that finds wrong.
#ifndef LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_CODES_CUH_
#define LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_CODES_CUH_

#include "ops/codecs/jpeg/device/jpeg_device.h"
#include "ops/codecs/l3/device/l3_device_team.cuh"

namespace liquid {

// Where a scan's coefficients lie in a block, row by row.
LIQUID_DEVICE_TABLE uint8_t kJpegOrder[kJpegBlockSize] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

// A place in the bytes of a segment. Behind these, and behind a marker, there
// are zeros.
class JpegBits {
 public:
  // `bytes` begin at a multiple of 4.
  LIQUID_DEVICE JpegBits(const uint8_t* bytes, const JpegDeviceSegment& segment)
      : bytes_(bytes + segment.begin / 4 * 4),
        next_(static_cast<uint32_t>(segment.begin % 4)),
        end_(next_ + segment.bytes) {
    Fill();
    Skip(segment.bit);
  }

  // The next ones, the first one highest. At least 32 are there after Fill.
  LIQUID_DEVICE uint64_t word() const { return word_; }
  LIQUID_DEVICE void Skip(uint32_t bits) {
    word_ <<= bits;
    count_ -= bits;
  }

  LIQUID_DEVICE void Fill() {
    if (count_ >= 32) return;
    if (end_ - next_ >= 4) {
      const uint32_t four = Four();
      // A byte of 255 among them is looked at by itself.
      if (((~four - 0x01010101) & four & 0x80808080) == 0) {
        word_ |= uint64_t{four} << (32 - count_);
        count_ += 32;
        next_ += 4;
        return;
      }
    }
    LIQUID_SELDOM
    while (count_ < 32) {
      uint32_t byte = 0;
      if (!IsAtMarker()) {
        byte = bytes_[next_];
        next_ += byte == 0xFF ? 2 : 1;
      } else {
        made_up_ += 8;
      }
      word_ |= uint64_t{byte} << (56 - count_);
      count_ += 8;
    }
  }

  // Whether what was skipped was there.
  LIQUID_DEVICE bool IsInside() const { return count_ >= made_up_; }

  // Goes on behind the restart marker of this number. False where it is not
  // there, with less than a byte left before it. What was skipped was there.
  LIQUID_DEVICE bool Restart(uint32_t number) {
    if (count_ - made_up_ >= 8 || end_ - next_ < 2 || bytes_[next_] != 0xFF ||
        bytes_[next_ + 1] != 0xD0 + number) {
      return false;
    }
    next_ += 2;
    word_ = 0;
    count_ = made_up_ = 0;
    return true;
  }

  // Whether all was read but for `left` bits, and no marker follows.
  LIQUID_DEVICE bool IsAtEnd(uint32_t left) const {
    return next_ == end_ && count_ - made_up_ == left;
  }

  // Whether an end of the file follows what is left.
  LIQUID_DEVICE bool IsBeforeEnd() {
    while (!IsAtMarker()) next_ += bytes_[next_] == 0xFF ? 2 : 1;
    return end_ - next_ >= 2 && bytes_[next_ + 1] == 0xD9;
  }

 private:
  // Whether a marker comes next, or the end.
  LIQUID_DEVICE bool IsAtMarker() const {
    if (next_ == end_) return true;
    return bytes_[next_] == 0xFF &&
           (end_ - next_ < 2 || bytes_[next_ + 1] != 0);
  }

  // The next four bytes, the first one highest, of words that hold them.
  LIQUID_DEVICE uint32_t Four() const {
    const uint32_t skew = next_ % 4;
    const uint8_t* const words = bytes_ + (next_ - skew);
    const uint32_t low = L3Read<uint32_t>(words);
    const uint32_t high = skew == 0 ? low : L3Read<uint32_t>(words + 4);
    // From byte `skew` of the two on, the other way round.
    return L3Permute(low, high, 0x0123 + skew * 0x1111);
  }

  const uint8_t* const bytes_;
  uint32_t next_;  // byte
  const uint32_t end_;
  uint64_t word_ = 0;
  uint32_t count_ = 0;    // valid bits of `word_`
  uint32_t made_up_ = 0;  // of all that was read
};

// Of a prefix of kJpegLookupBits: the symbol of the code that it begins with |
// the code's bits << 8; 0 where that is longer or none.
LIQUID_DEVICE inline uint32_t JpegLookUp(const JpegDeviceCodes& codes,
                                         uint32_t prefix) {
  const uint32_t top = prefix << (16 - kJpegLookupBits);
  for (uint32_t bits = 1; bits <= kJpegLookupBits; ++bits) {
    if (top >= codes.end[bits - 1]) continue;
    const int32_t code = static_cast<int32_t>(top >> (16 - bits));
    return codes.symbols[code + codes.delta[bits - 1]] | bits << 8;
  }
  return 0;
}

// The same of 16 bits, where JpegLookUp has none.
LIQUID_DEVICE inline uint32_t JpegFindLong(const JpegDeviceCodes& codes,
                                           uint32_t top) {
  LIQUID_SELDOM
  for (uint32_t bits = kJpegLookupBits + 1; bits <= 16; ++bits) {
    if (top >= codes.end[bits - 1]) continue;
    const int32_t code = static_cast<int32_t>(top >> (16 - bits));
    return codes.symbols[code + codes.delta[bits - 1]] | bits << 8;
  }
  return 0;
}

// A number of `size` bits, from 1 to 15, which are the highest of `word`.
LIQUID_DEVICE inline int32_t JpegValue(uint64_t word, uint32_t size) {
  const int32_t value = static_cast<int32_t>(word >> (64 - size));
  return value >> (size - 1) == 0 ? value - ((1 << size) - 1) : value;
}

// Decodes a block, of which `block` is all 0. False where a code is none, or
// the block has no place for it.
LIQUID_DEVICE inline bool JpegDecodeBlock(const JpegDeviceImage& image,
                                          const JpegDeviceComponent& component,
                                          const JpegSharedCodes& shared,
                                          JpegBits& bits, int16_t* block) {
  uint32_t table = component.dc;
  uint32_t place = 0;
  while (place < kJpegBlockSize) {
    bits.Fill();
    const uint64_t word = bits.word();
    uint32_t found =
        shared.lookup[(table << kJpegLookupBits) +
                      static_cast<uint32_t>(word >> (64 - kJpegLookupBits))];
    if (found == 0) {
      found =
          JpegFindLong(image.codes[table], static_cast<uint32_t>(word >> 48));
      if (found == 0) return false;
    }
    const uint32_t length = found >> 8, symbol = found & 255;
    const uint32_t size = symbol & 15, run = symbol >> 4;  // of a DC, 0
    bits.Skip(length + size);
    if (size > 0) {
      place += run;
      if (place >= kJpegBlockSize) return false;
      block[shared.order[place]] =
          static_cast<int16_t>(JpegValue(word << length, size));
    } else if (place > 0 && run == 15) {
      place += 15;
      if (place >= kJpegBlockSize) return false;
    } else if (place > 0) {
      return run == 0;
    }
    ++place;
    table = component.ac;
  }
  return true;
}

// Decodes a segment; returns what is wrong with it. `block` is the thread's.
LIQUID_DEVICE inline JpegDeviceError JpegDecodeSegment(
    const JpegDeviceImage& image, const JpegDeviceSegment& segment,
    const uint8_t* bytes, const JpegSharedCodes& shared, int16_t* block,
    uint8_t* scratch) {
  JpegBits bits(bytes, segment);
  int32_t dc[3] = {segment.dc[0], segment.dc[1], segment.dc[2]};
  uint32_t until_restart = segment.until_restart, restart = segment.restart;
  const auto begin_interval = [&] {
    if (image.restart_interval == 0 || until_restart > 0) return true;
    if (!bits.Restart(restart)) return false;
    restart = (restart + 1) % 8;
    until_restart = image.restart_interval;
    dc[0] = dc[1] = dc[2] = 0;
    return true;
  };
  const uint32_t mcus = segment.dropped + segment.count;
  LIQUID_SELDOM
  for (uint32_t mcu = 0; mcu < mcus; ++mcu) {
    if (!begin_interval()) return JpegDeviceError::kRestart;
    const bool needed = mcu >= segment.dropped;
    const uint32_t column = segment.column + mcu - segment.dropped;
    LIQUID_SELDOM
    for (uint32_t c = 0; c < image.components; ++c) {
      const JpegDeviceComponent& component = image.component[c];
      const uint32_t of_mcu = component.h * component.v;
      LIQUID_SELDOM
      for (uint32_t i = 0; i < of_mcu; ++i) {
        LIQUID_UNROLL
        for (uint32_t k = 0; k < kJpegBlockSize; k += 2) {
          L3Write(uint32_t{0}, block + k);
        }
        if (!JpegDecodeBlock(image, component, shared, bits, block)) {
          return JpegDeviceError::kCode;
        }
        const int32_t value = c == 0   ? dc[0] + block[0]
                              : c == 1 ? dc[1] + block[0]
                                       : dc[2] + block[0];
        if (value != static_cast<int16_t>(value)) return JpegDeviceError::kDc;
        if (c == 0) dc[0] = value;
        if (c == 1) dc[1] = value;
        if (c == 2) dc[2] = value;
        block[0] = static_cast<int16_t>(value);
        if (!needed) continue;
        const uint32_t y = segment.row * component.v + i / component.h;
        const uint32_t x = column * component.h + i % component.h;
        uint8_t* const to =
            scratch + component.blocks +
            (uint64_t{y} * component.across + x) * kJpegBlockBytes;
        LIQUID_UNROLL
        for (uint32_t k = 0; k < kJpegBlockSize; k += 8) {
          const L3Piece piece = {{L3Read<uint32_t>(block + k),
                                  L3Read<uint32_t>(block + k + 2),
                                  L3Read<uint32_t>(block + k + 4),
                                  L3Read<uint32_t>(block + k + 6)}};
          L3Write(piece, to + k * sizeof(int16_t));
        }
      }
    }
    if (!bits.IsInside()) return JpegDeviceError::kShort;
    if (image.restart_interval > 0) --until_restart;
  }
  if (segment.end == JpegDeviceEnd::kFile) {
    return bits.IsBeforeEnd() ? JpegDeviceError::kNone : JpegDeviceError::kEnd;
  }
  if (segment.end == JpegDeviceEnd::kEntry &&
      (!begin_interval() || !bits.IsAtEnd(segment.spare) ||
       dc[0] != segment.end_dc[0] || dc[1] != segment.end_dc[1] ||
       dc[2] != segment.end_dc[2])) {
    return JpegDeviceError::kEntry;
  }
  return JpegDeviceError::kNone;
}

// Does a task. `images` are the batch's, and the segments behind them.
template <typename Block>
LIQUID_DEVICE void JpegDoCodes(Block& block, const L3DeviceTask& task,
                               const JpegDeviceImage* images,
                               const uint8_t* bytes, uint8_t* scratch,
                               uint8_t* memory, uint32_t* result) {
  auto& shared = *reinterpret_cast<JpegSharedCodes*>(memory);
  const JpegDeviceImage& image = images[task.begin[0]];
  const auto* const segments =
      reinterpret_cast<const JpegDeviceSegment*>(
          reinterpret_cast<const uint8_t*>(images) + image.segments) +
      task.number;
  block.EachThread([&](uint32_t thread) {
    const uint32_t lookups = image.tables << kJpegLookupBits;
    for (uint32_t i = thread; i < lookups; i += block.Threads()) {
      shared.lookup[i] = static_cast<uint16_t>(JpegLookUp(
          image.codes[i >> kJpegLookupBits], i & ((1 << kJpegLookupBits) - 1)));
    }
    shared.order[thread] = kJpegOrder[thread];
  });
  block.EachThread([&](uint32_t thread) {
    if (thread >= task.width) return;
    shared.found[thread] = static_cast<uint32_t>(
        JpegDecodeSegment(image, segments[thread], bytes, shared,
                          shared.blocks + thread * kJpegThreadValues, scratch));
  });
  block.EachThread([&](uint32_t thread) {
    if (thread != 0) return;
    uint32_t found = 0;
    for (uint32_t i = 0; i < task.width && found == 0; ++i) {
      if (shared.found[i] != 0) found = shared.found[i] | i << 8;
    }
    *result = found;
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_DEVICE_JPEG_DEVICE_CODES_CUH_
