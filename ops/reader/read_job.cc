#include "ops/reader/read_job.h"

#include <cstring>
#include <string>

#include "ops/reader/read_alone.h"

namespace liquid {

namespace {

// Copies the record out of memory that will be read into again.
void CopyFrom(const uint8_t* bytes, Record* record) {
  const uint64_t length = record->row.length;
  record->memory = BufferPool::Process().Acquire(length);
  if (!record->memory) {
    Fail(Unavailable("no memory for " + std::to_string(length) + " bytes"),
         record);
    return;
  }
  std::memcpy(record->memory.data(), bytes, length);
  record->framed = ByteSpan(record->memory.data(), length);
}

}  // namespace

void ReadJob::Prepare(RecordSource* source, uint8_t* staging) {
  for (const uint64_t position : positions) {
    records.push_back(source->Describe(position));
  }
  status = source->Open(positions.front(), &file);
  if (!status.ok()) return;
  offset = file->AlignedBegin(begin);
  needed = end() - offset;
  if (in_place()) {
    PrepareInPlace();
  } else if (staging == nullptr) {
    status = Unavailable(file->path() + ": no memory to read into");
  } else {
    segments = {{staging, file->AlignedEnd(end()) - offset}};
  }
  prepared = status.ok();
}

// Of a block that two records share, the second one's memory gets all; the
// first one's part is copied from there (JoinSegments).
void ReadJob::PrepareInPlace() {
  for (size_t i = 0; i < records.size(); ++i) {
    Record& record = *records[i];
    const uint64_t from = file->AlignedBegin(record.row.offset);
    const uint64_t to = file->AlignedEnd(record.row.offset + record.row.length);
    if (!Reserve(to - from, &record.memory)) {
      status = Unavailable(file->path() + ": no memory for a read of " +
                           std::to_string(to - from) + " bytes");
      return;
    }
    record.framed = ByteSpan(record.memory.data() + (record.row.offset - from),
                             record.row.length);
    const uint64_t stop = i + 1 == records.size()
                              ? to
                              : file->AlignedBegin(records[i + 1]->row.offset);
    segments.push_back({record.memory.data(), stop - from});
  }
}

void ReadJob::JoinSegments() {
  for (size_t i = 0; i + 1 < records.size(); ++i) {
    const Record& record = *records[i];
    const uint64_t next = records[i + 1]->row.offset;
    const uint64_t shared = next - file->AlignedBegin(next);
    std::memcpy(
        const_cast<uint8_t*>(record.framed.data) + record.framed.size - shared,
        records[i + 1]->memory.data(), shared);
  }
}

void ReadJob::Complete(RecordSource* source) {
  const bool whole = status.ok() && count.bytes >= needed;
  const bool settled = prepared && !status.ok() && file->persistent();
  if (whole && in_place()) JoinSegments();
  for (size_t i = 0; i < records.size(); ++i) {
    Record* record = records[i].get();
    if (whole) {
      if (!in_place()) {
        CopyFrom(static_cast<const uint8_t*>(segments[0].iov_base) +
                     (record->row.offset - offset),
                 record);
      }
      // The alignment's excess is charged to the first record of the read.
      record->disk_bytes =
          record->row.length + (i == 0 ? count.disk_bytes - length : 0);
      if (record->status.ok()) CheckRead(*source, record);
    } else if (settled) {
      Fail(status, record);
    } else {
      source->Elsewhere(status, record);
      ReadAlone(source, /*asked=*/0, record, &count.retries);
    }
    if (whole && !record->status.ok()) {
      if (source->Elsewhere(status, record)) {
        ReadAlone(source, /*asked=*/0, record, &count.retries);
      } else if (file->remote()) {
        ReadAlone(source, /*asked=*/1, record, &count.retries);
      }
    }
    if (!record->status.ok()) {
      record->framed = ByteSpan();
      record->memory.Reset();
    }
  }
  // Records may wait for long, and so many files must not stay open.
  file.reset();
}

}  // namespace liquid
