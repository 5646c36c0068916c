#include "ops/reader/read_alone.h"

#include <memory>

namespace liquid {
namespace {

Status Read(const RandomFile& file, Record* record, uint64_t* retries) {
  ReadCount count;
  const Status status = file.Read(record->row.offset, record->row.length,
                                  &record->memory, &record->framed, &count);
  record->disk_bytes = count.disk_bytes;
  *retries += count.retries;
  return status;
}

}  // namespace

void Fail(const Status& status, Record* record) {
  record->status =
      Status(status.code(), record->Where() + ": " + status.message());
}

void CheckRead(const RecordSource& source, Record* record) {
  const Status status = source.Check(record);
  if (!status.ok()) Fail(status, record);
}

void ReadAlone(RecordSource* source, int asked, Record* record,
               uint64_t* retries) {
  // Only a remote file was asked before.
  bool remote = asked > 0;
  bool settled = false;
  do {
    if (asked > 0) {
      ++*retries;
      source->Forget(record->position);
    }
    std::shared_ptr<RandomFile> file;
    Status status = source->Open(record->position, &file);
    if (status.ok()) {
      remote = file->remote();
      status = Read(*file, record, retries);
      settled = !status.ok() && file->persistent();
    }
    record->status = OkStatus();
    if (status.ok()) {
      CheckRead(*source, record);
    } else {
      Fail(status, record);
    }
  } while (!record->status.ok() && remote && !settled &&
           ++asked < kRemoteAttempts);
  if (record->status.ok()) return;
  record->framed = ByteSpan();
  record->memory.Reset();
}

}  // namespace liquid
