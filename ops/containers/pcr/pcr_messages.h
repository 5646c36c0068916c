// The protocol buffer messages of progressive compressed records
// (docs/formats/pcr.md): metadata, scan groups and the index.
//
// Pure functions, thread-safe, O(bytes). What is allocated follows from the
// bytes at hand, never from a number in them. Unknown fields are skipped.
// Errors are DataLoss with the offset; outputs are then unspecified.
#ifndef LIQUID_OPS_CONTAINERS_PCR_PCR_MESSAGES_H_
#define LIQUID_OPS_CONTAINERS_PCR_PCR_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// The one version whose scan groups are messages.
constexpr int32_t kPcrVersion = 1;
// The label of an image without one.
constexpr int32_t kPcrNoLabel = -1;

struct PcrMetadata {
  std::vector<int32_t> labels;     // one an image
  int32_t levels = 0;              // scan groups of the record
  int32_t version = 0;             // kPcrVersion, or the bytes are another's
  std::vector<ByteSpan> examples;  // serialized tf.train.Example: none or one
                                   // an image; point into the bytes parsed
};

// `base` is the message's offset in its file, for errors.
Status ParsePcrMetadata(ByteSpan bytes, uint64_t base, PcrMetadata* metadata);
void AppendPcrMetadata(const PcrMetadata& metadata, std::string* out);

// A scan group is a list of chunks, one an image, some of them empty. The spans
// of `*chunks` point into `bytes`.
Status ParseScanGroup(ByteSpan bytes, uint64_t base,
                      std::vector<ByteSpan>* chunks);
void AppendScanGroup(const std::vector<ByteSpan>& chunks, std::string* out);

// What the index says of one record. Parts are the metadata, part 0, and the
// scan groups from 1 on.
struct PcrEntry {
  std::string name;               // base name of the record's file
  std::vector<uint32_t> lengths;  // bytes of each part; at least two
  std::vector<uint32_t> crc32cs;  // of each part; empty in others' files

  // L, the scan groups of the record.
  size_t groups() const { return lengths.size() - 1; }
  // Scan groups that an image of fidelity `fidelity` >= 1 consists of.
  size_t GroupsAt(uint64_t fidelity) const {
    return fidelity < groups() ? static_cast<size_t>(fidelity) : groups();
  }
  // Bytes from the beginning of the record through `group`; 0: the metadata
  // alone. O(group); group <= groups().
  uint64_t PrefixBytes(size_t group) const;
};

// Reads an index. Of several entries with one name the first counts; a leading
// "/" is no part of a name. Every entry has at least one group, lengths below
// 2^31 and as many checksums as lengths, or none.
Status ParsePcrIndex(ByteSpan bytes, std::vector<PcrEntry>* entries);
void AppendPcrIndex(const std::vector<PcrEntry>& entries, std::string* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_PCR_PCR_MESSAGES_H_
