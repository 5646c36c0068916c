// What a RecordStream reads: where records lie, and what their bytes are.
#ifndef LIQUID_OPS_READER_RECORD_SOURCE_H_
#define LIQUID_OPS_READER_RECORD_SOURCE_H_

#include <cstdint>
#include <memory>

#include "ops/core/status.h"
#include "ops/reader/file.h"
#include "ops/reader/record.h"

namespace liquid {

// The shard of what is read by itself, whatever lies beside it.
constexpr uint32_t kAlone = UINT32_MAX;

// Thread-safe. Positions are the source's own.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Which bytes of which shard: the row's shard, offset and length.
  virtual IndexRow row(uint64_t position) const = 0;
  // The record without its bytes.
  virtual std::shared_ptr<Record> Describe(uint64_t position) const = 0;
  // The file at `position`.
  virtual Status Open(uint64_t position, std::shared_ptr<RandomFile>* file) = 0;
  // That of the store, where some of the records also lie elsewhere: it decides
  // how reads are made.
  virtual Status OpenStore(uint64_t position,
                           std::shared_ptr<RandomFile>* file) {
    return Open(position, file);
  }
  // Makes the next Open open that file anew: its file system may have kept what
  // it read wrongly. Who has the file keeps it.
  virtual void Forget(uint64_t /*position*/) {}
  // Checks the bytes that were read for `record`, and makes its content.
  virtual Status Check(Record* record) const = 0;
  // What was read for `record` is of no use; `read` is how the read ended.
  // Whether it was read from a copy: then describes the record itself.
  virtual bool Elsewhere(const Status& /*read*/, Record* /*record*/) {
    return false;
  }
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_RECORD_SOURCE_H_
