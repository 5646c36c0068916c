#include "ops/codecs/jpeg/jpeg_index.h"

#include <cstring>
#include <vector>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/baseline/baseline_decode.h"
#include "ops/codecs/jpeg/baseline/baseline_index.h"

namespace liquid {

Status AppendJpegIndex(ByteSpan jpeg, const DecodeLimits& limits,
                       uint32_t spacing, std::string* index) {
  BaselineHeader header;
  if (jpeg.size >= kMaxIndexedBytes || !ReadBaselineHeader(jpeg, &header)) {
    return OkStatus();
  }
  LIQUID_RETURN_IF_ERROR(
      CheckImageSize("jpeg", header.height, header.width, limits));
  const BaselineGrid grid(header, spacing);
  std::vector<BaselineEntry> entries;
  if (FindBaselineEntries(jpeg, header, grid, &entries)) {
    AppendBaselineIndex(entries, grid, spacing, jpeg.size, index);
  }
  return OkStatus();
}

Status JpegIndexSize(ByteSpan bytes, size_t* size) {
  *size = 0;
  constexpr size_t kStart = 8;
  if (bytes.size < 4 || std::memcmp(bytes.data, kJpegIndexMagic, 4) != 0) {
    return OkStatus();
  }
  const size_t said = bytes.size < kStart ? 0 : LoadLittle32(bytes.data + 4);
  if (said < kBaselineIndexHeader || said % 4 != 0 || said > bytes.size) {
    return DataLoss("jpeg: the index says that it has " + std::to_string(said) +
                    " bytes, of " + std::to_string(bytes.size) +
                    " that are there");
  }
  *size = said;
  return OkStatus();
}

}  // namespace liquid
