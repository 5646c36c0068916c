// Records that no file holds.
#ifndef LIQUID_TESTS_OPS_ENGINE_MEMORY_RECORDS_H_
#define LIQUID_TESTS_OPS_ENGINE_MEMORY_RECORDS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/reader/record.h"

namespace liquid {

// The size of every image, and a pixel of a sample's.
constexpr ImageInfo kImage = {2, 3, 1, 8};
inline uint8_t PixelOf(uint64_t sample) {
  return static_cast<uint8_t>(17 * sample + 3);
}

// A record whose number is its sample's, with an image of one value and its
// number as the label.
inline std::shared_ptr<Record> MakeRecord(uint64_t sample) {
  auto record = std::make_shared<Record>();
  const std::vector<uint8_t> pixels(kImage.PixelBytes(), PixelOf(sample));
  EXPECT_TRUE(Encode(Format::kRaw, EncodeOptions(), kImage, pixels.data(),
                     &record->joined)
                  .ok());
  record->position = record->number = sample;
  record->shard = "shard";
  record->row.sample = sample;
  record->row.format = static_cast<uint8_t>(Format::kRaw);
  record->row.height = kImage.height;
  record->row.width = kImage.width;
  record->row.channels = kImage.channels;
  record->row.bits = kImage.bits;
  record->row.length = record->joined.size();
  record->disk_bytes = record->joined.size();
  record->content.id = sample;
  record->content.labels = {static_cast<float>(sample)};
  record->content.image =
      ByteSpan(record->joined.data(), record->joined.size());
  return record;
}

// One that cannot be used.
inline std::shared_ptr<Record> MakeBadRecord(uint64_t sample, Status status) {
  auto record = MakeRecord(sample);
  record->content = SampleRecord();
  record->status = std::move(status);
  return record;
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_ENGINE_MEMORY_RECORDS_H_
