// The part of a dataset that a worker has in data-parallel training.
//
// A part is a range of each format's stored order, so every part has the
// whole dataset's mix and reads forward in files that few others read. Ranges
// of one format differ by at most one sample; so do the totals of parts,
// because the odd samples of the formats go round: where format f's end, format
// f+1's begin.
//
// Training in step needs more: a part with one batch less leaves the others
// waiting for ever. So, by default, a part that is one sample short repeats
// one of its neighbour's; or the longer parts leave one out. At most one
// sample a part is repeated or left out, and always counted.
#ifndef LIQUID_OPS_SAMPLER_WORKER_PART_H_
#define LIQUID_OPS_SAMPLER_WORKER_PART_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/core/status.h"

namespace liquid {

enum class PartPolicy {
  kPad,     // equal totals: shorter parts repeat a sample
  kDrop,    // equal totals: longer parts leave a sample out
  kUneven,  // totals may differ by one, and so the number of batches
};

// `length` samples of a format, from `start` on in stored order. Sample i of
// the range is sample (start + i) mod N_f of the format: a padded range may go
// one sample over the end.
struct PartRange {
  uint64_t start = 0;
  uint64_t length = 0;
};

struct WorkerPart {
  std::vector<PartRange> formats;
  // Samples of this part that another one has too, and of all parts.
  uint64_t repeated = 0;
  uint64_t repeated_in_all = 0;
  // Samples that are in no part but would have been in this one; in all.
  uint64_t dropped = 0;
  uint64_t dropped_in_all = 0;
};

// Part `index` of `count` of formats of `samples[f]` samples each.
// Error: InvalidArgument that names argument, value and constraint. O(formats).
Status MakeWorkerPart(const std::vector<uint64_t>& samples, uint64_t index,
                      uint64_t count, PartPolicy policy, WorkerPart* part);

// Where a range lies in the files of its format.
struct FilePiece {
  size_t file = 0;     // position in the list of files
  uint64_t first = 0;  // sample inside the file
  uint64_t count = 0;  // > 0
};

// The pieces of `range` in its order, for files of `files[i]` samples each
// whose sum is the format's. O(files).
std::vector<FilePiece> PiecesOf(const std::vector<uint64_t>& files,
                                const PartRange& range);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_WORKER_PART_H_
