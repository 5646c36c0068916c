#include "ops/reader/open_shards.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/containers/recordio/dataset_index.h"
#include "ops/core/crc32c.h"
#include "ops/http/url.h"
#include "ops/reader/replicas.h"

namespace liquid {
namespace {

Status In(const std::string& path, const Status& status) {
  return Status(status.code(), PublicPath(path) + ": " + status.message());
}

// Loads a file whose checksum is known. Where a connection breaks, some file
// systems give what came until then as if it were all.
Status LoadChecked(const Opener& opener, const std::string& path,
                   uint32_t crc32c, ByteSpan* bytes,
                   std::shared_ptr<const void>* keep) {
  const bool local = opener.is_local(path);
  // Our own client has repeated what fails as long as that may help.
  const bool persistent = local || IsClientUrl(path);
  Status status;
  for (int i = 0; i < (local ? 1 : kRemoteAttempts); ++i) {
    status = opener.load(path, bytes, keep);
    if (!status.ok()) {
      if (persistent) return status;
      continue;
    }
    if (Crc32c(*bytes) == crc32c) return OkStatus();
    status = DataLoss(
        PublicPath(path) + ": its CRC-32C is not what the manifest " +
        (local ? "said when the dataset was opened. It was replaced since, or "
                 "is damaged: open it again"
               : "says, in " + std::to_string(kRemoteAttempts) + " reads"));
  }
  return status;
}

// Each iterator opens an index by its path, where another dataset may lie by
// then: its places would give other samples.
Status OpenIndex(const Opener& opener, const std::string& path, uint32_t crc32c,
                 IndexView* index) {
  ByteSpan bytes;
  std::shared_ptr<const void> keep;
  LIQUID_RETURN_IF_ERROR(LoadChecked(opener, path, crc32c, &bytes, &keep));
  const Status checked = IndexView::Create(bytes, std::move(keep), index);
  return checked.ok() ? OkStatus() : In(path, checked);
}

// The records of `samples`, which are images of PCR; `paths`: of the shards.
Status OpenPcr(const Opener& opener, const std::string& pcr_index,
               const std::vector<std::string>& paths,
               std::shared_ptr<ShardSet> samples,
               std::unique_ptr<PcrSet>* pcr) {
  ByteSpan bytes;
  std::shared_ptr<const void> keep;
  LIQUID_RETURN_IF_ERROR(opener.load(pcr_index, &bytes, &keep));
  std::vector<PcrEntry> listed;
  const Status parsed = ParsePcrIndex(bytes, &listed);
  if (!parsed.ok()) return In(pcr_index, parsed);
  std::map<std::string, PcrEntry> by_name;
  for (PcrEntry& entry : listed) {
    const std::string name = entry.name;
    by_name.emplace(name, std::move(entry));
  }
  std::vector<PcrEntry> entries(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto found = by_name.find(paths[i].substr(paths[i].rfind('/') + 1));
    if (found != by_name.end()) entries[i] = found->second;
  }
  return PcrSet::Create(std::move(samples), std::move(entries), pcr);
}

}  // namespace

Status OpenShards(const FormatMessage& message, ByteSpan chosen,
                  const Opener& opener, OpenedShards* opened) {
  IndexView index;
  LIQUID_RETURN_IF_ERROR(OpenIndex(opener, message.index,
                                   static_cast<uint32_t>(message.index_crc32c),
                                   &index));
  std::unique_ptr<ShardSet> shards;
  LIQUID_RETURN_IF_ERROR(ShardSet::Create(
      SelectedRows(index, {message.splits.begin(), message.splits.end()},
                   static_cast<uint8_t>(message.format), chosen),
      message.paths, opener.shard, &shards));
  if (!message.replica_paths.empty()) {
    shards->set_replicas(std::make_shared<Replicas>(
        index, message.replica_paths,
        std::vector<uint8_t>(message.replica_formats.begin(),
                             message.replica_formats.end()),
        opener.shard,
        [opener, pcr_index = message.pcr_index, paths = message.replica_paths](
            std::shared_ptr<ShardSet> samples, std::unique_ptr<PcrSet>* pcr) {
          return OpenPcr(opener, pcr_index, paths, std::move(samples), pcr);
        }));
  }
  if (message.length >= 0) {
    LIQUID_RETURN_IF_ERROR(
        shards->Restrict({static_cast<uint64_t>(message.start),
                          static_cast<uint64_t>(message.length)}));
  }
  opened->samples = std::move(shards);
  if (message.format != static_cast<int64_t>(Format::kPcr)) return OkStatus();
  std::unique_ptr<PcrSet> pcr;
  LIQUID_RETURN_IF_ERROR(
      OpenPcr(opener, message.pcr_index, message.paths, opened->samples, &pcr));
  opened->pcr = std::move(pcr);
  return OkStatus();
}

}  // namespace liquid
