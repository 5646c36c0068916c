#include "ops/core/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace liquid {
namespace {

const char* KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

}  // namespace

Status FromErrno(const std::string& message, int error) {
  const std::string text = message + ": " + std::strerror(error);
  switch (error) {
    case ENOENT:
      return NotFound(text);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Unavailable(text);
    default:
      return Internal(text);
  }
}

Status CheckRegular(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return OkStatus();
  return InvalidArgument(path + ": is " + KindOf(mode) +
                         ", and must be a regular file");
}

Status OpenRegular(const std::string& path, int flags, int* fd) {
  // Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
  *fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
  if (*fd < 0) return FromErrno(path + ": cannot open", errno);
  struct stat info = {};
  Status status;
  if (fstat(*fd, &info) != 0) {
    status = FromErrno(path + ": cannot look at it", errno);
  } else {
    status = CheckRegular(path, info.st_mode);
  }
  // io_uring takes the flag for a wish that no read may wait for the disk.
  if (status.ok() && fcntl(*fd, F_SETFL, flags) != 0) {
    status = FromErrno(path + ": cannot open", errno);
  }
  if (status.ok()) return status;
  close(*fd);
  *fd = -1;
  return status;
}

}  // namespace liquid
