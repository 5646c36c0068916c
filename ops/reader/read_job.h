// A few records that lie next to each other, read at once.
#ifndef LIQUID_OPS_READER_READ_JOB_H_
#define LIQUID_OPS_READER_READ_JOB_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/reader/read_engine.h"
#include "ops/reader/record.h"
#include "ops/reader/record_source.h"

namespace liquid {

// From this size on a record is read straight into the memory that it stays in.
// Smaller ones are copied there: their share of a disk block would waste more
// than the copy costs. A job has records of one of the two kinds.
constexpr uint64_t kReadInPlace = uint64_t{128} << 10;

// Not thread-safe: one thread at a time has it.
struct ReadJob : ReadRequest {
  std::vector<uint64_t> positions;  // of its records, in the order on disk
  uint64_t begin = 0;               // bytes of the records in their file
  uint64_t length = 0;
  std::vector<std::shared_ptr<Record>> records;
  bool prepared = false;  // the status is the read's, not Prepare's

  uint64_t end() const { return begin + length; }
  bool in_place() const { return length >= positions.size() * kReadInPlace; }

  // Opens the file and says what to read, into `staging` unless it is done in
  // place. An error is kept in `status`; the job is then to be completed
  // without a read.
  void Prepare(RecordSource* source, uint8_t* staging);
  // After the read: makes the records, each checked, or with the status that
  // says why not. One bad block does not cost its neighbours: where the read
  // failed, each record is read alone, by the calling thread; but not of a file
  // that has repeated the read as long as that may help.
  void Complete(RecordSource* source);

 private:
  void PrepareInPlace();
  void JoinSegments();
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_JOB_H_
