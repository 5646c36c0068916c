#include "ops/engine/pixel_record.h"

#include <cstring>
#include <utility>

#include "ops/codecs/raw/raw_codec.h"
#include "ops/core/block_store.h"

namespace liquid {
namespace {

// More pixels than any image has: no product below overflows.
constexpr uint64_t kMostPixels = uint64_t{1} << 40;

std::shared_ptr<Record> Like(const Record& record) {
  auto made = std::make_shared<Record>();
  made->position = record.position;
  made->row = record.row;
  made->shard = record.shard;
  made->number = record.number;
  made->replaced = record.replaced;
  return made;
}

}  // namespace

Status MakePixelRecord(const Record& record,
                       const std::vector<NamedImage>& images,
                       std::shared_ptr<Record>* made,
                       std::vector<uint8_t*>* pixels) {
  const ByteSpan example = record.content.example;
  size_t size = example.size;
  for (const NamedImage& image : images) {
    size += kRawHeaderBytes + image.info.PixelBytes();
  }
  std::shared_ptr<Record> kept = Like(record);
  kept->memory = BufferPool::Process().Acquire(size);
  if (!kept->memory) {
    return Unavailable("no memory for " + std::to_string(size) +
                       " bytes of pixels");
  }
  uint8_t* at = kept->memory.data();
  for (const NamedImage& image : images) {
    StoreRawHeader(image.info, at);
    const size_t bytes = kRawHeaderBytes + image.info.PixelBytes();
    kept->pixels.emplace_back(image.name, ByteSpan(at, bytes));
    pixels->push_back(at + kRawHeaderBytes);
    at += bytes;
  }
  if (example.size > 0) std::memcpy(at, example.data, example.size);
  kept->content.id = record.content.id;
  kept->content.labels = record.content.labels;
  kept->content.example = ByteSpan(at, example.size);
  *made = std::move(kept);
  return OkStatus();
}

uint64_t PixelRecordBytes(const Record& record, uint64_t mask_bytes) {
  const IndexRow& row = record.row;
  const uint64_t pixels = uint64_t{row.height} * row.width;
  if (pixels > kMostPixels || mask_bytes > 16) return UINT64_MAX;
  const uint64_t bytes =
      pixels * (uint64_t{row.channels} * (row.bits / 8) + mask_bytes) +
      2 * kRawHeaderBytes + record.content.example.size;
  return BlockSize::For(bytes) + sizeof(Record);
}

RecordPtr PromisedRecord(const Record& record,
                         std::shared_ptr<RecordPromise> promise) {
  std::shared_ptr<Record> promised = Like(record);
  promised->promise = std::move(promise);
  return promised;
}

RecordPtr Settled(const RecordPtr& record) {
  const RecordPtr kept =
      record->promise == nullptr ? record : record->promise->Get();
  if (kept == nullptr || kept->replicas == nullptr) return kept;
  const RecordPtr sound = kept->substitute();
  if (sound != nullptr) return sound;
  return kept->status.ok() ? kept : nullptr;
}

}  // namespace liquid
