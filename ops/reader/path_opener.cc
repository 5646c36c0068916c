#include "ops/reader/path_opener.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

#include "ops/core/buffer_pool.h"
#include "ops/core/regular_file.h"
#include "ops/http/url.h"
#include "ops/reader/cached_file.h"

namespace liquid {
namespace {

bool IsLetter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

// The length of "SCHEME://", whose scheme is letters, digits and dots behind a
// letter; 0 where a path does not begin so.
size_t SchemeLength(const std::string& path) {
  size_t at = 0;
  while (
      at < path.size() &&
      (IsLetter(path[at]) ||
       (at > 0 && ((path[at] >= '0' && path[at] <= '9') || path[at] == '.')))) {
    ++at;
  }
  return at > 0 && path.compare(at, 3, "://") == 0 ? at + 3 : 0;
}

// Maps a local file. What changes in it later may be seen or not.
Status Map(const std::string& name, ByteSpan* bytes,
           std::shared_ptr<const void>* keep) {
  int fd = -1;
  LIQUID_RETURN_IF_ERROR(OpenRegular(name, 0, &fd));
  struct stat info = {};
  void* address = nullptr;
  size_t size = 0;
  Status status;
  if (fstat(fd, &info) != 0) {
    status = FromErrno(name + ": cannot look at it", errno);
  } else if (info.st_size > 0) {  // nothing cannot be mapped
    size = static_cast<size_t>(info.st_size);
    address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) {
      status = FromErrno(name + ": cannot map it", errno);
    }
  }
  close(fd);
  LIQUID_RETURN_IF_ERROR(status);
  *bytes = ByteSpan(static_cast<const uint8_t*>(address), size);
  *keep = std::shared_ptr<const void>(address, [size](const void* mapped) {
    if (size > 0) munmap(const_cast<void*>(mapped), size);
  });
  return OkStatus();
}

Status LoadUrl(const std::string& url, ByteSpan* bytes,
               std::shared_ptr<const void>* keep) {
  std::unique_ptr<RandomFile> file;
  uint64_t size = 0;
  LIQUID_RETURN_IF_ERROR(OpenHttpFile(url, kHttpPatience, &file, &size));
  return ReadWhole(*file, size, bytes, keep);
}

}  // namespace

bool IsLocalPath(const std::string& path, std::string* name) {
  const size_t scheme = SchemeLength(path);
  if (scheme > 0 && path.compare(0, scheme, "file://") != 0) return false;
  if (name == nullptr) return true;
  // Behind a scheme stands a host, up to the first slash.
  *name = scheme == 0
              ? path
              : path.substr(std::min(path.find('/', scheme), path.size()));
  return true;
}

Status ReadWhole(const RandomFile& file, uint64_t size, ByteSpan* bytes,
                 std::shared_ptr<const void>* keep) {
  const auto buffer = std::make_shared<Buffer>();
  ReadCount count;
  LIQUID_RETURN_IF_ERROR(file.Read(0, size, buffer.get(), bytes, &count));
  *keep = buffer;
  return OkStatus();
}

FileOpener MakeFileOpener(const FileAccess& access, FileOpener others) {
  // A probe of each file would be a block more to read of every one.
  const auto known = std::make_shared<std::atomic<bool>>(false);
  return [access, known, others = std::move(others)](
             const std::string& path, std::unique_ptr<RandomFile>* file) {
    std::string name;
    if (IsLocalPath(path, &name)) {
      if (access.mode == ReadMode::kCached) return OpenCachedFile(name, file);
      const DirectReads direct = access.mode == ReadMode::kBuffered
                                     ? DirectReads::kNo
                                 : *known ? DirectReads::kKnown
                                          : DirectReads::kTry;
      LIQUID_RETURN_IF_ERROR(OpenPosixFile(name, direct, file));
      if ((*file)->alignment() > 1) *known = true;
      return OkStatus();
    }
    if (access.mode == ReadMode::kCached) {
      return Unimplemented(PublicPath(path) +
                           ": only local files have a page cache");
    }
    if (IsClientUrl(path)) return OpenHttpFile(path, access.patience, file);
    return others(path, file);
  };
}

Opener MakeOpener(const FileAccess& access, Opener others) {
  Opener opener;
  opener.shard = MakeFileOpener(access, others.shard);
  opener.is_local = [](const std::string& path) { return IsLocalPath(path); };
  opener.load = [load = std::move(others.load)](
                    const std::string& path, ByteSpan* bytes,
                    std::shared_ptr<const void>* keep) {
    std::string name;
    if (IsLocalPath(path, &name)) return Map(name, bytes, keep);
    if (IsClientUrl(path)) return LoadUrl(path, bytes, keep);
    return load(path, bytes, keep);
  };
  return opener;
}

}  // namespace liquid
