#include "ops/codecs/l3/host/l3_places.h"

#include <algorithm>
#include <string>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_compact.h"

namespace liquid {
namespace {

Status TableReachesPastEnd(ByteSpan bytes, uint64_t patches, uint64_t data_at) {
  return DataLoss("l3: the file ends at offset " + std::to_string(bytes.size) +
                  ", inside the table of " + std::to_string(patches) +
                  " patches that ends at offset " + std::to_string(data_at));
}

Status EndsElsewhere(ByteSpan bytes, uint64_t end) {
  return DataLoss("l3: by its table the file ends at offset " +
                  std::to_string(end) + "; it has " +
                  std::to_string(bytes.size) + " bytes");
}

}  // namespace

Status FindL3V1Patches(ByteSpan bytes, const L3Info& info,
                       const L3PatchRange& range,
                       std::vector<L3Place>* places) {
  const uint64_t across = L3PatchesAcross(info.image.width, info.patch);
  const uint64_t patches =
      across * L3PatchesAcross(info.image.height, info.patch);
  const uint64_t data_at = kL3V1HeaderBytes + patches * 6;
  if (data_at > bytes.size) return TableReachesPastEnd(bytes, patches, data_at);
  const uint8_t* sizes = bytes.data + kL3V1HeaderBytes;
  places->clear();
  places->reserve(3 * uint64_t{range.x_end - range.x_begin} *
                  (range.y_end - range.y_begin));
  uint64_t offset = data_at;
  for (uint64_t c = 0; c < 3; ++c) {
    for (uint64_t p = 0; p < patches; ++p) {
      const uint64_t px = p % across, py = p / across;
      const uint32_t size = LoadLittle16(sizes + 2 * (c * patches + p));
      if (py >= range.y_begin && py < range.y_end && px >= range.x_begin &&
          px < range.x_end) {
        places->push_back({offset, size});
      }
      offset += size;
    }
  }
  return offset == bytes.size ? OkStatus() : EndsElsewhere(bytes, offset);
}

Status L3V2Table::Read(ByteSpan bytes, const L3Info& info, L3V2Table* table) {
  const ImageInfo& image = info.image;
  table->across_ = L3PatchesAcross(image.width, kL3V2Patch);
  const uint64_t patches =
      table->across_ * L3PatchesAcross(image.height, kL3V2Patch);
  table->data_at_ = kL3V2HeaderBytes + 4 * (patches + 1);
  if (table->data_at_ > bytes.size) {
    return TableReachesPastEnd(bytes, patches, table->data_at_);
  }
  table->entries_ = bytes.data + kL3V2HeaderBytes;
  table->data_size_ = LoadLittle32(table->entries_ + 4 * patches);
  if (info.profile == L3Profile::kCompact) {
    table->least_ = 6;
    table->most_ = kL3CompactMaxPatchBytes;
  } else {
    table->least_ = 4 + 4 * uint32_t{image.channels};
    table->most_ = kL3V2MaxPatchBytes;
  }
  const uint64_t end = table->data_at_ + table->data_size_;
  return end == bytes.size ? OkStatus() : EndsElsewhere(bytes, end);
}

Status L3V2Table::Find(uint64_t number, L3Place* place) const {
  const uint32_t begin = LoadLittle32(entries_ + 4 * number);
  const uint32_t end = LoadLittle32(entries_ + 4 * number + 4);
  if (end > data_size_ || begin > end || end - begin < least_ ||
      end - begin > most_) {
    return DataLoss("l3: the table at offset " +
                    std::to_string(kL3V2HeaderBytes + 4 * number) +
                    " puts patch " + std::to_string(number) + " at " +
                    std::to_string(begin) + " to " + std::to_string(end) +
                    " of " + std::to_string(data_size_) + " bytes");
  }
  *place = {data_at_ + begin, end - begin};
  return OkStatus();
}

bool L3V2Table::FindRun(uint64_t first, uint64_t last, L3Place* place,
                        uint32_t* largest) const {
  const uint8_t* const entries = entries_ + 4 * first;
  const uint32_t begin = LoadLittle32(entries);
  *largest = 0;
  uint32_t end = begin;
  for (uint64_t i = 1; i <= last - first; ++i) {
    const uint32_t next = LoadLittle32(entries + 4 * i);
    *largest = std::max(*largest, next - end);
    end = next;
  }
  *place = {data_at_ + begin, end - begin};
  return begin <= end && end <= data_size_ &&
         end - begin >= (last - first) * least_;
}

}  // namespace liquid
