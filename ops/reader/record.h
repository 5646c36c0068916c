// One record in memory: what a source reads, the interleave draws and keeps,
// and the decoder consumes.
#ifndef LIQUID_OPS_READER_RECORD_H_
#define LIQUID_OPS_READER_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/containers/recordio/recordio.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

struct Record;
using RecordPtr = std::shared_ptr<const Record>;

// The samples of a record that holds many. Thread-safe.
class RecordSamples {
 public:
  virtual ~RecordSamples() = default;
  // One of them as a record of its own, of at most `groups` scan groups; bad
  // where `record`, whose samples these are, is. O(bytes of the sample).
  virtual RecordPtr Get(const Record& record, uint64_t sample,
                        uint32_t groups) const = 0;
};

// Immutable once it is shared. Owns its bytes alone, so that keeping one
// record never pins its neighbours.
struct Record {
  uint64_t position = 0;    // the planner's record number in its format
  IndexRow row;             // what the index says of it
  std::string shard;        // path of its file
  uint64_t number = 0;      // which record of the file
  bool is_block = false;    // no record, but any bytes of a file
  Status status;            // why it cannot be used; content is then empty
  uint64_t disk_bytes = 0;  // its part of what was read for it
  Buffer memory;            // holds framed
  ByteSpan framed;          // the record as it is stored
  std::string joined;       // the payload, where the record is in parts
  SampleRecord content;     // points into framed or joined

  // Of a record that holds many samples: these, the scan groups that were read,
  // and all that it has. `content` is then empty.
  std::unique_ptr<RecordSamples> samples;
  uint32_t groups = 0;
  uint32_t all_groups = 0;

  uint64_t bytes() const { return row.length; }
  // "FILE, record N (sample I, offset O)"; of a record with many samples the
  // file and its scan groups, of a block the file and its bytes.
  std::string Where() const;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_RECORD_H_
