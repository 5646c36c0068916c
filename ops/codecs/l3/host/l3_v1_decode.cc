#include <cstring>
#include <string>
#include <vector>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_places.h"
#include "ops/codecs/l3/host/l3_rows.h"
#include "ops/codecs/l3/host/l3_targets.h"

namespace liquid {
namespace {

// The largest patch: 255 rows of 8 bits a pixel. It is what a uint16 holds.
constexpr size_t kMaxPatchBytes = UINT16_MAX;

Status Describe(L3RowsResult result, size_t offset, uint64_t patch, int channel,
                uint64_t patch_end) {
  const std::string where = "l3: patch " + std::to_string(patch) + " of " +
                            "RGB"[channel] + ": the row at offset " +
                            std::to_string(offset);
  switch (result) {
    case L3RowsResult::kBadWidth:
      return DataLoss(where + " has a width over 8 bits");
    case L3RowsResult::kShort:
      return DataLoss(where + " reaches past the patch's end at offset " +
                      std::to_string(patch_end));
    default:
      return DataLoss("l3: patch " + std::to_string(patch) + " of " +
                      "RGB"[channel] + ": the last row ends at offset " +
                      std::to_string(offset) + ", the patch at offset " +
                      std::to_string(patch_end));
  }
}

}  // namespace

Status PeekL3V1(ByteSpan bytes, const DecodeLimits& limits, L3Info* info) {
  if (bytes.size < kL3V1HeaderBytes) {
    return DataLoss("l3: the file ends at offset " +
                    std::to_string(bytes.size) + ", inside the header of 13");
  }
  const uint32_t width = LoadLittle32(bytes.data + 4);
  const uint32_t height = LoadLittle32(bytes.data + 8);
  if (width > INT32_MAX || height > INT32_MAX) {
    return DataLoss("l3: the sides at offset 4 (" + std::to_string(width) +
                    " x " + std::to_string(height) + ") must be below 2^31");
  }
  if (bytes.data[12] == 0) {
    return DataLoss("l3: the patch's side at offset 12 must not be 0");
  }
  LIQUID_RETURN_IF_ERROR(CheckImageSize("l3", height, width, limits));
  info->version = L3Version::kV1;
  info->patch = bytes.data[12];
  info->image.height = height;
  info->image.width = width;
  info->image.channels = 3;
  info->image.bits = 8;
  return OkStatus();
}

Status DecodeL3V1(ByteSpan bytes, const L3Info& info, const Window& window,
                  uint8_t* out, size_t row_stride) {
  const uint64_t across = L3PatchesAcross(info.image.width, info.patch);
  const L3PatchRange range = L3PatchesOf(window, info.patch);
  std::vector<L3Place> places;
  LIQUID_RETURN_IF_ERROR(FindL3V1Patches(bytes, info, range, &places));
  const size_t met = places.size() / 3;  // patches of a channel
  const L3RowDecoders& decoders = CurrentL3Decoders();
  Buffer padded;
  size_t i = 0;
  for (uint32_t py = range.y_begin; py < range.y_end; ++py) {
    for (uint32_t px = range.x_begin; px < range.x_end; ++px, ++i) {
      const uint64_t number = py * across + px;
      const L3Rows rows =
          L3Intersect(window, info.patch, px, py, info.image, out, row_stride);
      L3V1Patch patch;
      patch.width = std::min(info.patch, info.image.width - px * info.patch);
      patch.height = std::min(info.patch, info.image.height - py * info.patch);
      for (int c = 0; c < 3; ++c) {
        const uint64_t offset = places[c * met + i].offset;
        const size_t size = places[c * met + i].size;
        patch.begin[c] = bytes.data + offset;
        if (bytes.size - offset < size + kL3Padding) {
          // The decoders read ahead: the file's last patches move to where
          // they may.
          if (padded == nullptr) {
            padded = AllocateBuffer(3 * (kMaxPatchBytes + kL3Padding));
            if (padded == nullptr) return OutOfMemory("l3", kMaxPatchBytes);
          }
          uint8_t* copy = padded.get() + c * (kMaxPatchBytes + kL3Padding);
          std::memcpy(copy, patch.begin[c], size);
          std::memset(copy + size, 0, kL3Padding);
          patch.begin[c] = copy;
        }
        patch.end[c] = patch.begin[c] + size;
      }
      const uint8_t* stopped = nullptr;
      const L3RowsResult result = decoders.v1(patch, rows, &stopped);
      if (result == L3RowsResult::kOk) continue;
      for (int c = 0; c < 3; ++c) {
        if (stopped < patch.begin[c] || stopped > patch.end[c]) continue;
        const L3Place& place = places[c * met + i];
        return Describe(
            result,
            place.offset + static_cast<size_t>(stopped - patch.begin[c]),
            number, c, place.offset + place.size);
      }
    }
  }
  return OkStatus();
}

}  // namespace liquid
