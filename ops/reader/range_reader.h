// The records of RecordIO files, or of parts of them, read ahead in large
// reads.
#ifndef LIQUID_OPS_READER_RANGE_READER_H_
#define LIQUID_OPS_READER_RANGE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/containers/recordio/record_scanner.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/status.h"
#include "ops/reader/block_source.h"
#include "ops/reader/record_stream.h"

namespace liquid {

struct FileRange {
  std::string path;
  RecordRange range;
  int64_t records = -1;  // that must be in it; -1: any number
};

struct RangeReaderOptions {
  ReadMode mode = ReadMode::kAuto;
  int depth = 8;                      // most reads under way at once
  uint64_t block_bytes = 2ull << 20;  // of a read
  bool repair = false;                // pass over damage
};

// Told of each loss while records are read.
using LossListener =
    std::function<void(const std::string& path, const RecordLoss& loss)>;

// Not thread-safe, but for Cancel. Holds up to 16 blocks, or twice `depth`, and
// the largest record that reaches over the border of two.
class RangeReader {
 public:
  RangeReader(std::vector<FileRange> ranges, FileOpener opener,
              const RangeReaderOptions& options, LossListener lost);
  ~RangeReader();

  // The next record, range by range. `*payload` is valid until the next call;
  // `*found` is false when there is none. Errors, each with the file: DataLoss
  // for damage, with the offset, and for another number of records than a range
  // must have; those of reading. After one there are no more records, and the
  // place stays that of what failed.
  Status Next(ByteSpan* payload, bool* found);
  // Makes every Next that needs bytes return Cancelled. Thread-safe.
  void Cancel() { stream_->Cancel(); }

  // Where Next goes on: the number of the range, the offset in its file, and
  // how many of its records were read. A reader of the ranges from this one on,
  // begun there, reads the same.
  size_t range() const { return range_; }
  uint64_t position() const;
  int64_t records() const { return failed_ ? failed_->records : records_; }
  // What it reads with; empty before the first read.
  std::string method() const { return stream_->method(); }

 private:
  class Bytes;
  struct Place {
    uint64_t position;
    int64_t records;
  };

  Status NextOfRange(ByteSpan* payload, bool* found);

  const std::vector<FileRange> ranges_;
  const RangeReaderOptions options_;
  const LossListener lost_;
  const std::shared_ptr<BlockSource> source_;
  // Blocks are read into the same memory again.
  const BufferPool::Allowance spare_;
  const std::unique_ptr<RecordStream> stream_;

  size_t range_ = 0;
  int64_t records_ = 0;
  size_t losses_ = 0;  // of the range, that lost_ was told of
  std::unique_ptr<Bytes> bytes_;
  std::unique_ptr<RecordScanner> scanner_;
  std::optional<Place> failed_;  // of range_
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_RANGE_READER_H_
