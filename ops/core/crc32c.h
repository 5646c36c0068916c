// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as in RFC 3720.
#ifndef LIQUID_OPS_CORE_CRC32C_H_
#define LIQUID_OPS_CORE_CRC32C_H_

#include <cstdint>

#include "ops/core/span.h"

namespace liquid {

// Extends `crc` (0 to start) by `bytes`. Uses the SSE4.2 or ARMv8 instruction
// where the processor has it. Thread-safe, O(size).
uint32_t ExtendCrc32c(uint32_t crc, ByteSpan bytes);

// The same without the instruction: what other processors run.
uint32_t ExtendCrc32cPortable(uint32_t crc, ByteSpan bytes);

inline uint32_t Crc32c(ByteSpan bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_CRC32C_H_
