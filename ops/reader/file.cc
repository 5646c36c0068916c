#include "ops/reader/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "ops/core/block_store.h"

namespace liquid {
namespace {

// Takes `done` bytes off the front of segments[*first].
void Advance(uint64_t done, std::vector<iovec>* segments, size_t* first) {
  while (*first < segments->size() && done >= (*segments)[*first].iov_len) {
    done -= (*segments)[(*first)++].iov_len;
  }
  if (done == 0) return;
  iovec& part = (*segments)[*first];
  part.iov_base = static_cast<uint8_t*>(part.iov_base) + done;
  part.iov_len -= done;
}

class PosixFile : public RandomFile {
 public:
  PosixFile(std::string path, int fd, bool direct)
      : path_(std::move(path)), fd_(fd), direct_(direct) {}
  ~PosixFile() override { close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override {
    std::vector<iovec> left = segments;
    size_t first = 0;
    bool asked_again = false;
    uint64_t done = 0;
    Advance(0, &left, &first);
    while (first < left.size()) {
      const ssize_t n = preadv(
          fd_, &left[first],
          static_cast<int>(std::min<size_t>(left.size() - first, IOV_MAX)),
          static_cast<off_t>(offset + done));
      if (n > 0) {
        done += static_cast<uint64_t>(n);
        Advance(static_cast<uint64_t>(n), &left, &first);
        // A short O_DIRECT read that ends off the alignment is the file's end.
        if (done % alignment() != 0 && AtEnd(offset + done)) break;
        continue;
      }
      if (n == 0) break;
      if (errno == EINTR) continue;
      if (errno == EIO && !asked_again) {
        asked_again = true;
        ++count->retries;
        continue;
      }
      return FromErrno(
          path_ + ": cannot read at offset " + std::to_string(offset + done),
          errno);
    }
    Forget(offset, done);
    count->bytes = count->disk_bytes = done;
    return OkStatus();
  }
  uint64_t alignment() const override { return direct_ ? kDirectAlignment : 1; }
  int fd() const override { return fd_; }
  // The planner's cache is the only one.
  void Forget(uint64_t offset, uint64_t length) const override {
    if (direct_) return;
    posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length),
                  POSIX_FADV_DONTNEED);
  }
  const char* method() const override {
    return direct_ ? "direct" : "buffered";
  }
  const std::string& path() const override { return path_; }

 private:
  bool AtEnd(uint64_t offset) const {
    struct stat info;
    return fstat(fd_, &info) == 0 &&
           offset >= static_cast<uint64_t>(info.st_size);
  }

  const std::string path_;
  const int fd_;
  const bool direct_;
};

// Whether the filesystem behind `fd` takes direct reads.
bool DirectReadsWork(int fd) {
  Buffer buffer;
  return Reserve(kDirectAlignment, &buffer) &&
         pread(fd, buffer.data(), kDirectAlignment, 0) >= 0;
}

}  // namespace

Status RandomFile::Read(uint64_t offset, uint64_t length, Buffer* buffer,
                        ByteSpan* bytes, ReadCount* count) const {
  const uint64_t begin = AlignedBegin(offset);
  const uint64_t size = AlignedEnd(offset + length) - begin;
  if (!Reserve(size, buffer)) {
    return Unavailable(path() + ": no memory for a read of " +
                       std::to_string(size) + " bytes");
  }
  LIQUID_RETURN_IF_ERROR(ReadInto(begin, {{buffer->data(), size}}, count));
  if (count->bytes < offset - begin + length) {
    return Truncated(begin + count->bytes, offset, length);
  }
  *bytes = ByteSpan(buffer->data() + (offset - begin), length);
  return OkStatus();
}

Status RandomFile::Truncated(uint64_t end, uint64_t offset,
                             uint64_t length) const {
  return DataLoss(path() + ": the file ends at byte " + std::to_string(end) +
                  " but bytes " + std::to_string(offset) + " to " +
                  std::to_string(offset + length) +
                  " were asked for: the shard is truncated");
}

bool Reserve(size_t size, Buffer* buffer) {
  if (buffer->capacity() >= std::max(size, BlockSize::kPageAligned)) {
    return true;
  }
  // First, so that the pool may give it out again.
  buffer->Reset();
  *buffer =
      BufferPool::Process().Acquire(std::max(size, BlockSize::kPageAligned));
  return static_cast<bool>(*buffer);
}

Status OpenPosixFile(const std::string& path, DirectReads direct,
                     std::unique_ptr<RandomFile>* file) {
  int fd = -1;
  if (direct != DirectReads::kNo) {
    // An error is that of the other way too.
    const bool opened = OpenRegular(path, O_DIRECT, &fd).ok();
    if (opened && direct == DirectReads::kTry && !DirectReadsWork(fd)) {
      close(fd);
      fd = -1;
    }
  }
  const bool is_direct = fd >= 0;
  if (fd < 0) LIQUID_RETURN_IF_ERROR(OpenRegular(path, 0, &fd));
  *file = std::make_unique<PosixFile>(path, fd, is_direct);
  return OkStatus();
}

}  // namespace liquid
