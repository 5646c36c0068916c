// Decoded pixels that stay in memory between epochs, in place of what is
// stored.
#ifndef LIQUID_OPS_ENGINE_PIXEL_RECORD_H_
#define LIQUID_OPS_ENGINE_PIXEL_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/reader/record.h"

namespace liquid {

// An image of a record: the one that it stores, or a mask in its Example.
struct NamedImage {
  std::string name;  // of the mask; empty for the image itself
  ImageInfo info;
};

// A record like `record`, with its labels and Example, and with room for pixels
// in place of the stored bytes; these are to be written where `pixels` says,
// before the record is shared. Error: Unavailable.
Status MakePixelRecord(const Record& record,
                       const std::vector<NamedImage>& images,
                       std::shared_ptr<Record>* made,
                       std::vector<uint8_t*>* pixels);

// About what such a record of `record` takes in memory, with masks of so many
// bytes a pixel; UINT64_MAX for sizes that no image has.
uint64_t PixelRecordBytes(const Record& record, uint64_t mask_bytes);

// A record that is kept although its pixels are not there yet: it has no bytes
// itself, and becomes what `promise` is fulfilled with.
RecordPtr PromisedRecord(const Record& record,
                         std::shared_ptr<RecordPromise> promise);

// What is in memory of a kept record by now: the record, that of its promise,
// or the sound one that was read in its place; null for a promise that is not
// fulfilled, and a bad record in whose place nothing was read.
RecordPtr Settled(const RecordPtr& record);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_PIXEL_RECORD_H_
