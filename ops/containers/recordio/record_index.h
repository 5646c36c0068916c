// The index of a RecordIO file: text, a line "key\toffset\n" for each record
// (docs/formats/recordio.md). Pure functions, thread-safe, O(bytes), no I/O.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_RECORD_INDEX_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_RECORD_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

struct RecordIndexEntry {
  int64_t key = 0;
  uint64_t offset = 0;  // of the record's first byte; less than 2^63
};

// Reads an index. Lines may end with "\r\n", the last one without either, and
// any spaces or tabs stand between the numbers; empty lines are skipped. Error:
// DataLoss with the line's number; `*entries` is then unchanged.
Status ParseRecordIndex(ByteSpan text, std::vector<RecordIndexEntry>* entries);

// Appends entries as lines to `*text`.
void AppendRecordIndex(const std::vector<RecordIndexEntry>& entries,
                       std::string* text);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_RECORD_INDEX_H_
