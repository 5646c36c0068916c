// A library to preload: makes chosen calls on chosen files fail, fall short,
// take their time or hang, as a file of rules says.
//
// LIQUID_FAULT_RULES names that file; it is read again whenever it changes. A
// rule is a line
//
//   CALL PATH ACTION [KEY=VALUE]...
//
// CALL: read, write, sync, truncate or open. PATH: a part of the file's path.
// ACTION: eio, enospc, short (arg= bytes at most), delay (arg= milliseconds),
// or hang, until the rule is gone. from= and to= restrict it to calls that
// touch those offsets, size= to those of that many bytes or more, skip= passes
// so many first, times= ends it after so many. The first rule that fits is
// obeyed. Every fault is a line "CALL PATH OFFSET LENGTH ACTION" of the file
// RULES.log.
//
// io_uring, which does its work in the kernel and so past this library, is not
// to be had in the process.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Rule {
  std::string call;
  std::string path;
  std::string action;
  int64_t arg = 0;
  int64_t from = 0;
  int64_t to = INT64_MAX;
  int64_t size = 0;
  int64_t skip = 0;
  int64_t times = INT64_MAX;
};

struct Call {
  const char* name;
  std::string path;
  int64_t offset;
  int64_t length;
};

// liburing may be linked statically and calls the kernel itself, so the kernel
// is told.
__attribute__((constructor)) void ForbidIoUring() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  // Who is not root must forgo privileges first.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::abort();
  }
}

// Our own calls pass.
thread_local bool inside = false;

class Rules {
 public:
  // What to do about a call: a copy of the rule, its action empty for nothing.
  Rule Find(const Call& call) {
    std::lock_guard<std::mutex> lock(mu_);
    Reload();
    for (Rule& rule : rules_) {
      if (!Fits(rule, call)) continue;
      if (rule.skip > 0) {
        --rule.skip;
        return Rule();
      }
      if (rule.times == 0) continue;
      --rule.times;
      Log(call, rule);
      return rule;
    }
    return Rule();
  }

  // Returns when no rule says that the call hangs.
  void Wait(const Call& call) {
    for (bool hangs = true; hangs;) {
      usleep(10'000);
      std::lock_guard<std::mutex> lock(mu_);
      Reload();
      hangs = false;
      for (const Rule& rule : rules_) {
        hangs |= rule.action == "hang" && Fits(rule, call);
      }
    }
  }

 private:
  static bool Fits(const Rule& rule, const Call& call) {
    return rule.call == call.name &&
           call.path.find(rule.path) != std::string::npos &&
           call.offset < rule.to && call.offset + call.length > rule.from &&
           call.length >= rule.size;
  }

  void Log(const Call& call, const Rule& rule) {
    std::ofstream log(File() + ".log", std::ios::app);
    log << call.name << ' ' << call.path << ' ' << call.offset << ' '
        << call.length << ' ' << rule.action << std::endl;
  }

  static std::string File() {
    const char* path = std::getenv("LIQUID_FAULT_RULES");
    return path == nullptr ? "" : path;
  }

  void Reload() {
    struct stat info;
    if (stat(File().c_str(), &info) != 0) {
      rules_.clear();
      changed_ = {};
      return;
    }
    if (info.st_mtim.tv_sec == changed_.tv_sec &&
        info.st_mtim.tv_nsec == changed_.tv_nsec && info.st_ino == inode_) {
      return;
    }
    changed_ = info.st_mtim;
    inode_ = info.st_ino;
    rules_.clear();
    std::ifstream file(File());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      Rule rule;
      words >> rule.call >> rule.path >> rule.action;
      for (std::string word; words >> word;) Set(word, &rule);
      rules_.push_back(rule);
    }
  }

  static void Set(const std::string& word, Rule* rule) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    int64_t* value = key == "arg"     ? &rule->arg
                     : key == "from"  ? &rule->from
                     : key == "to"    ? &rule->to
                     : key == "size"  ? &rule->size
                     : key == "skip"  ? &rule->skip
                     : key == "times" ? &rule->times
                                      : nullptr;
    if (value == nullptr || equals == std::string::npos) {
      std::abort();  // a test that says nonsense
    }
    *value = std::strtoll(word.c_str() + equals + 1, nullptr, 10);
  }

  std::mutex mu_;
  std::vector<Rule> rules_;  // guarded by mu_, like all below
  timespec changed_ = {};
  ino_t inode_ = 0;
};

// Never destroyed: threads may outlive main.
Rules& AllRules() {
  static Rules* const rules = new Rules;
  return *rules;
}

// Obeys the rules for a call of `length` bytes. False: it fails, errno is set.
// Else `*length` is what it may do.
bool Pass(const char* name, std::string path, int64_t offset, size_t* length) {
  const Call call{name, std::move(path), offset, static_cast<int64_t>(*length)};
  const Rule rule = AllRules().Find(call);
  if (rule.action == "eio") {
    errno = EIO;
    return false;
  }
  if (rule.action == "enospc") {
    errno = ENOSPC;
    return false;
  }
  if (rule.action == "delay") usleep(static_cast<useconds_t>(rule.arg) * 1000);
  if (rule.action == "hang") AllRules().Wait(call);
  if (rule.action == "short" && *length > static_cast<size_t>(rule.arg)) {
    *length = static_cast<size_t>(rule.arg);
  }
  return true;
}

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = readlink(link.c_str(), path, sizeof(path));
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

