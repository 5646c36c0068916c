// Opens the files of one format of a dataset.
#ifndef LIQUID_OPS_READER_OPEN_SHARDS_H_
#define LIQUID_OPS_READER_OPEN_SHARDS_H_

#include <functional>
#include <memory>
#include <string>

#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/message/messages.h"
#include "ops/reader/pcr_set.h"
#include "ops/reader/shard_set.h"

namespace liquid {

// Opens files by what their paths begin with. Thread-safe.
struct Opener {
  FileOpener shard;
  std::function<bool(const std::string& path)> is_local;
  // All bytes of a file, which `*keep` holds then. Those of a local one are
  // mapped: every process on the machine has the same memory.
  std::function<Status(const std::string& path, ByteSpan* bytes,
                       std::shared_ptr<const void>* keep)>
      load;
};

struct OpenedShards {
  std::shared_ptr<ShardSet> samples;
  std::shared_ptr<PcrSet> pcr;  // their records; null for other formats
};

// Opens what `message` names. `chosen`: see SelectedRows. Errors: those of the
// opener; DataLoss for what does not fit the manifest.
Status OpenShards(const FormatMessage& message, ByteSpan chosen,
                  const Opener& opener, OpenedShards* opened);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_OPEN_SHARDS_H_
