// Any number of parts over any number of files (dmlc-core's InputSplit).
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_FILE_PARTS_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_FILE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/containers/recordio/record_scanner.h"
#include "ops/core/status.h"

namespace liquid {

// What a part has of one file.
struct PartOfFile {
  size_t file = 0;
  RecordRange range;
  int64_t records = -1;  // that are in it; -1: unknown
};

// Pure functions, thread-safe. Parts are disjoint, in order, and together
// everything; empty ranges are left out, so a part may have none. Errors:
// InvalidArgument, where `part` is not in [0, parts).

// Divides by bytes. The files' sizes count as one, rounded up to a multiple of
// 4 and divided by `parts`, that again rounded up; the last bytes of a file
// whose size is no multiple of 4, which is damaged, belong to the part that has
// those before them. O(files).
Status PartByBytes(const std::vector<uint64_t>& sizes, int64_t part,
                   int64_t parts, std::vector<PartOfFile>* ranges);

// Divides by count, ceil(records / parts) to each part; the last ones may be
// empty. `offsets` has those of each file's records, in any order. Error also
// where one is not inside its file. O(n log n) for n offsets.
Status PartByCount(const std::vector<uint64_t>& sizes,
                   std::vector<std::vector<uint64_t>> offsets, int64_t part,
                   int64_t parts, std::vector<PartOfFile>* ranges);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_FILE_PARTS_H_
