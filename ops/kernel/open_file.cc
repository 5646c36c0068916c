#include "ops/kernel/open_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/regular_file.h"
#include "ops/http/url.h"
#include "ops/kernel/tf_status.h"
#include "ops/reader/http_file.h"

namespace liquid {
namespace {

// Must come before TensorFlow opens a path, which it does without a look at it.
// OK too where there is nothing: opening it says so.
Status CheckLocal(const std::string& path) {
  std::string name;
  struct stat info = {};
  if (!IsLocalPath(path, &name) || stat(name.c_str(), &info) != 0) {
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

FileOpener ByTensorFlow(tensorflow::Env* env) {
  return [env](const std::string& path, std::unique_ptr<RandomFile>* file) {
    std::unique_ptr<tensorflow::RandomAccessFile> opened;
    LIQUID_RETURN_IF_ERROR(
        FromTf(env->NewRandomAccessFile(path, &opened), path));
    *file = std::make_unique<TensorFlowFile>(path, std::move(opened));
    return OkStatus();
  };
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
  return ByTensorFlow(env)(path, file);
}

FileOpener MakeFileOpener(tensorflow::Env* env, const FileAccess& access) {
  return MakeFileOpener(access, ByTensorFlow(env));
}

Opener MakeOpener(tensorflow::Env* env, const FileAccess& access) {
  Opener others;
  others.shard = ByTensorFlow(env);
  others.load = [env](const std::string& path, ByteSpan* bytes,
                      std::shared_ptr<const void>* keep) {
    std::unique_ptr<RandomFile> file;
    uint64_t size = 0;
    LIQUID_RETURN_IF_ERROR(OpenFile(env, path, &file, &size));
    return ReadWhole(*file, size, bytes, keep);
  };
  return MakeOpener(access, std::move(others));
}

}  // namespace liquid
