// Reads one record by itself, on the calling thread.
#ifndef LIQUID_OPS_READER_READ_ALONE_H_
#define LIQUID_OPS_READER_READ_ALONE_H_

#include <cstdint>

#include "ops/core/status.h"
#include "ops/reader/record.h"
#include "ops/reader/record_source.h"

namespace liquid {

// Gives a record the error that it cannot be used for, with the record's place.
void Fail(const Status& status, Record* record);

// Checks what was read for a record, and makes its content; an error goes to
// its status.
void CheckRead(const RecordSource& source, Record* record);

// Reads and checks `record`, which `source` has described, as often as its file
// is worth asking; else its status says why it cannot be used, and it has no
// bytes. `asked`: how often that was done already, since when the record has
// its status. Adds the reads that were repeated to `*retries`.
void ReadAlone(RecordSource* source, int asked, Record* record,
               uint64_t* retries);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_ALONE_H_
