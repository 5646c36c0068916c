#include "ops/dataset/open_file.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ops/reader/cached_file.h"
#include "tensorflow/core/platform/path.h"

namespace liquid {
namespace {

std::string LocalName(const std::string& path) {
  absl::string_view scheme, host, rest;
  tensorflow::io::ParseURI(path, &scheme, &host, &rest);
  return std::string(rest);
}

class TensorFlowFile : public RandomFile {
 public:
  TensorFlowFile(std::string path,
                 std::unique_ptr<tensorflow::RandomAccessFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override {
    *count = ReadCount();
    for (const iovec& segment : segments) {
      absl::string_view result;
      char* const scratch = static_cast<char*>(segment.iov_base);
      const absl::Status status =
          file_->Read(offset + count->bytes, segment.iov_len, &result, scratch);
      if (!absl::IsOutOfRange(status)) {
        LIQUID_RETURN_IF_ERROR(FromTf(status, path_));
      }
      // A file system may have the bytes in memory of its own.
      if (result.data() != scratch) {
        std::memmove(scratch, result.data(), result.size());
      }
      count->bytes += result.size();
      if (result.size() < segment.iov_len) break;
    }
    count->disk_bytes = count->bytes;
    return OkStatus();
  }
  const char* method() const override { return "tensorflow"; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const std::unique_ptr<tensorflow::RandomAccessFile> file_;
};

}  // namespace

Status FromTf(const absl::Status& status, const std::string& path) {
  if (status.ok()) return OkStatus();
  const std::string message = path + ": " + std::string(status.message());
  return absl::IsNotFound(status) ? NotFound(message) : Internal(message);
}

bool IsLocal(const std::string& path) {
  absl::string_view scheme, host, rest;
  tensorflow::io::ParseURI(path, &scheme, &host, &rest);
  return scheme.empty() || scheme == "file";
}

FileOpener MakeFileOpener(tensorflow::Env* env, ReadMode mode,
                          bool page_cache) {
  // A probe of each file would be a block more to read of every one.
  const auto known = std::make_shared<std::atomic<bool>>(false);
  return [env, mode, page_cache, known](const std::string& path,
                                        std::unique_ptr<RandomFile>* file) {
    if (IsLocal(path)) {
      if (page_cache) return OpenCachedFile(LocalName(path), file);
      const DirectReads direct = mode == ReadMode::kBuffered ? DirectReads::kNo
                                 : *known ? DirectReads::kKnown
                                          : DirectReads::kTry;
      LIQUID_RETURN_IF_ERROR(OpenPosixFile(LocalName(path), direct, file));
      if ((*file)->alignment() > 1) *known = true;
      return OkStatus();
    }
    if (page_cache) {
      return Unimplemented(path + ": only local files have a page cache");
    }
    std::unique_ptr<tensorflow::RandomAccessFile> opened;
    LIQUID_RETURN_IF_ERROR(
        FromTf(env->NewRandomAccessFile(path, &opened), path));
    *file = std::make_unique<TensorFlowFile>(path, std::move(opened));
    return OkStatus();
  };
}

}  // namespace liquid
