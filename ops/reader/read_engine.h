// How reads are made: by threads that wait for one each, by io_uring, or by
// files that need no thread to wait.
#ifndef LIQUID_OPS_READER_READ_ENGINE_H_
#define LIQUID_OPS_READER_READ_ENGINE_H_

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/buffer_pool.h"
#include "ops/core/status.h"
#include "ops/reader/file.h"

namespace liquid {

// What a source may be told to read with. Everything but "auto" is an error
// where it does not work. Users are given all but the last, which is that of
// the cache policy "page".
enum class ReadMode {
  kAuto,      // io_uring where it works past the page cache, else threads
  kIoUring,   // io_uring
  kThreads,   // preadv on threads, past the page cache where it works
  kBuffered,  // the same through the page cache, which is told to forget
  kCached,    // one after the other through the page cache, see cached_file.h
};

// "auto", "io_uring", "threads", "buffered" or "cached". Error:
// InvalidArgument.
Status ParseReadMode(const std::string& name, ReadMode* mode);

// A read of consecutive bytes. The caller owns it, and keeps it and its memory
// until Finish gives it back.
struct ReadRequest {
  std::shared_ptr<RandomFile> file;
  uint64_t offset = 0;          // a multiple of the file's alignment, as are
  std::vector<iovec> segments;  // addresses and lengths of these
  uint64_t needed = 0;          // bytes of them that the file must have
  int slot = -1;  // which registered buffer holds the only segment; -1: none

  Status status;
  ReadCount count;
};

// Thread-safe. Must not be destroyed while a read is under way.
class ReadEngine {
 public:
  virtual ~ReadEngine() = default;

  // Takes a request. Returns without waiting for the disk.
  virtual void Start(ReadRequest* request) = 0;
  // Waits for one of the requests that were started to end, in any order. Each
  // call must have a request to itself, and no more than most_waiting() may run
  // at once.
  virtual ReadRequest* Finish() = 0;
  virtual int most_waiting() const = 0;
  // Threads that should share the work of `depth` reads at once.
  virtual int Workers(int depth) const = 0;
  // Tells of memory that is read into again and again; requests name it by its
  // position. False where it cannot be registered, and is memory as any other.
  virtual bool Register(const std::vector<Buffer>& /*buffers*/) {
    return false;
  }
  // "io_uring", "threads" or "asynchronous".
  virtual const char* name() const = 0;
};

// Threads for reads that no thread has to wait for: one waits for them, the
// others check what has come. More than the speed needs would only wake each
// other.
int CheckingWorkers(int depth);

// Reads on the threads that call Finish.
std::unique_ptr<ReadEngine> MakeThreadEngine();

// Lets asynchronous files read; others as the thread engine does.
std::unique_ptr<ReadEngine> MakeAsynchronousEngine();

// Reads with io_uring, `depth` at once at most. It is tried by reading the
// first block of `file`. Error: Unimplemented with the reason where it does not
// work.
Status MakeIoUringEngine(const RandomFile& file, int depth,
                         std::unique_ptr<ReadEngine>* engine);

// The engine that `mode` and the file allow. Error: that of the engine, or
// InvalidArgument for a file that is not local.
Status MakeReadEngine(ReadMode mode, const RandomFile& file, int depth,
                      std::unique_ptr<ReadEngine>* engine);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_ENGINE_H_
