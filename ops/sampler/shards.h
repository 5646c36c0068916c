// Parts of a dataset for data-parallel training.
//
// A shard is a range of each format's stored order, so every shard has the
// whole dataset's mix and reads forward in files that few others read. Parts of
// one format differ by at most one sample; so do the totals of shards, because
// the odd samples of the formats go round: where format f's end, format f+1's
// begin.
//
// Training in step needs more: a shard with one batch less leaves the others
// waiting for ever. So, by default, a shard that is one sample short repeats
// one of its neighbour's; or the longer shards leave one out. At most one
// sample a shard is repeated or left out, and always counted.
#ifndef LIQUID_OPS_SAMPLER_SHARDS_H_
#define LIQUID_OPS_SAMPLER_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/core/status.h"

namespace liquid {

enum class ShardPolicy {
  kPad,     // equal totals: shorter shards repeat a sample
  kDrop,    // equal totals: longer shards leave a sample out
  kUneven,  // totals may differ by one, and so the number of batches
};

// `length` samples of a format, from `start` on in stored order. Sample i of
// the range is sample (start + i) mod N_f of the format: a padded range may go
// one sample over the end.
struct ShardRange {
  uint64_t start = 0;
  uint64_t length = 0;
};

struct Shard {
  std::vector<ShardRange> formats;
  // Samples of this shard that another one has too, and of all shards.
  uint64_t repeated = 0;
  uint64_t repeated_in_all = 0;
  // Samples that are in no shard but would have been in this one; in all.
  uint64_t dropped = 0;
  uint64_t dropped_in_all = 0;
};

// Shard `index` of `count` of formats of `samples[f]` samples each.
// Error: InvalidArgument that names argument, value and constraint. O(formats).
Status MakeShard(const std::vector<uint64_t>& samples, uint64_t index,
                 uint64_t count, ShardPolicy policy, Shard* shard);

// Where a range lies in the files of its format.
struct FilePiece {
  size_t file = 0;     // position in the list of files
  uint64_t first = 0;  // sample inside the file
  uint64_t count = 0;  // > 0
};

// The pieces of `range` in its order, for files of `files[i]` samples each
// whose sum is the format's. O(files).
std::vector<FilePiece> PiecesOf(const std::vector<uint64_t>& files,
                                const ShardRange& range);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_SHARDS_H_
