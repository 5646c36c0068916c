#include "ops/dataset/source/open_shards.h"

#include <map>
#include <memory>
#include <utility>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/core/crc32c.h"
#include "ops/http/url.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/path.h"
#include "ops/reader/replicas.h"
#include "tensorflow/core/platform/path.h"

namespace liquid {
namespace {

// Reads a file of another file system. Where a connection breaks, some of these
// give what came until then as if it were all.
Status ReadRemote(tensorflow::Env* env, const std::string& path,
                  uint32_t crc32c, Buffer* buffer, ByteSpan* bytes) {
  Status status;
  for (int i = 0; i < kRemoteAttempts; ++i) {
    status = ReadWhole(env, path, buffer, bytes);
    if (!status.ok()) {
      // Our own client has repeated it as long as that may help.
      if (IsClientUrl(path)) return status;
      continue;
    }
    if (Crc32c(*bytes) == crc32c) return OkStatus();
    status = DataLoss(PublicPath(path) +
                      ": its CRC-32C is not what the manifest says, in " +
                      std::to_string(kRemoteAttempts) + " reads");
  }
  return status;
}

// Maps a local index, of which every process on the machine then has the same
// memory; reads one of another file system. Each iterator opens it by its path,
// where another dataset may lie by then: its places would give other samples.
Status OpenIndex(tensorflow::Env* env, const std::string& path, uint32_t crc32c,
                 IndexView* index) {
  ByteSpan bytes;
  std::shared_ptr<const void> keep;
  LIQUID_RETURN_IF_ERROR(FromTf(CheckRegular(path), path));
  if (IsLocal(path)) {
    std::unique_ptr<tensorflow::ReadOnlyMemoryRegion> mapped;
    LIQUID_RETURN_IF_ERROR(
        FromTf(env->NewReadOnlyMemoryRegionFromFile(path, &mapped), path));
    bytes = ByteSpan(mapped->data(), mapped->length());
    keep = std::shared_ptr<const void>(std::move(mapped));
    if (Crc32c(bytes) != crc32c) {
      return DataLoss(path +
                      ": its CRC-32C is not what the manifest said when the "
                      "dataset was opened. It was replaced since, or is "
                      "damaged: open it again");
    }
  } else {
    auto read = std::make_shared<Buffer>();
    LIQUID_RETURN_IF_ERROR(ReadRemote(env, path, crc32c, read.get(), &bytes));
    keep = std::move(read);
  }
  const Status checked = IndexView::Create(bytes, std::move(keep), index);
  if (checked.ok()) return OkStatus();
  return Status(checked.code(), PublicPath(path) + ": " + checked.message());
}

}  // namespace

Status OpenShards(tensorflow::Env* env, const std::string& index_path,
                  uint32_t index_crc32c, std::vector<std::string> paths,
                  const Selection& selection, uint8_t format,
                  const ReplicaFiles& replicas, const std::string& pcr_index,
                  const FileAccess& access, std::unique_ptr<ShardSet>* shards) {
  IndexView index;
  LIQUID_RETURN_IF_ERROR(OpenIndex(env, index_path, index_crc32c, &index));
  const FileOpener opener = MakeFileOpener(env, access);
  LIQUID_RETURN_IF_ERROR(ShardSet::Create(
      SelectedRows(index, selection.splits, format, selection.chosen),
      std::move(paths), opener, shards));
  if (replicas.paths.empty()) return OkStatus();
  const auto open_pcr = [env, pcr_index, paths = replicas.paths](
                            std::shared_ptr<ShardSet> samples,
                            std::unique_ptr<PcrSet>* pcr) {
    return OpenPcr(env, pcr_index, paths, std::move(samples), pcr);
  };
  (*shards)->set_replicas(std::make_shared<Replicas>(
      index, replicas.paths, replicas.formats, opener, open_pcr));
  return OkStatus();
}

Status OpenPcr(tensorflow::Env* env, const std::string& pcr_index,
               const std::vector<std::string>& paths,
               std::shared_ptr<ShardSet> samples,
               std::unique_ptr<PcrSet>* pcr) {
  Buffer buffer;
  ByteSpan bytes;
  LIQUID_RETURN_IF_ERROR(ReadWhole(env, pcr_index, &buffer, &bytes));
  std::vector<PcrEntry> listed;
  const Status parsed = ParsePcrIndex(bytes, &listed);
  if (!parsed.ok()) {
    return Status(parsed.code(),
                  PublicPath(pcr_index) + ": " + parsed.message());
  }
  std::map<std::string, PcrEntry> by_name;
  for (PcrEntry& entry : listed) {
    const std::string name = entry.name;
    by_name.emplace(name, std::move(entry));
  }
  std::vector<PcrEntry> entries(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto found =
        by_name.find(std::string(tensorflow::io::Basename(paths[i])));
    if (found != by_name.end()) entries[i] = found->second;
  }
  return PcrSet::Create(std::move(samples), std::move(entries), pcr);
}

}  // namespace liquid
