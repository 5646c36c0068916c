// RecordIO framing as MXNet writes it (dmlc-core recordio), without I/O.
//
//   fragment: uint32 magic 0xced7230a | uint32 cflag << 29 | length | data |
//   pad to
//   4
//
// cflag: 0 whole, 1 first, 2 middle, 3 last fragment. A payload is cut at every
// magic at a payload offset divisible by 4; the magic is dropped and put back
// by the reader. Little-endian, length < 2^29.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_RECORDIO_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_RECORDIO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

constexpr uint32_t kRecordIOMagic = 0xced7230a;
constexpr uint32_t kRecordIOMaxSize = (1u << 29) - 1;

// Appends the framed record to `*out`.
Status AppendRecord(ByteSpan payload, std::string* out);

// Unframes the one record that `framed` holds, from its first to its last
// byte, padding included. Points `*payload` into `framed` when the record is
// one fragment; else joins the fragments in `*scratch` and points there. Errors
// are DataLoss with the offset inside `framed`.
Status ParseRecord(ByteSpan framed, std::string* scratch, ByteSpan* payload);

// What a sample's payload holds: MXNet's image record (IRHeader "<IfQQ": flag,
// label, id, id2; then `flag` float32 labels; then the image), followed by what
// there is of a JPEG's entry points (jpeg_index.h) and of a serialized
// tf.train.Example of the other features.
struct SampleRecord {
  uint64_t id = 0;
  std::vector<float> labels;  // one value, or `flag` values
  ByteSpan image;             // id2 bytes; all the rest where id2 is 0
  ByteSpan index;             // may be empty
  ByteSpan example;           // may be empty
};

// Appends the payload (not framed) to `*out`. One label is stored in the
// header (flag 0), any other number behind it. Error: InvalidArgument where
// the parts could not be told from each other, or are too large.
Status AppendSamplePayload(const SampleRecord& sample, std::string* out);
// Takes a payload apart; the spans point into it. Error: DataLoss with the
// offset.
Status ParseSamplePayload(ByteSpan payload, SampleRecord* sample);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_RECORDIO_H_
