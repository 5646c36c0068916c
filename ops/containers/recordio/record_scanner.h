// Records of a file one after another, from bytes that arrive in order.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_RECORD_SCANNER_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_RECORD_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/containers/recordio/fragment.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Consecutive bytes of a file.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next bytes, which stay until the next call; none at the file's end.
  virtual Status Next(ByteSpan* bytes) = 0;
};

// Which records of a file: those whose first byte is in [begin, end).
struct RecordRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  // Whether a record must begin at `begin`; else the first head from there on
  // is the range's first record.
  bool begins_at_head = false;
  // Whether a record begins at `end`, or the file ends there, so that it need
  // not be looked at.
  bool ends_at_head = false;
};

// Bytes that hold no readable record, up to the next head.
struct RecordLoss {
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string reason;
};

// Not thread-safe. O(bytes) of time; of memory, the largest record.
//
// Beyond what other readers check, the data of a fragment must hold no aligned
// magic: a length that is too large, and would make one record of two, is
// found by it.
//
// Damage at a border of ranges belongs to the one with the record before it, so
// that it is met once, not twice or never.
class RecordScanner {
 public:
  // `path` names the file in errors. `stream` begins at range.begin and
  // outlives the scanner. With `repair`, damage is skipped up to the next head
  // and kept in losses().
  RecordScanner(std::string path, const RecordRange& range, bool repair,
                ByteStream* stream);

  // The next record. `*payload` is valid until the next call; `*found` is false
  // when there is none. Errors: those of the stream, DataLoss with file
  // and offset; after one, no further call.
  Status Next(ByteSpan* payload, bool* found);
  // Of the last record's first byte.
  uint64_t offset() const { return offset_; }
  // Where the next record is looked for.
  uint64_t position() const { return position_ + taken_; }
  const std::vector<RecordLoss>& losses() const { return losses_; }

 private:
  // Points `*bytes` to at least `size` bytes from position_ on; to fewer only
  // at the file's end.
  Status Need(size_t size, ByteSpan* bytes);
  // Moves on by no more than what Need gave last.
  void Take(size_t size);
  // Takes bytes up to the next head, or the file's end.
  Status SeekHead();
  // Gives the payload of the record at position_, or says why it cannot.
  Status Read(ByteSpan* payload, Status* damage);
  // Checks that the data of the fragment at `begin` of the record is there.
  Status CheckData(size_t begin, const Fragment& fragment, ByteSpan* bytes,
                   Status* damage);
  Status Lose(const Status& damage);

  const std::string path_;
  const RecordRange range_;
  const bool repair_;
  ByteStream* const stream_;

  uint64_t position_ = 0;        // in the file, of the window's first byte
  uint64_t offset_ = 0;          // of the last record
  size_t taken_ = 0;             // of the window, by the last record
  std::vector<uint8_t> joined_;  // what reaches over a border of the stream's
  size_t joined_begin_ = 0;
  ByteSpan rest_;  // of what the stream gave last
  bool at_end_ = false;
  bool seek_ = false;
  bool met_ = false;  // a head, or damage where one must be
  bool done_ = false;
  std::string scratch_;
  std::vector<RecordLoss> losses_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_RECORD_SCANNER_H_
