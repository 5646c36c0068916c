// A file that is read at random offsets by several threads.
//
// Thread-safe. `PosixFile` reads past the page cache (O_DIRECT) where the
// filesystem allows it, so that the only cache is the one that the planner
// controls; it says which way it reads.
#ifndef LIQUID_OPS_READER_FILE_H_
#define LIQUID_OPS_READER_FILE_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Alignment of address, offset and length that every O_DIRECT device takes.
constexpr uint64_t kDirectAlignment = 4096;

// Grows, never shrinks; the memory is aligned for O_DIRECT.
class AlignedBuffer {
 public:
  // Makes room for `size` bytes; the old content is lost. False: no memory.
  bool Reserve(size_t size);
  uint8_t* data() { return data_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(uint8_t* data) const { std::free(data); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t capacity_ = 0;
};

class RandomFile {
 public:
  virtual ~RandomFile() = default;
  // Reads `length` bytes at `offset` by way of `*buffer` and points `*bytes`
  // there. `*disk_bytes` is what was asked of the device. Errors: DataLoss
  // when the file ends early, Internal for what the system reports.
  virtual Status Read(uint64_t offset, uint64_t length, AlignedBuffer* buffer,
                      ByteSpan* bytes, uint64_t* disk_bytes) const = 0;
  // "direct", "buffered" or the name of another file system.
  virtual const char* method() const = 0;
  virtual const std::string& path() const = 0;
};

// Opens a local file. O_DIRECT is probed by reading the first block.
Status OpenPosixFile(const std::string& path,
                     std::unique_ptr<RandomFile>* file);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_FILE_H_
