#include "ops/containers/recordio/check_record.h"

#include <cinttypes>
#include <cstdio>

#include "ops/core/crc32c.h"

namespace liquid {
namespace {

std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08" PRIx32, value);
  return text;
}

}  // namespace

Status CheckRecord(ByteSpan framed, const IndexRow& row, std::string* scratch,
                   SampleRecord* sample) {
  if (framed.size != row.length) {
    return DataLoss("the index says " + std::to_string(row.length) +
                    " bytes, the file holds " + std::to_string(framed.size));
  }
  const uint32_t crc = Crc32c(framed);
  if (crc != row.crc32c) {
    return DataLoss("CRC-32C over bytes 0 to " + std::to_string(framed.size) +
                    " is " + Hex(crc) + ", the index says " + Hex(row.crc32c));
  }
  ByteSpan payload;
  LIQUID_RETURN_IF_ERROR(ParseRecord(framed, scratch, &payload));
  LIQUID_RETURN_IF_ERROR(ParseSamplePayload(payload, sample));
  if (sample->id != row.sample) {
    return DataLoss("holds sample " + std::to_string(sample->id) +
                    ", the index says sample " + std::to_string(row.sample));
  }
  return OkStatus();
}

}  // namespace liquid
