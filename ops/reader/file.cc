#include "ops/reader/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace liquid {
namespace {

uint64_t RoundDown(uint64_t value) { return value & ~(kDirectAlignment - 1); }
uint64_t RoundUp(uint64_t value) {
  return RoundDown(value + kDirectAlignment - 1);
}

std::string Reason(int error) { return std::strerror(error); }

// Reads until `length` bytes, the end of the file or an error; the result is
// the bytes read. A device that answers EIO is asked once more.
Status ReadFully(int fd, const std::string& path, uint8_t* data,
                 uint64_t offset, uint64_t length, uint64_t* done) {
  *done = 0;
  bool asked_again = false;
  while (*done < length) {
    const ssize_t n = pread(fd, data + *done, length - *done,
                            static_cast<off_t>(offset + *done));
    if (n > 0) {
      *done += static_cast<uint64_t>(n);
      // A short O_DIRECT read that ends off the alignment is the file's end.
      if (*done % kDirectAlignment != 0 && *done < length) {
        struct stat info;
        if (fstat(fd, &info) == 0 &&
            offset + *done >= static_cast<uint64_t>(info.st_size)) {
          break;
        }
      }
      continue;
    }
    if (n == 0) break;
    if (errno == EINTR) continue;
    if (errno == EIO && !asked_again) {
      asked_again = true;
      continue;
    }
    return Internal(path + ": cannot read " + std::to_string(length) +
                    " bytes at offset " + std::to_string(offset) + ": " +
                    Reason(errno));
  }
  return OkStatus();
}

class PosixFile : public RandomFile {
 public:
  PosixFile(std::string path, int fd, bool direct)
      : path_(std::move(path)), fd_(fd), direct_(direct) {}
  ~PosixFile() override { close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  Status Read(uint64_t offset, uint64_t length, AlignedBuffer* buffer,
              ByteSpan* bytes, uint64_t* disk_bytes) const override {
    const uint64_t begin = direct_ ? RoundDown(offset) : offset;
    const uint64_t end = direct_ ? RoundUp(offset + length) : offset + length;
    if (!buffer->Reserve(end - begin)) {
      return ResourceExhausted(path_ + ": no memory for a read of " +
                               std::to_string(end - begin) + " bytes");
    }
    uint64_t done = 0;
    LIQUID_RETURN_IF_ERROR(
        ReadFully(fd_, path_, buffer->data(), begin, end - begin, &done));
    if (begin + done < offset + length) {
      return DataLoss(path_ + ": the file ends at byte " +
                      std::to_string(begin + done) + " but bytes " +
                      std::to_string(offset) + " to " +
                      std::to_string(offset + length) +
                      " were asked for: the shard is truncated");
    }
    if (!direct_) {
      // The planner's cache is the only one: keep ours out of the page cache.
      posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length),
                    POSIX_FADV_DONTNEED);
    }
    *bytes = ByteSpan(buffer->data() + (offset - begin), length);
    *disk_bytes = done;
    return OkStatus();
  }

  const char* method() const override {
    return direct_ ? "direct" : "buffered";
  }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const int fd_;
  const bool direct_;
};

// Whether the filesystem behind `fd` takes direct reads.
bool DirectReadsWork(int fd) {
  AlignedBuffer buffer;
  return buffer.Reserve(kDirectAlignment) &&
         pread(fd, buffer.data(), kDirectAlignment, 0) >= 0;
}

}  // namespace

bool AlignedBuffer::Reserve(size_t size) {
  if (size <= capacity_) return true;
  const size_t capacity = RoundUp(std::max<uint64_t>(size, kDirectAlignment));
  data_.reset(
      static_cast<uint8_t*>(std::aligned_alloc(kDirectAlignment, capacity)));
  capacity_ = data_ ? capacity : 0;
  return data_ != nullptr;
}

Status OpenPosixFile(const std::string& path,
                     std::unique_ptr<RandomFile>* file) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  bool direct = fd >= 0;
  if (direct && !DirectReadsWork(fd)) {
    close(fd);
    fd = -1;
    direct = false;
  }
  if (fd < 0) fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const std::string message = path + ": cannot open: " + Reason(errno);
    return errno == ENOENT ? NotFound(message) : Internal(message);
  }
  *file = std::make_unique<PosixFile>(path, fd, direct);
  return OkStatus();
}

}  // namespace liquid
