#include "ops/core/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace liquid {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;

constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    }
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int k = 1; k < 8; ++k) {
      const uint32_t previous = tables[k - 1][i];
      tables[k][i] = (previous >> 8) ^ tables[0][previous & 0xFF];
    }
  }
  return tables;
}

constexpr std::array<std::array<uint32_t, 256>, 8> kTables = MakeTables();

// Every variant works on the inverted register; ExtendCrc32c inverts.
uint32_t ExtendTable(uint32_t crc, const uint8_t* data, size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    const uint32_t low =
        crc ^ (uint32_t{data[0]} | uint32_t{data[1]} << 8 |
               uint32_t{data[2]} << 16 | uint32_t{data[3]} << 24);
    crc = kTables[7][low & 0xFF] ^ kTables[6][(low >> 8) & 0xFF] ^
          kTables[5][(low >> 16) & 0xFF] ^ kTables[4][low >> 24] ^
          kTables[3][data[4]] ^ kTables[2][data[5]] ^ kTables[1][data[6]] ^
          kTables[0][data[7]];
  }
  for (; size > 0; ++data, --size) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ *data) & 0xFF];
  }
  return crc;
}

#if defined(__x86_64__)

// The instruction has a latency of three cycles and a throughput of one, so
// three independent blocks run side by side. Their registers are then joined:
// appending n zero bytes to a message is a linear map of its register, given
// for n = kBlock by four tables of 256 entries.
constexpr size_t kBlock = 1024;

// Records come from the disk by way of memory, not of the cache. Three streams
// that begin anew every few KiB are more than the processor foresees, so the
// next blocks are asked for while these are summed. Past the end of the data
// that does nothing.
constexpr size_t kAhead = 3 * kBlock;
constexpr size_t kCacheLine = 64;

struct ZeroShift {
  std::array<std::array<uint32_t, 256>, 4> tables;

  uint32_t operator()(uint32_t crc) const {
    return tables[0][crc & 0xFF] ^ tables[1][(crc >> 8) & 0xFF] ^
           tables[2][(crc >> 16) & 0xFF] ^ tables[3][crc >> 24];
  }
};

ZeroShift MakeZeroShift() {
  static constexpr uint8_t kZeros[kBlock] = {};
  uint32_t image_of_bit[32];
  for (int bit = 0; bit < 32; ++bit) {
    image_of_bit[bit] = ExtendTable(uint32_t{1} << bit, kZeros, kBlock);
  }
  ZeroShift shift{};
  for (int byte = 0; byte < 4; ++byte) {
    for (uint32_t value = 0; value < 256; ++value) {
      for (int bit = 0; bit < 8; ++bit) {
        if (value >> bit & 1) {
          shift.tables[byte][value] ^= image_of_bit[8 * byte + bit];
        }
      }
    }
  }
  return shift;
}

uint64_t Load64(const uint8_t* data) {
  uint64_t value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

__attribute__((target("sse4.2"))) uint32_t ExtendSse42(uint32_t crc,
                                                       const uint8_t* data,
                                                       size_t size) {
  static const ZeroShift shift = MakeZeroShift();
  for (; size >= 3 * kBlock; data += 3 * kBlock, size -= 3 * kBlock) {
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < kBlock; i += 8) {
      if (i % kCacheLine == 0) {
        __builtin_prefetch(data + kAhead + i);
        __builtin_prefetch(data + kAhead + kBlock + i);
        __builtin_prefetch(data + kAhead + 2 * kBlock + i);
      }
      a = _mm_crc32_u64(a, Load64(data + i));
      b = _mm_crc32_u64(b, Load64(data + kBlock + i));
      c = _mm_crc32_u64(c, Load64(data + 2 * kBlock + i));
    }
    crc = shift(shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^
          static_cast<uint32_t>(c);
  }
  for (; size >= 8; data += 8, size -= 8) {
    crc = static_cast<uint32_t>(_mm_crc32_u64(crc, Load64(data)));
  }
  for (; size > 0; ++data, --size) crc = _mm_crc32_u8(crc, *data);
  return crc;
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t ExtendArm(uint32_t crc,
                                                   const uint8_t* data,
                                                   size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    uint64_t value;
    std::memcpy(&value, data, sizeof(value));
    crc = __crc32cd(crc, value);
  }
  for (; size > 0; ++data, --size) crc = __crc32cb(crc, *data);
  return crc;
}

#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, ByteSpan bytes) {
  crc = ~crc;
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  crc = has_instruction ? ExtendSse42(crc, bytes.data, bytes.size)
                        : ExtendTable(crc, bytes.data, bytes.size);
#elif defined(__aarch64__)
  // It belongs to ARMv8.1; processors of ARMv8.0 may lack it.
  static const bool has_instruction = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
  crc = has_instruction ? ExtendArm(crc, bytes.data, bytes.size)
                        : ExtendTable(crc, bytes.data, bytes.size);
#else
  crc = ExtendTable(crc, bytes.data, bytes.size);
#endif
  return ~crc;
}

uint32_t ExtendCrc32cPortable(uint32_t crc, ByteSpan bytes) {
  return ~ExtendTable(~crc, bytes.data, bytes.size);
}

}  // namespace liquid
