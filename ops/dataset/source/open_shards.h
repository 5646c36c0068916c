// Opens a dataset's index and shards through the filesystem that their path
// names: local files directly, every other scheme through TensorFlow.
#ifndef LIQUID_OPS_DATASET_SOURCE_OPEN_SHARDS_H_
#define LIQUID_OPS_DATASET_SOURCE_OPEN_SHARDS_H_

#include <memory>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/kernel/open_file.h"
#include "ops/reader/pcr_set.h"
#include "ops/reader/shard_set.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {

// Where every sample is stored in several formats.
struct ReplicaFiles {
  std::vector<std::string> paths;  // of every shard of the manifest
  std::vector<uint8_t> formats;    // the first to be read in front
};

// Which samples of a dataset are read.
struct Selection {
  std::vector<uint8_t> splits;
  ByteSpan chosen;  // see SelectedRows
};

// `index_path`: the dataset's, of checksum `index_crc32c`. `paths`: see
// ShardSet::Create. `replicas`: without paths where there are none.
// `pcr_index`: see OpenPcr. `access`: of the shards.
Status OpenShards(tensorflow::Env* env, const std::string& index_path,
                  uint32_t index_crc32c, std::vector<std::string> paths,
                  const Selection& selection, uint8_t format,
                  const ReplicaFiles& replicas, const std::string& pcr_index,
                  const FileAccess& access, std::unique_ptr<ShardSet>* shards);

// The records of `samples`, which are images of PCR; `paths` as above. Reads
// the index of the records.
Status OpenPcr(tensorflow::Env* env, const std::string& pcr_index,
               const std::vector<std::string>& paths,
               std::shared_ptr<ShardSet> samples, std::unique_ptr<PcrSet>* pcr);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_OPEN_SHARDS_H_
