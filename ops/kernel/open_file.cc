#include "ops/kernel/open_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/regular_file.h"
#include "ops/http/url.h"
#include "ops/kernel/tf_status.h"
#include "ops/reader/cached_file.h"
#include "ops/reader/http_file.h"
#include "tensorflow/core/platform/path.h"

namespace liquid {
namespace {

// The parts of a path, as TensorFlow takes it apart.
struct PathParts {
  explicit PathParts(const std::string& path) {
    absl::string_view host;
    tensorflow::io::ParseURI(path, &scheme, &host, &name);
  }
  bool local() const { return scheme.empty() || scheme == "file"; }

  absl::string_view scheme, name;
};

bool IsLocal(const std::string& path) { return PathParts(path).local(); }

std::string LocalName(const std::string& path) {
  return std::string(PathParts(path).name);
}

// Must come before TensorFlow opens a path, which it does without a look at it.
// OK too where there is nothing: opening it says so.
Status CheckLocal(const std::string& path) {
  struct stat info = {};
  if (!IsLocal(path) || stat(LocalName(path).c_str(), &info) != 0) {
    return OkStatus();
  }
  return CheckRegular(path, info.st_mode);
}

// Turns an error about a file into one of the core, with the file.
Status FromTf(const absl::Status& status, const std::string& path) {
  if (status.ok()) return OkStatus();
  // TensorFlow's own file systems begin with the path, some of ours too.
  absl::string_view said = status.message();
  if (absl::ConsumePrefix(&said, path)) {
    said.remove_prefix(std::min(said.find_first_not_of(":; "), said.size()));
  }
  const std::string message = path + ": " + std::string(said);
  if (absl::IsNotFound(status)) return NotFound(message);
  if (absl::IsInvalidArgument(status)) return InvalidArgument(message);
  return absl::IsResourceExhausted(status) ? Unavailable(message)
                                           : Internal(message);
}

class TensorFlowFile : public RandomFile {
 public:
  TensorFlowFile(std::string path,
                 std::unique_ptr<tensorflow::RandomAccessFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override {
    *count = ReadCount();
    if (segments.size() == 1) {
      return Read(offset, static_cast<char*>(segments[0].iov_base),
                  segments[0].iov_len, count);
    }
    // One request for all.
    size_t size = 0;
    for (const iovec& segment : segments) size += segment.iov_len;
    Buffer whole = BufferPool::Process().Acquire(size);
    if (!whole) {
      return Unavailable(path_ + ": no memory for a read of " +
                         std::to_string(size) + " bytes");
    }
    LIQUID_RETURN_IF_ERROR(
        Read(offset, reinterpret_cast<char*>(whole.data()), size, count));
    size_t at = 0;
    for (const iovec& segment : segments) {
      const size_t left = count->bytes - std::min<size_t>(at, count->bytes);
      std::memcpy(segment.iov_base, whole.data() + at,
                  std::min(left, segment.iov_len));
      at += segment.iov_len;
    }
    return OkStatus();
  }
  bool remote() const override { return true; }
  const char* method() const override { return "tensorflow"; }
  const std::string& path() const override { return path_; }

 private:
  Status Read(uint64_t offset, char* bytes, size_t size,
              ReadCount* count) const {
    absl::string_view result;
    const absl::Status status = file_->Read(offset, size, &result, bytes);
    if (!absl::IsOutOfRange(status)) {
      LIQUID_RETURN_IF_ERROR(FromTf(status, path_));
    }
    // A file system may have the bytes in memory of its own.
    if (result.data() != bytes) {
      std::memmove(bytes, result.data(), result.size());
    }
    count->bytes = count->disk_bytes = result.size();
    return OkStatus();
  }

  const std::string path_;
  const std::unique_ptr<tensorflow::RandomAccessFile> file_;
};

Status OpenByTensorFlow(tensorflow::Env* env, const std::string& path,
                        std::unique_ptr<RandomFile>* file) {
  std::unique_ptr<tensorflow::RandomAccessFile> opened;
  LIQUID_RETURN_IF_ERROR(FromTf(env->NewRandomAccessFile(path, &opened), path));
  *file = std::make_unique<TensorFlowFile>(path, std::move(opened));
  return OkStatus();
}

}  // namespace

Status OpenFile(tensorflow::Env* env, const std::string& path,
                std::unique_ptr<RandomFile>* file, uint64_t* size) {
  if (IsClientUrl(path)) {
    return OpenHttpFile(path, kHttpPatience, file, size);
  }
  LIQUID_RETURN_IF_ERROR(CheckLocal(path));
  tensorflow::uint64 bytes = 0;
  LIQUID_RETURN_IF_ERROR(FromTf(env->GetFileSize(path, &bytes), path));
  *size = bytes;
  return OpenByTensorFlow(env, path, file);
}

FileOpener MakeFileOpener(tensorflow::Env* env, const FileAccess& access) {
  // A probe of each file would be a block more to read of every one.
  const auto known = std::make_shared<std::atomic<bool>>(false);
  return [env, access, known](const std::string& path,
                              std::unique_ptr<RandomFile>* file) {
    if (IsLocal(path)) {
      if (access.mode == ReadMode::kCached) {
        return OpenCachedFile(LocalName(path), file);
      }
      const DirectReads direct = access.mode == ReadMode::kBuffered
                                     ? DirectReads::kNo
                                 : *known ? DirectReads::kKnown
                                          : DirectReads::kTry;
      LIQUID_RETURN_IF_ERROR(OpenPosixFile(LocalName(path), direct, file));
      if ((*file)->alignment() > 1) *known = true;
      return OkStatus();
    }
    if (access.mode == ReadMode::kCached) {
      return Unimplemented(PublicPath(path) +
                           ": only local files have a page cache");
    }
    if (IsClientUrl(path)) return OpenHttpFile(path, access.patience, file);
    return OpenByTensorFlow(env, path, file);
  };
}

Opener MakeOpener(tensorflow::Env* env, const FileAccess& access) {
  Opener opener;
  opener.shard = MakeFileOpener(env, access);
  opener.is_local = IsLocal;
  opener.load = [env](const std::string& path, ByteSpan* bytes,
                      std::shared_ptr<const void>* keep) {
    if (IsLocal(path)) {
      LIQUID_RETURN_IF_ERROR(CheckLocal(path));
      std::unique_ptr<tensorflow::ReadOnlyMemoryRegion> mapped;
      LIQUID_RETURN_IF_ERROR(
          FromTf(env->NewReadOnlyMemoryRegionFromFile(path, &mapped), path));
      *bytes = ByteSpan(mapped->data(), mapped->length());
      *keep = std::shared_ptr<const void>(std::move(mapped));
      return OkStatus();
    }
    std::unique_ptr<RandomFile> file;
    uint64_t size = 0;
    LIQUID_RETURN_IF_ERROR(OpenFile(env, path, &file, &size));
    const auto buffer = std::make_shared<Buffer>();
    *keep = buffer;
    ReadCount count;
    return file->Read(0, size, buffer.get(), bytes, &count);
  };
  return opener;
}

}  // namespace liquid
