// Rows of an index as index.npy holds them.
#ifndef LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_PACKED_ROWS_H_
#define LIQUID_TESTS_OPS_CONTAINERS_RECORDIO_PACKED_ROWS_H_

#include <cstdint>
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

inline constexpr char kNpyHeader[] =
    "{'descr': [('sample', '<u8'), ('split', '|u1'), ('format', '|u1'), "
    "('channels', '|u1'), ('bits', '|u1'), ('shard', '<u4'), "
    "('offset', '<u8'), ('length', '<u8'), ('crc32c', '<u4'), "
    "('height', '<u4'), ('width', '<u4'), ('orientation', '<u4'), "
    "('pixels_hash', '<u8')], "
    "'fortran_order': False, 'shape': (";

// index.npy of packed rows, whose header says that they are `count`.
inline std::string Npy(const std::string& rows, const std::string& count) {
  std::string header = kNpyHeader + count + ",), }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  std::string out("\x93NUMPY\x01\x00", 8);
  AppendLittleEndian<uint16_t>(static_cast<uint16_t>(header.size()), &out);
  return out + header + rows;
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
