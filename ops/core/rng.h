// Random numbers that are the same on every machine and in every version.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC '11) turns a 64-bit key and a 128-bit counter into 128 random bits. The
// key is the seed; the counter holds who asks and how often it has asked:
//
//     bits   0..47  block, counted from 0; where it is that of a draw, bits 40
//                   and up are the number of the image's view
//     bits  48..55  purpose
//     bits  56..63  format
//     bits  64..127 epoch
//
// so no two streams of one seed share a block, and none needs another's state.
// A number below n is the high word of a 64x64 bit product: one multiplication,
// no loop whose length depends on the value, and a bias under n / 2^64. Nothing
// of <random> is used: its distributions differ between standard libraries.
#ifndef LIQUID_OPS_CORE_RNG_H_
#define LIQUID_OPS_CORE_RNG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace liquid {

// What a stream of random numbers is for. The values are part of the order of
// samples: they never change, and new ones are added at the end.
enum class RngPurpose : uint8_t {
  kFileOrder = 1,   // per epoch and format: the permutation of its files
  kBatchOrder = 2,  // per epoch: the order of formats and fates in each batch
  kRegionDraw = 3,  // per epoch and format: which member of the region is drawn
  kCrop = 4,        // per epoch: block i places the window of draw i
  kOpenDraw = 5,    // per epoch and format: which sample of the open records
  kResizedCrop = 6,  // per epoch: block i is draw i's; "format" is the attempt
  kMirror = 7,       // per epoch: block i says whether draw i is mirrored
  kSecondCrop = 8,   // per epoch: as kCrop, of a crop after a resize
  kRotate = 9,       // per epoch: block i turns draw i
  kColour = 10,      // per epoch: block i is draw i's; "format" is the part
  kGrayscale = 11,   // per epoch: block i says whether draw i becomes gray
  kCycle = 12,  // "epoch" is the entry: where in its cycle a source's begins
  kPinnedDraw = 13,    // per epoch and source: which pinned sample is drawn
  kPinnedOrder = 14,   // as kFileOrder, of pinned samples that are read
  kRepeats = 15,       // per epoch and source: the order of frequent samples
  kFirstSection = 16,  // per seed: where the records of a fidelity begin
  kPolicy = 17,        // per epoch: block i is draw i's; "format" is the part
  kFlip = 18,          // per epoch: block i says whether draw i is turned over
  kBlur = 19,      // per epoch: block i says whether draw i is blurred, and how
  kSolarize = 20,  // per epoch: block i says whether draw i is solarized
  kErasing = 23,   // per epoch: block i is draw i's; "format" is the attempt
  kMix = 24,       // per epoch: block i says whether and where i is mixed
  kMixShare = 25,  // likewise, in which shares; "format" is the attempt
};

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds of Philox4x32.
inline PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// One stream of 2^49 numbers. Thread-compatible, O(1) to make.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t epoch, RngPurpose purpose,
               uint8_t format = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        low_(FirstBlock(static_cast<uint8_t>(purpose), format)),
        epoch_(epoch) {}

  // 64 random bits.
  uint64_t Next() {
    if (used_ == kBuffered) Refill();
    return buffer_[used_++];
  }

  // A number in [0, n). Requires n > 0.
  uint64_t Below(uint64_t n) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(Next()) * n >>
                                 64);
  }

  // Puts `items` in random order (Fisher and Yates, from the end).
  template <typename T>
  void Shuffle(std::vector<T>* items) {
    for (size_t left = items->size(); left > 1; --left) {
      std::swap((*items)[left - 1], (*items)[Below(left)]);
    }
  }

 private:
  // Several blocks at a time, so that the compiler can run them side by side.
  static constexpr int kBlocks = 8;
  static constexpr int kBuffered = 2 * kBlocks;

  static uint64_t FirstBlock(uint64_t purpose, uint64_t format) {
    return format << 56 | purpose << 48;
  }

  void Refill() {
    for (int i = 0; i < kBlocks; ++i, ++low_) {
      const PhiloxCounter words = Philox4x32(
          {static_cast<uint32_t>(low_), static_cast<uint32_t>(low_ >> 32),
           static_cast<uint32_t>(epoch_), static_cast<uint32_t>(epoch_ >> 32)},
          key_);
      buffer_[2 * i] = uint64_t{words[1]} << 32 | words[0];
      buffer_[2 * i + 1] = uint64_t{words[3]} << 32 | words[2];
    }
    used_ = 0;
  }

  PhiloxKey key_;
  uint64_t low_;  // block, purpose and format of the next block
  uint64_t epoch_;
  std::array<uint64_t, kBuffered> buffer_;
  int used_ = kBuffered;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_RNG_H_
