// index.npy of a dataset directory: one row per stored encoding of a sample.
//
// A NumPy file, format version 1.0, with a one-dimensional packed structured
// array of 56-byte little-endian rows (docs/formats/liquid.md). Pure functions,
// thread-safe, O(bytes), no I/O.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_DATASET_INDEX_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_DATASET_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ops/codecs/codec_types.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

constexpr size_t kIndexRowBytes = 56;

struct IndexRow {
  uint64_t sample = 0;
  uint8_t split = 0;
  uint8_t format = 0;  // a liquid::Format
  uint8_t channels = 0;
  uint8_t bits = 0;
  uint32_t shard = 0;   // position in the manifest's list of shards
  uint64_t offset = 0;  // of the record's first byte in the shard
  uint64_t length = 0;  // framed bytes on disk, every fragment and its padding
  uint32_t crc32c = 0;  // of these bytes
  uint32_t height = 0;
  uint32_t width = 0;
  uint32_t orientation = 1;  // as EXIF numbers them; pixels are not turned
  uint64_t pixels_hash = 0;

  ImageInfo image() const { return {height, width, channels, bits}; }
};

// Rows that stay packed, where a file is mapped or was read to: an index of
// millions costs a process no memory of its own. Copies share the bytes.
// Immutable.
class IndexView {
 public:
  IndexView() = default;
  // `packed`: rows that were checked. `keep` owns their bytes.
  IndexView(ByteSpan packed, std::shared_ptr<const void> keep)
      : packed_(packed), keep_(std::move(keep)) {}

  // Checks a whole index.npy: each row (known format, 1 to 4 channels, 8 or 16
  // bits, orientation 1 to 8, aligned and non-empty byte range), and that they
  // ascend by (split, format, shard, offset). Errors are DataLoss with the
  // offset in `npy`;
  // `*view` is then unchanged.
  static Status Create(ByteSpan npy, std::shared_ptr<const void> keep,
                       IndexView* view);

  size_t size() const { return packed_.size / kIndexRowBytes; }
  IndexRow operator[](size_t i) const;
  // The rows of one format of one split, which lie together. O(log(size)).
  IndexView Of(uint8_t split, uint8_t format) const;

 private:
  ByteSpan packed_;
  std::shared_ptr<const void> keep_;
};

// Reads rows without the NumPy header, in any order, with the same checks of
// each row. Error: DataLoss with the offset in `packed`.
Status ParseIndexRows(ByteSpan packed, std::vector<IndexRow>* rows);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_DATASET_INDEX_H_
