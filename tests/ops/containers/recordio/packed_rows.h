// Rows of an index as index.npy holds them.
#ifndef LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_PACKED_ROWS_H_
#define LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_PACKED_ROWS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/containers/recordio/little_endian.h"

namespace liquid {

inline void AppendRow(const IndexRow& row, std::string* out) {
  AppendLittleEndian<uint64_t>(row.sample, out);
  AppendLittleEndian<uint8_t>(row.split, out);
  AppendLittleEndian<uint8_t>(row.format, out);
  AppendLittleEndian<uint8_t>(row.channels, out);
  AppendLittleEndian<uint8_t>(row.bits, out);
  AppendLittleEndian<uint32_t>(row.shard, out);
  AppendLittleEndian<uint64_t>(row.offset, out);
  AppendLittleEndian<uint64_t>(row.length, out);
  AppendLittleEndian<uint32_t>(row.crc32c, out);
  AppendLittleEndian<uint32_t>(row.height, out);
  AppendLittleEndian<uint32_t>(row.width, out);
  AppendLittleEndian<uint32_t>(row.orientation, out);
  AppendLittleEndian<uint64_t>(row.pixels_hash, out);
}

// A view of rows that nobody has checked.
inline IndexView Pack(const std::vector<IndexRow>& rows) {
  auto bytes = std::make_shared<std::string>();
  for (const IndexRow& row : rows) AppendRow(row, bytes.get());
  const ByteSpan packed(bytes->data(), bytes->size());
  return IndexView(packed, std::move(bytes));
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_PACKED_ROWS_H_
