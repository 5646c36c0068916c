// Other encodings of a sample, for when the one that was to be read is damaged.
//
// For datasets that hold every sample in several formats, all in one order.
// Nothing is opened, and no table made, before a damaged record is met: the
// other rows of a sample are found in the index itself.
#ifndef LIQUID_OPS_READER_REPLICAS_H_
#define LIQUID_OPS_READER_REPLICAS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/core/status.h"
#include "ops/reader/pcr_set.h"
#include "ops/reader/record.h"
#include "ops/reader/shard_set.h"

namespace liquid {

// Thread-safe. Keeps up to some dozen files of each format open that it has
// read from.
class Replicas {
 public:
  // Makes the records of PCR of which these are the images.
  using PcrOpener = std::function<Status(std::shared_ptr<ShardSet>,
                                         std::unique_ptr<PcrSet>*)>;

  // `index`: of the whole dataset. `paths[i]`: the file of manifest shard i.
  // `formats`: of the dataset, that which is to be read first in front.
  Replicas(const IndexView& index, std::vector<std::string> paths,
           std::vector<uint8_t> formats, FileOpener opener, PcrOpener open_pcr)
      : index_(index),
        paths_(std::move(paths)),
        formats_(std::move(formats)),
        opener_(std::move(opener)),
        open_pcr_(std::move(open_pcr)) {}

  // The first encoding of `bad`'s sample that can be read, of an image of the
  // same size, beside those that were tried: `bad` itself, and what it was read
  // in place of. It has `bad`'s position. `why`: what is wrong with `bad`. Null
  // where there is none; a record with its status set where the machine lacks
  // what reading it takes. O(log(samples)) beside the read; the first read of a
  // format checks its rows.
  RecordPtr Read(const Record& bad, const Status& why) const;

 private:
  // One format of one split.
  struct Source {
    std::shared_ptr<ShardSet> samples;  // null where it cannot be opened
    std::unique_ptr<PcrSet> pcr;        // of that format
  };
  const Source& SourceOf(uint8_t split, uint8_t format) const;
  std::shared_ptr<Record> ReadIn(uint8_t format, const IndexRow& row) const;

  const IndexView index_;
  const std::vector<std::string> paths_;
  const std::vector<uint8_t> formats_;
  const FileOpener opener_;
  const PcrOpener open_pcr_;
  mutable std::mutex mu_;
  mutable std::map<std::pair<uint8_t, uint8_t>, Source> sources_;  // by mu_
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_REPLICAS_H_
