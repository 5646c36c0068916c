// From the bytes of a record on disk to a checked sample.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_CHECK_RECORD_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_CHECK_RECORD_H_

#include <string>

#include "ops/codecs/codec_types.h"
#include "ops/containers/recordio/dataset_index.h"
#include "ops/containers/recordio/recordio.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Checks the record that `row` describes, in this order: length, CRC-32C,
// framing, sample header, sample number. Then the spans of `*sample` point into
// `framed`, or into `*scratch` where the record has several fragments; they
// live as long as both are unchanged. Thread-safe for distinct outputs,
// O(bytes). Error: DataLoss with the reason and the offset inside the record;
// the caller puts file and record before it.
Status CheckRecord(ByteSpan framed, const IndexRow& row, std::string* scratch,
                   SampleRecord* sample);

// Compares the index that stands behind a JPEG, if one does, with one that it
// makes anew of the file. O(pixels). Error: DataLoss with the reason.
Status CheckIndex(const SampleRecord& sample, const IndexRow& row,
                  const DecodeLimits& limits);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_CHECK_RECORD_H_
