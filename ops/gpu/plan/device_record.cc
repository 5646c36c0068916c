#include "ops/gpu/plan/device_record.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/raw/raw_codec.h"
#include "ops/gpu/plan/jpeg_plan.h"

namespace liquid {
namespace {

// How many of an image's bytes a batch is planned by; of a JPEG file also the
// outline.
Status FindHead(const SampleRecord& content, const DecodeLimits& limits,
                uint64_t* bytes, std::string* outline) {
  Format format;
  LIQUID_RETURN_IF_ERROR(SniffFormat(content.image, &format));
  if (format == Format::kRaw) {
    *bytes = kRawHeaderBytes;
    return OkStatus();
  }
  if (format == Format::kJpeg) {
    return OutlineJpeg(content.image, content.index, limits, bytes, outline)
               ? OkStatus()
               : InvalidArgument("no device decodes this JPEG file");
  }
  L3Info info;
  LIQUID_RETURN_IF_ERROR(PeekL3(content.image, limits, &info));
  const bool is_v1 = info.version == L3Version::kV1;
  const uint32_t side = is_v1 ? info.patch : kL3V2Patch;
  const uint64_t patches = L3PatchesAcross(info.image.width, side) *
                           L3PatchesAcross(info.image.height, side);
  *bytes = is_v1 ? kL3V1HeaderBytes + 6 * patches
                 : kL3V2HeaderBytes + 4 * (patches + 1);
  return OkStatus();
}

}  // namespace

Status MakeDeviceRecord(const Record& record, const DecodeLimits& limits,
                        std::shared_ptr<const Arena::Piece> place,
                        std::shared_ptr<const Record>* made) {
  const SampleRecord& content = record.content;
  uint64_t head = 0;
  std::string outline;
  LIQUID_RETURN_IF_ERROR(FindHead(content, limits, &head, &outline));
  ByteSpan image = content.image;
  image.size = std::min<uint64_t>(image.size, head);
  auto kept = std::make_shared<Record>();
  kept->content.id = content.id;
  kept->content.labels = content.labels;
  const std::pair<ByteSpan, ByteSpan*> parts[] = {
      {image, &kept->content.image},
      {content.index, &kept->content.index},
      {content.example, &kept->content.example},
      {ByteSpan(outline.data(), outline.size()), &kept->image_outline}};
  size_t size = 0;
  for (const auto& [part, to] : parts) size += part.size;
  kept->memory = BufferPool::Process().Acquire(size);
  if (!kept->memory) {
    return Unavailable("no memory for " + std::to_string(size) +
                       " bytes of a record");
  }
  uint8_t* at = kept->memory.data();
  for (const auto& [part, to] : parts) {
    if (part.size > 0) std::memcpy(at, part.data, part.size);
    *to = ByteSpan(at, part.size);
    at += part.size;
  }
  kept->position = record.position;
  kept->row = record.row;
  kept->shard = record.shard;
  kept->number = record.number;
  kept->replicas = record.replicas;
  kept->replaced = record.replaced;
  kept->on_device = std::move(place);
  kept->image_bytes = content.image.size;
  *made = std::move(kept);
  return OkStatus();
}

}  // namespace liquid
