// Reads the records of one format ahead of their use, in a given order.
#ifndef LIQUID_OPS_READER_RECORD_STREAM_H_
#define LIQUID_OPS_READER_RECORD_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/reader/read_engine.h"
#include "ops/reader/read_group.h"
#include "ops/reader/record.h"
#include "ops/reader/record_source.h"

namespace liquid {

struct StreamOptions {
  ReadMode mode = ReadMode::kAuto;
  // Most reads of the group under way at once; what is used is tuned.
  int depth = 8;
  // Records that are read and not yet taken, and what they are read into.
  uint64_t lookahead_bytes = 32ull << 20;
  // Adjacent records become one read of at most this many bytes, and of a
  // sixteenth of the look-ahead. Over a network so do those that have others
  // between them in the order, where the look-ahead reaches both; of small
  // records, up to 4 MiB.
  uint64_t max_read_bytes = 8ull << 20;
  // With what it shares the disk; null: it has that to itself.
  std::shared_ptr<ReadGroup> group = nullptr;
};

// A record of the source, and when it is needed: see ReadGroup.
struct ReadTurn {
  uint64_t position = 0;
  uint64_t turn = 0;
};

// What is to be read next; false at the end.
using TurnSource = std::function<bool(ReadTurn*)>;

// Delivers records in the order of the source, whatever order the reads end
// in. At least one read is under way even where a record is larger than the
// look-ahead. A record that cannot be read or fails its checks is delivered
// with its status set; the stream goes on.
//
// Thread-safe. The destructor returns at once: reads under way end on their
// own and free their buffers then.
class RecordStream {
 public:
  RecordStream(std::shared_ptr<RecordSource> source, TurnSource turns,
               const StreamOptions& options);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // Waits for the next record and takes up to `most` that are ready, the last
  // one being that which makes them `most_bytes`. None are given at the end.
  // Errors: Cancelled, and that of a mode other than kAuto which does not work
  // here.
  Status Next(size_t most, std::vector<RecordPtr>* records,
              uint64_t most_bytes = UINT64_MAX);
  // Makes every Next return Cancelled.
  void Cancel();
  // Seconds that Next has waited.
  double wait_seconds() const;
  // Reads that a device refused and that were repeated, since the last call.
  uint64_t TakeRetries();
  // What it reads with, such as "io_uring+direct"; empty before the first read.
  std::string method() const;

 private:
  struct State;
  static void Begin(std::shared_ptr<State> state);
  struct Delivery;
  static void Work(std::shared_ptr<State> state);
  static void End(std::unique_lock<std::mutex>* lock, Delivery* job,
                  State* state);
  std::shared_ptr<State> state_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_RECORD_STREAM_H_
