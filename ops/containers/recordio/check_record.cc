#include "ops/containers/recordio/check_record.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "ops/codecs/codec.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/containers/recordio/little_endian.h"
#include "ops/core/crc32c.h"

namespace liquid {
namespace {

// Where an index of a JPEG has its spacing.
constexpr size_t kSpacing = 8;

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

Status CheckIndex(const SampleRecord& sample, const IndexRow& row,
                  const DecodeLimits& limits) {
  const ByteSpan stored = sample.index;
  if (stored.size == 0) return OkStatus();
  const auto format = static_cast<Format>(row.format);
  if (format != Format::kJpeg) {
    return DataLoss("an index of a JPEG stands behind its image, which is " +
                    std::string(FormatName(format)));
  }
  std::string made;
  const auto spacing = LoadLittleEndian<uint32_t>(stored.data + kSpacing);
  LIQUID_RETURN_IF_ERROR(AppendJpegIndex(sample.image, limits, spacing, &made));
  if (made.size() == stored.size &&
      std::memcmp(made.data(), stored.data, stored.size) == 0) {
    return OkStatus();
  }
  return DataLoss(
      "the index of its JPEG is not the one that the file makes: make it anew "
      "with liquid-tf edit --jpeg_index, or with compact(path, jpeg_index=)");
}

}  // namespace liquid