bool PassFd(const char* name, int fd, int64_t offset, size_t* length) {
  if (inside) return true;
  inside = true;
  const int before = errno;
  const bool pass = Pass(name, PathOf(fd), offset, length);
  if (pass) errno = before;
  inside = false;
  return pass;
}

int64_t Here(int fd) { return syscall(SYS_lseek, fd, 0, SEEK_CUR); }

ssize_t Write(int fd, const void* data, size_t length) {
  if (!PassFd("write", fd, Here(fd), &length)) return -1;
  return syscall(SYS_write, fd, data, length);
}

ssize_t ReadAt(int fd, void* data, size_t length, off64_t offset) {
  if (!PassFd("read", fd, offset, &length)) return -1;
  return syscall(SYS_pread64, fd, data, length, offset);
}

ssize_t WriteAt(int fd, const void* data, size_t length, off64_t offset) {
  if (!PassFd("write", fd, offset, &length)) return -1;
  return syscall(SYS_pwrite64, fd, data, length, offset);
}

size_t Length(const iovec* parts, int count) {
  size_t length = 0;
  for (int i = 0; i < count; ++i) length += parts[i].iov_len;
  return length;
}

// The first `length` bytes of the parts.
std::vector<iovec> Cut(const iovec* parts, int count, size_t length) {
  std::vector<iovec> allowed(parts, parts + count);
  for (iovec& part : allowed) {
    part.iov_len = std::min(part.iov_len, length);
    length -= part.iov_len;
  }
  return allowed;
}

ssize_t ReadVector(int fd, const iovec* parts, int count, off64_t offset,
                   int flags) {
  size_t length = Length(parts, count);
  if (!PassFd("read", fd, offset, &length)) return -1;
  const std::vector<iovec> allowed = Cut(parts, count, length);
  return syscall(SYS_preadv2, fd, allowed.data(), count, offset, 0L, flags);
}

ssize_t WriteVector(int fd, const iovec* parts, int count) {
  size_t length = Length(parts, count);
  if (!PassFd("write", fd, Here(fd), &length)) return -1;
  const std::vector<iovec> allowed = Cut(parts, count, length);
  return syscall(SYS_writev, fd, allowed.data(), count);
}

int Truncate(int fd, off64_t size) {
  size_t length = 1;
  if (!PassFd("truncate", fd, size, &length)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int Sync(int fd, long number) {
  size_t length = 1;
  if (!PassFd("sync", fd, 0, &length)) return -1;
  return static_cast<int>(syscall(number, fd));
}

int Open(int directory, const char* path, int flags, mode_t mode) {
  if (!inside) {
    inside = true;
    size_t length = 1;
    const int before = errno;
    const bool pass = Pass("open", path, 0, &length);
    if (pass) errno = before;
    inside = false;
    if (!pass) return -1;
  }
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

mode_t ModeOf(int flags, va_list arguments) {
  const bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return given ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#define LIQUID_EXPORT extern "C" __attribute__((visibility("default")))

LIQUID_EXPORT ssize_t write(int fd, const void* data, size_t length) {
  return Write(fd, data, length);
}
LIQUID_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  return WriteVector(fd, parts, count);
}
LIQUID_EXPORT ssize_t pread(int fd, void* data, size_t length, off_t offset) {
  return ReadAt(fd, data, length, offset);
}
LIQUID_EXPORT ssize_t pread64(int fd, void* data, size_t length,
                              off64_t offset) {
  return ReadAt(fd, data, length, offset);
}
LIQUID_EXPORT ssize_t pwrite(int fd, const void* data, size_t length,
                             off_t offset) {
  return WriteAt(fd, data, length, offset);
}
LIQUID_EXPORT ssize_t pwrite64(int fd, const void* data, size_t length,
                               off64_t offset) {
  return WriteAt(fd, data, length, offset);
}
LIQUID_EXPORT ssize_t preadv(int fd, const iovec* parts, int count,
                             off_t offset) {
  return ReadVector(fd, parts, count, offset, 0);
}
LIQUID_EXPORT ssize_t preadv64(int fd, const iovec* parts, int count,
                               off64_t offset) {
  return ReadVector(fd, parts, count, offset, 0);
}
LIQUID_EXPORT ssize_t preadv2(int fd, const iovec* parts, int count,
                              off_t offset, int flags) {
  return ReadVector(fd, parts, count, offset, flags);
}
LIQUID_EXPORT ssize_t preadv64v2(int fd, const iovec* parts, int count,
                                 off64_t offset, int flags) {
  return ReadVector(fd, parts, count, offset, flags);
}
LIQUID_EXPORT int ftruncate(int fd, off_t size) { return Truncate(fd, size); }
LIQUID_EXPORT int ftruncate64(int fd, off64_t size) {
  return Truncate(fd, size);
}
LIQUID_EXPORT int fsync(int fd) { return Sync(fd, SYS_fsync); }
LIQUID_EXPORT int fdatasync(int fd) { return Sync(fd, SYS_fdatasync); }

LIQUID_EXPORT int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}
LIQUID_EXPORT int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}
