#include "ops/reader/tier_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ops/core/regular_file.h"

namespace liquid {
namespace {

// Takes the space of the file, or at least gives it that size.
int Allocate(int fd, uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  int result;
  do {
    result = fallocate(fd, 0, 0, size);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EOPNOTSUPP) result = ftruncate(fd, size);
  return result;
}

}  // namespace

Status TierFile::Create(const std::string& folder, uint64_t blocks,
                        std::shared_ptr<TierFile>* file) {
  std::string path = folder + "/liquid-tier-XXXXXX";
  bool direct = true;
  int fd = mkostemp(path.data(), O_CLOEXEC | O_DIRECT);
  if (fd < 0 && errno == EINVAL) {
    // The name was made, and the file with it, before the flag was refused.
    unlink(path.c_str());
    path = folder + "/liquid-tier-XXXXXX";
    direct = false;
    fd = mkostemp(path.data(), O_CLOEXEC);
  }
  if (fd < 0) return FromErrno(folder + ": cannot make a file", errno);
  // From here on nothing is left of it, whatever becomes of the process.
  unlink(path.c_str());
  file->reset(new TierFile(path, fd, direct, blocks));
  if (Allocate(fd, blocks * kBlock) == 0) return OkStatus();
  const int error = errno;
  file->reset();
  return FromErrno(
      folder + ": cannot take " + std::to_string(blocks * kBlock) + " bytes",
      error);
}

TierFile::~TierFile() { close(fd_); }

std::shared_ptr<TierPlace> TierFile::Reserve(uint64_t bytes) {
  std::vector<Extent> extents;
  {
    std::lock_guard<std::mutex> lock(mu_);
    extents = free_.Take(BlocksFor(bytes));
  }
  if (extents.empty()) return nullptr;
  return std::make_shared<TierPlace>(shared_from_this(), std::move(extents));
}

TierPlace::~TierPlace() {
  std::lock_guard<std::mutex> lock(file_->mu_);
  file_->free_.Give(extents_);
}

TierPlace::Piece TierPlace::At(uint64_t offset) const {
  uint64_t in = offset - begin();
  for (const Extent& extent : extents_) {
    const uint64_t bytes = extent.count * TierFile::kBlock;
    if (in < bytes) return {extent.begin * TierFile::kBlock + in, bytes - in};
    in -= bytes;
  }
  return {};
}

Status TierPlace::Write(ByteSpan blocks) const {
  for (uint64_t done = 0; done < blocks.size;) {
    const Piece piece = At(begin() + done);
    const ssize_t n = pwrite(file_->fd_, blocks.data + done,
                             std::min(piece.bytes, blocks.size - done),
                             static_cast<off_t>(piece.offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return FromErrno(
          path() + ": cannot write at offset " + std::to_string(piece.offset),
          n == 0 ? ENOSPC : errno);
    }
    done += static_cast<uint64_t>(n);
  }
  if (!file_->direct_) {
    // Pages that are not written yet would stay.
    for (const Extent& extent : extents_) {
      sync_file_range(file_->fd_,
                      static_cast<off_t>(extent.begin * TierFile::kBlock),
                      static_cast<off_t>(extent.count * TierFile::kBlock),
                      SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    }
    Forget(begin(), blocks.size);
  }
  return OkStatus();
}

Status TierPlace::ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                           ReadCount* count) const {
  uint64_t at = offset;
  for (const iovec& segment : segments) {
    auto* const bytes = static_cast<uint8_t*>(segment.iov_base);
    for (uint64_t done = 0; done < segment.iov_len;) {
      const Piece piece = At(at);
      const ssize_t n =
          pread(file_->fd_, bytes + done,
                std::min<uint64_t>(piece.bytes, segment.iov_len - done),
                static_cast<off_t>(piece.offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        return FromErrno(
            path() + ": cannot read at offset " + std::to_string(piece.offset),
            n == 0 ? EIO : errno);
      }
      done += static_cast<uint64_t>(n);
      at += static_cast<uint64_t>(n);
    }
  }
  Forget(offset, at - offset);
  count->bytes = count->disk_bytes = at - offset;
  return OkStatus();
}

void TierPlace::Forget(uint64_t offset, uint64_t length) const {
  if (file_->direct_) return;
  for (const uint64_t end = offset + length; offset < end;) {
    const Piece piece = At(offset);
    if (piece.bytes == 0) return;
    posix_fadvise(file_->fd_, static_cast<off_t>(piece.offset),
                  static_cast<off_t>(piece.bytes), POSIX_FADV_DONTNEED);
    offset += piece.bytes;
  }
}

}  // namespace liquid
