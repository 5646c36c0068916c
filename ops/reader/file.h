// A file that is read at random offsets by several threads.
//
// Thread-safe. A local file is read past the page cache (O_DIRECT) where the
// filesystem allows it, so that the only cache is the one that the planner
// controls; it says which way it reads.
#ifndef LIQUID_OPS_READER_FILE_H_
#define LIQUID_OPS_READER_FILE_H_

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/buffer_pool.h"
#include "ops/core/regular_file.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Alignment of address, offset and length that every O_DIRECT device takes.
constexpr uint64_t kDirectAlignment = 4096;

// What a read came to.
struct ReadCount {
  uint64_t bytes = 0;       // that were read
  uint64_t disk_bytes = 0;  // of them, or around them, from the disk
  uint64_t retries =
      0;  // reads that were repeated: refused, or remote and wrong
};

// How often a remote file is asked for the same bytes, until they are right.
constexpr int kRemoteAttempts = 4;

class RandomFile {
 public:
  virtual ~RandomFile() = default;

  // Fills `segments`, one after another, with what the file holds from `offset`
  // on. Offset, addresses and lengths are multiples of alignment(). Fewer bytes
  // than the segments hold are read only at the file's end.
  // Error: that of FromErrno for what the system reports. A device that answers
  // EIO is asked once more, which is counted whatever comes of it.
  virtual Status ReadInto(uint64_t offset, const std::vector<iovec>& segments,
                          ReadCount* count) const = 0;
  // Whether Start may be called.
  virtual bool asynchronous() const { return false; }
  // Begins what ReadInto does and returns at once. When it has ended, `done` is
  // called by a thread of the file's, which must not wait there; until then the
  // caller keeps all that the arguments point to.
  virtual void Start(uint64_t /*offset*/,
                     const std::vector<iovec>& /*segments*/,
                     ReadCount* /*count*/, Status* /*status*/,
                     std::function<void()> /*done*/) const {}
  // 1, or kDirectAlignment for a file that is read past the page cache.
  virtual uint64_t alignment() const { return 1; }
  // Descriptor for reads that ReadInto does not make; -1 where there is none.
  virtual int fd() const { return -1; }
  // Must follow such a read: keeps what was read out of the page cache.
  virtual void Forget(uint64_t /*offset*/, uint64_t /*length*/) const {}
  // Whether it comes over a network, where a read may fail, or give wrong
  // bytes, and the next one not.
  virtual bool remote() const { return false; }
  // Whether a read that fails has been repeated as long as that may help.
  virtual bool persistent() const { return false; }
  // "direct", "buffered" or the name of another file system.
  virtual const char* method() const = 0;
  virtual const std::string& path() const = 0;

  // Reads `length` bytes at `offset` by way of `*buffer`, which grows where it
  // must, and points `*bytes` there. `*count` is what was read for it.
  // Errors: those of ReadInto, DataLoss where the file ends early.
  Status Read(uint64_t offset, uint64_t length, Buffer* buffer, ByteSpan* bytes,
              ReadCount* count) const;
  // `offset` and its end, moved outwards to alignment().
  uint64_t AlignedBegin(uint64_t offset) const {
    return offset / alignment() * alignment();
  }
  uint64_t AlignedEnd(uint64_t end) const {
    return AlignedBegin(end + alignment() - 1);
  }
  // The error of a file that ends at `end`, inside [offset, offset + length).
  Status Truncated(uint64_t end, uint64_t offset, uint64_t length) const;
};

// Makes room for `size` bytes, aligned for O_DIRECT; the old content is lost.
// False: no memory.
bool Reserve(size_t size, Buffer* buffer);

// Whether to read past the page cache.
enum class DirectReads {
  kNo,
  kTry,    // where a read of the file's first block shows that it works
  kKnown,  // it has worked for a file beside it
};

// Opens a local file; see OpenRegular.
Status OpenPosixFile(const std::string& path, DirectReads direct,
                     std::unique_ptr<RandomFile>* file);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_FILE_H_
