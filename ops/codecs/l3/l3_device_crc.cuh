// CRC-32C by all threads of a block.
//
// A checksum is linear: it is the sum of those of chunks, each times the power
// of x that stands for the bytes behind it. Chunks are counted from the end, so
// that these powers are a table.
#ifndef LIQUID_OPS_CODECS_L3_L3_DEVICE_CRC_CUH_
#define LIQUID_OPS_CODECS_L3_L3_DEVICE_CRC_CUH_

#include "ops/codecs/l3/l3_device_team.cuh"

namespace liquid {

// An odd number of words, so that neighbours read other banks of memory.
constexpr uint32_t kL3CrcChunk = 60;
constexpr uint32_t kL3CrcChunks =
    (kL3V2MaxPatchBytes + kL3CrcChunk - 1) / kL3CrcChunk;

LIQUID_HOST_DEVICE constexpr uint32_t L3CrcTimesX(uint32_t value) {
  return value >> 1 ^ (value & 1) * 0x82F63B78u;
}

// The product of two remainders, bit-reflected as the checksum is.
LIQUID_HOST_DEVICE constexpr uint32_t L3CrcMultiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    product ^= (a >> (31 - i) & 1) * b;
    b = L3CrcTimesX(b);
  }
  return product;
}

struct L3CrcTables {
  uint32_t bytes[256];             // of one byte
  uint32_t weights[kL3CrcChunks];  // of the chunk, by its place from the end
};

LIQUID_HOST_DEVICE constexpr L3CrcTables L3MakeCrcTables() {
  L3CrcTables tables = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int k = 0; k < 8; ++k) value = L3CrcTimesX(value);
    tables.bytes[i] = value;
  }
  const uint32_t one = 0x80000000u;
  uint32_t chunk = one;
  for (uint32_t i = 0; i < 8 * kL3CrcChunk; ++i) chunk = L3CrcTimesX(chunk);
  uint32_t weight = one;
  for (uint32_t i = 0; i < kL3CrcChunks; ++i) {
    tables.weights[i] = weight;
    weight = L3CrcMultiply(weight, chunk);
  }
  return tables;
}

LIQUID_DEVICE_TABLE L3CrcTables kL3CrcTables = L3MakeCrcTables();

// What chunk `index` from the end contributes to the checksum of `size` bytes,
// from a register of 0 and not inverted. `table` is kL3CrcTables.bytes, nearer.
LIQUID_DEVICE inline uint32_t L3CrcOfChunk(const uint32_t* table,
                                           const uint8_t* bytes, uint32_t size,
                                           uint32_t index) {
  const uint32_t end = size - index * kL3CrcChunk;
  const uint32_t begin = end < kL3CrcChunk ? 0 : end - kL3CrcChunk;
  uint32_t value = 0;
  for (uint32_t i = begin; i < end; ++i) {
    value = table[(value ^ bytes[i]) & 255] ^ value >> 8;
  }
  return L3CrcMultiply(value, kL3CrcTables.weights[index]);
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_L3_DEVICE_CRC_CUH_
