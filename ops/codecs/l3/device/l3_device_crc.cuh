// CRC-32C by all threads of a block.
//
// A checksum is the remainder of a polynomial. Each of T threads takes every
// T-th word: it multiplies what it has by x^(32 T) and adds the next word. What
// the warps have is put together likewise, and in the end each lane's part
// times what stands for the words of the lanes behind it. To multiply by one
// constant, a value is taken apart into digits of five bits, whose products are
// tables of 32 entries: one in each lane's registers, so that a look-up is an
// exchange between lanes, and no two of them meet in a bank of memory.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_CRC_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_CRC_CUH_

#include "ops/codecs/l3/device/l3_device_team.cuh"

namespace liquid {

constexpr uint32_t kL3CrcDigitBits = 5;  // 32 values, as many as lanes
constexpr uint32_t kL3CrcDigits = 7;

// The product with x of a remainder, which is bit-reflected as the checksum is.
LIQUID_HOST_DEVICE constexpr uint32_t L3CrcTimesX(uint32_t value) {
  return value >> 1 ^ (value & 1) * 0x82F63B78u;
}

// The product of two remainders.
LIQUID_HOST_DEVICE constexpr uint32_t L3CrcMultiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    product ^= (a >> (31 - i) & 1) * b;
    b = L3CrcTimesX(b);
  }
  return product;
}

struct L3CrcTables {
  // By warps - 1: the products of each digit with x^(32 T).
  uint32_t products[kL3MaxChannels][kL3CrcDigits][kL3Warp];
  // x^(32 (1 + i)): of a word that has i behind it.
  uint32_t weights[kL3Warp];
};

LIQUID_HOST_DEVICE constexpr L3CrcTables L3MakeCrcTables() {
  L3CrcTables tables = {};
  uint32_t weight = 0x80000000u;  // 1
  for (uint32_t i = 0; i < kL3Warp; ++i) {
    for (int k = 0; k < 32; ++k) weight = L3CrcTimesX(weight);
    tables.weights[i] = weight;
  }
  uint32_t product = 0x80000000u;
  for (uint32_t warps = 1; warps <= kL3MaxChannels; ++warps) {
    product = L3CrcMultiply(product, weight);
    for (uint32_t k = 0; k < kL3CrcDigits; ++k) {
      for (uint32_t digit = 0; digit < kL3Warp; ++digit) {
        tables.products[warps - 1][k][digit] =
            L3CrcMultiply(digit << kL3CrcDigitBits * k, product);
      }
    }
  }
  return tables;
}

LIQUID_DEVICE_TABLE L3CrcTables kL3CrcTables = L3MakeCrcTables();

// Multiplies by x^(32 T), where T is the threads of some warps.
template <typename Warp>
class L3CrcMultiplier {
 public:
  using Lanes = typename Warp::Lanes;

  LIQUID_DEVICE L3CrcMultiplier(Warp& warp, uint32_t warps) : warp_(warp) {
    warp.Compute([&](uint32_t lane) {
      LIQUID_UNROLL
      for (uint32_t k = 0; k < kL3CrcDigits; ++k) {
        digits_[k][lane] = kL3CrcTables.products[warps - 1][k][lane];
      }
    });
  }

  // What `value` becomes, multiplied, with `next` added.
  LIQUID_DEVICE Lanes Step(Lanes value, Lanes next) {
    LIQUID_UNROLL
    for (uint32_t k = 0; k < kL3CrcDigits; ++k) {
      Lanes digit;
      warp_.Compute([&](uint32_t lane) {
        digit[lane] = value[lane] >> kL3CrcDigitBits * k;
      });
      Lanes product = warp_.FromLane(digits_[k], digit);
      warp_.Compute([&](uint32_t lane) { next[lane] ^= product[lane]; });
    }
    return next;
  }

 private:
  Warp& warp_;
  Lanes digits_[kL3CrcDigits];
};

// What warp number `index` of `warps` has of the checksum of `count` words, by
// lanes: for L3CrcOfWarps.
template <typename Warp>
LIQUID_DEVICE typename Warp::Lanes L3CrcOfWarp(Warp& warp, uint32_t index,
                                               uint32_t warps,
                                               const uint32_t* words,
                                               uint32_t count) {
  using Lanes = typename Warp::Lanes;
  L3CrcMultiplier<Warp> multiplier(warp, warps);
  const uint32_t threads = warps * kL3Warp;
  const uint32_t rounds = (count + threads - 1) / threads;
  // The last word is the last thread's; zeros before the first change nothing.
  const uint32_t before = rounds * threads - count;
  Lanes place, crc;
  warp.Compute([&](uint32_t lane) {
    const uint32_t thread = index * kL3Warp + lane;
    place[lane] = thread - before;
    crc[lane] = thread < before ? 0 : words[place[lane]];
  });
  for (uint32_t round = 1; round < rounds; ++round) {
    Lanes next;
    warp.Compute([&](uint32_t lane) {
      place[lane] += threads;
      next[lane] = words[place[lane]];
    });
    crc = multiplier.Step(crc, next);
  }
  return crc;
}

// The checksum, from a register of 0 and not inverted, of which warp i has left
// crcs[i * kL3Warp + lane]. One warp does it, and lane 0 gets it.
template <typename Warp>
LIQUID_DEVICE uint32_t L3CrcOfWarps(Warp& warp, uint32_t warps,
                                    const uint32_t* crcs) {
  using Lanes = typename Warp::Lanes;
  L3CrcMultiplier<Warp> multiplier(warp, 1);
  Lanes crc = warp.Zeros();
  for (uint32_t i = 0; i < warps; ++i) {
    Lanes next;
    warp.Compute([&](uint32_t lane) { next[lane] = crcs[i * kL3Warp + lane]; });
    crc = multiplier.Step(crc, next);
  }
  warp.Compute([&](uint32_t lane) {
    crc[lane] =
        L3CrcMultiply(crc[lane], kL3CrcTables.weights[kL3Warp - 1 - lane]);
  });
  return warp.Xor(crc);
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_CRC_CUH_
