#include "ops/dataset/open_shards.h"

#include <map>
#include <utility>

#include "ops/containers/recordio/dataset_index.h"
#include "ops/dataset/open_file.h"
#include "tensorflow/core/platform/path.h"

namespace liquid {
namespace {

// Maps a local index, of which every process on the machine then has the same
// memory; reads one of another file system.
Status OpenIndex(tensorflow::Env* env, const std::string& path,
                 IndexView* index) {
  ByteSpan bytes;
  std::shared_ptr<const void> keep;
  if (IsLocal(path)) {
    std::unique_ptr<tensorflow::ReadOnlyMemoryRegion> mapped;
    LIQUID_RETURN_IF_ERROR(
        FromTf(env->NewReadOnlyMemoryRegionFromFile(path, &mapped), path));
    bytes = ByteSpan(mapped->data(), mapped->length());
    keep = std::shared_ptr<const void>(std::move(mapped));
  } else {
    auto read = std::make_shared<std::string>();
    LIQUID_RETURN_IF_ERROR(
        FromTf(tensorflow::ReadFileToString(env, path, read.get()), path));
    bytes = ByteSpan(read->data(), read->size());
    keep = std::move(read);
  }
  const Status checked = IndexView::Create(bytes, std::move(keep), index);
  if (checked.ok()) return OkStatus();
  return Status(checked.code(), path + ": " + checked.message());
}

}  // namespace

Status OpenShards(tensorflow::Env* env, const std::string& directory,
                  std::vector<std::string> paths, uint8_t split, uint8_t format,
                  ReadMode mode, bool page_cache,
                  std::unique_ptr<ShardSet>* shards) {
  IndexView index;
  LIQUID_RETURN_IF_ERROR(
      OpenIndex(env, tensorflow::io::JoinPath(directory, "index.npy"), &index));
  return ShardSet::Create(index, split, format, std::move(paths),
                          MakeFileOpener(env, mode, page_cache), shards);
}

Status OpenPcr(tensorflow::Env* env, const std::string& directory,
               const std::vector<std::string>& paths,
               std::shared_ptr<ShardSet> samples,
               std::unique_ptr<PcrSet>* pcr) {
  const std::string index = tensorflow::io::JoinPath(directory, kPcrIndexName);
  std::string bytes;
  LIQUID_RETURN_IF_ERROR(
      FromTf(tensorflow::ReadFileToString(env, index, &bytes), index));
  std::vector<PcrEntry> listed;
  const Status parsed =
      ParsePcrIndex(ByteSpan(bytes.data(), bytes.size()), &listed);
  if (!parsed.ok()) {
    return Status(parsed.code(), index + ": " + parsed.message());
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
