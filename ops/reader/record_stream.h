// Reads the records of one format ahead of their use, in a given order.
#ifndef LIQUID_OPS_READER_RECORD_STREAM_H_
#define LIQUID_OPS_READER_RECORD_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/reader/record.h"
#include "ops/reader/shard_set.h"

namespace liquid {

struct StreamOptions {
  int threads = 4;                         // reads under way at once
  uint64_t lookahead_bytes = 32ull << 20;  // read and not yet taken
  uint64_t max_read_bytes = 4ull << 20;    // adjacent records become one read
};

// Next sample position to read; false at the end.
using PositionSource = std::function<bool(uint64_t*)>;

// Delivers records in the order of the source, whatever order the reads end
// in. At least one read is under way even where a record is larger than the
// look-ahead. A record that cannot be read or fails its checks is delivered
// with its status set; the stream goes on.
//
// Thread-safe. The destructor returns at once: reads under way end on their
// own and free their buffers then.
class RecordStream {
 public:
  RecordStream(std::shared_ptr<ShardSet> shards, PositionSource positions,
               const StreamOptions& options);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // Waits for the next record and takes up to `most` that are ready. None are
  // given at the end. Error: Cancelled.
  Status Next(size_t most, std::vector<RecordPtr>* records);
  // Makes every Next return Cancelled.
  void Cancel();
  // Seconds that Next has waited.
  double wait_seconds() const;

 private:
  struct State;
  static void Work(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_RECORD_STREAM_H_
