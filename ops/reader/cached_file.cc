#include "ops/reader/cached_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace liquid {
namespace {

class CachedFile : public RandomFile {
 public:
  // Owns `fd` and `pages`, a mapping of the file that is only asked about.
  CachedFile(std::string path, int fd, uint64_t size, void* pages)
      : path_(std::move(path)), fd_(fd), size_(size), pages_(pages) {}
  ~CachedFile() override {
    munmap(pages_, size_);
    close(fd_);
  }
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;

  Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                  ReadCount* count) const override {
    *count = ReadCount();
    if (offset > size_) return OkStatus();
    uint64_t left = 0;
    for (const iovec& segment : segments) left += segment.iov_len;
    left = std::min(left, size_ - offset);
    // Asked before the read, which brings every page into the cache.
    LIQUID_RETURN_IF_ERROR(CountMissing(offset, left, &count->disk_bytes));
    for (const iovec& segment : segments) {
      for (uint64_t done = 0; done < segment.iov_len && left > 0;) {
        const ssize_t n =
            pread(fd_, static_cast<uint8_t*>(segment.iov_base) + done,
                  std::min(segment.iov_len - done, left),
                  static_cast<off_t>(offset + count->bytes));
        if (n > 0) {
          done += static_cast<uint64_t>(n);
          left -= static_cast<uint64_t>(n);
          count->bytes += static_cast<uint64_t>(n);
        } else if (n == 0 || errno != EINTR) {
          const std::string message = path_ + ": cannot read at offset " +
                                      std::to_string(offset + count->bytes);
          return n == 0 ? Internal(message + ": the file became shorter")
                        : FromErrno(message, errno);
        }
      }
    }
    return OkStatus();
  }

  const char* method() const override { return "cached"; }
  const std::string& path() const override { return path_; }

 private:
  Status CountMissing(uint64_t offset, uint64_t length,
                      uint64_t* missing) const {
    *missing = 0;
    if (length == 0) return OkStatus();
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t begin = offset / page * page;
    std::vector<unsigned char> there((offset + length - begin + page - 1) /
                                     page);
    if (mincore(static_cast<uint8_t*>(pages_) + begin, offset + length - begin,
                there.data()) != 0) {
      return FromErrno(path_ + ": cannot tell what is cached", errno);
    }
    for (const unsigned char flags : there) *missing += flags & 1 ? 0 : page;
    return OkStatus();
  }

  const std::string path_;
  const int fd_;
  const uint64_t size_;
  void* const pages_;
};

}  // namespace

Status OpenCachedFile(const std::string& path,
                      std::unique_ptr<RandomFile>* file) {
  int fd = -1;
  LIQUID_RETURN_IF_ERROR(OpenRegular(path, 0, &fd));
  struct stat info = {};
  Status status;
  void* pages = MAP_FAILED;
  if (fstat(fd, &info) != 0) {
    status = FromErrno(path + ": cannot get its size", errno);
  } else if (info.st_uid != geteuid() && access(path.c_str(), W_OK) != 0) {
    // To others the kernel says that all of it is cached.
    status = Unimplemented(path +
                           ": what the page cache has of a file is told to its "
                           "owner only: copy the dataset");
  } else {
    pages = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ,
                 MAP_SHARED, fd, 0);
    if (pages == MAP_FAILED) {
      status = FromErrno(path + ": cannot map it", errno);
    }
  }
  if (!status.ok()) {
    close(fd);
    return status;
  }
  *file = std::make_unique<CachedFile>(
      path, fd, static_cast<uint64_t>(info.st_size), pages);
  return OkStatus();
}

}  // namespace liquid
