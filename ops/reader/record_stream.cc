#include "ops/reader/record_stream.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "ops/containers/recordio/read_record.h"

namespace liquid {

std::string Record::Where() const {
  return shard + ", record " + std::to_string(number) + " (sample " +
         std::to_string(row.sample) + ", offset " + std::to_string(row.offset) +
         ")";
}

namespace {

// Adjacent records of one file, read at once.
struct ReadJob {
  std::vector<uint64_t> positions;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool done = false;
  size_t taken = 0;
  std::vector<RecordPtr> records;
};

std::shared_ptr<Record> Describe(const ShardSet& shards, uint64_t position) {
  auto record = std::make_shared<Record>();
  record->position = position;
  record->row = shards.row(position);
  record->shard = shards.path(position);
  record->number = shards.record_number(position);
  return record;
}

void Fail(const Status& status, Record* record) {
  record->status =
      Status(status.code(), record->Where() + ": " + status.message());
}

// Copies the record's bytes out of the read and checks them.
void Fill(const uint8_t* bytes, Record* record) {
  record->framed.reset(new uint8_t[record->row.length]);
  std::memcpy(record->framed.get(), bytes, record->row.length);
  const Status status =
      CheckRecord(ByteSpan(record->framed.get(), record->row.length),
                  record->row, &record->joined, &record->content);
  if (!status.ok()) Fail(status, record);
}

Status ReadRange(ShardSet* shards, uint64_t position, uint64_t offset,
                 uint64_t length, AlignedBuffer* buffer, ByteSpan* bytes,
                 uint64_t* disk_bytes) {
  std::shared_ptr<RandomFile> file;
  LIQUID_RETURN_IF_ERROR(shards->Open(position, &file));
  return file->Read(offset, length, buffer, bytes, disk_bytes);
}

void Run(ShardSet* shards, AlignedBuffer* buffer, ReadJob* job) {
  ByteSpan bytes;
  uint64_t disk_bytes = 0;
  const Status whole = ReadRange(shards, job->positions.front(), job->offset,
                                 job->length, buffer, &bytes, &disk_bytes);
  for (size_t i = 0; i < job->positions.size(); ++i) {
    std::shared_ptr<Record> record = Describe(*shards, job->positions[i]);
    if (whole.ok()) {
      Fill(bytes.data + (record->row.offset - job->offset), record.get());
      // The alignment's excess is charged to the first record of the read.
      record->disk_bytes = i == 0
                               ? disk_bytes - job->length + record->row.length
                               : record->row.length;
    } else {
      // One bad block must not cost its neighbours: ask for each alone.
      ByteSpan own;
      const Status status =
          ReadRange(shards, record->position, record->row.offset,
                    record->row.length, buffer, &own, &record->disk_bytes);
      if (status.ok()) {
        Fill(own.data, record.get());
      } else {
        Fail(status, record.get());
      }
    }
    job->records.push_back(std::move(record));
  }
}

}  // namespace

struct RecordStream::State {
  std::shared_ptr<ShardSet> shards;
  StreamOptions options;

  mutable std::mutex mu;
  std::condition_variable work;   // for threads: room for another read
  std::condition_variable ready;  // for Next: the first job is done
  // All below guarded by mu.
  PositionSource positions;
  bool has_next = false;  // `next` holds a position that no job has yet
  uint64_t next = 0;
  bool exhausted = false;
  bool cancelled = false;
  uint64_t ahead_bytes = 0;
  std::deque<std::shared_ptr<ReadJob>> jobs;  // in order of delivery
  double wait_seconds = 0;

  bool FetchPosition() {
    if (!has_next && !exhausted) {
      has_next = positions(&next);
      exhausted = !has_next;
    }
    return has_next;
  }

  // The next read, or null when there is none or no room for it.
  std::shared_ptr<ReadJob> MakeJob() {
    if (!FetchPosition()) return nullptr;
    if (!jobs.empty() &&
        ahead_bytes + shards->row(next).length > options.lookahead_bytes) {
      return nullptr;
    }
    auto job = std::make_shared<ReadJob>();
    const IndexRow first = shards->row(next);
    job->offset = first.offset;
    do {
      job->positions.push_back(next);
      job->length += shards->row(next).length;
      has_next = false;
      if (!FetchPosition()) break;
      const IndexRow& row = shards->row(next);
      if (row.shard != first.shard || row.offset != job->offset + job->length)
        break;
      if (job->length + row.length > options.max_read_bytes) break;
      if (ahead_bytes + job->length + row.length > options.lookahead_bytes)
        break;
    } while (true);
    ahead_bytes += job->length;
    jobs.push_back(job);
    return job;
  }
};

RecordStream::RecordStream(std::shared_ptr<ShardSet> shards,
                           PositionSource positions,
                           const StreamOptions& options)
    : state_(std::make_shared<State>()) {
  state_->shards = std::move(shards);
  state_->positions = std::move(positions);
  state_->options = options;
  // Detached, with the state shared: a disk that hangs must not hang the
  // destructor.
  for (int i = 0; i < options.threads; ++i) {
    std::thread(&RecordStream::Work, state_).detach();
  }
}

RecordStream::~RecordStream() { Cancel(); }

void RecordStream::Cancel() {
  std::lock_guard<std::mutex> lock(state_->mu);
  state_->cancelled = true;
  state_->work.notify_all();
  state_->ready.notify_all();
}

double RecordStream::wait_seconds() const {
  std::lock_guard<std::mutex> lock(state_->mu);
  return state_->wait_seconds;
}

void RecordStream::Work(std::shared_ptr<State> state) {
  AlignedBuffer buffer;
  for (;;) {
    std::shared_ptr<ReadJob> job;
    {
      std::unique_lock<std::mutex> lock(state->mu);
      state->work.wait(lock, [&] {
        if (state->cancelled) return true;
        job = state->MakeJob();
        return job != nullptr || state->exhausted;
      });
      // The reader at the end of the epoch sees an exhausted stream here.
      state->ready.notify_all();
      if (state->cancelled || job == nullptr) {
        state->work.notify_all();
        return;
      }
    }
    Run(state->shards.get(), &buffer, job.get());
    std::lock_guard<std::mutex> lock(state->mu);
    job->done = true;
    state->ready.notify_all();
  }
}

Status RecordStream::Next(size_t most, std::vector<RecordPtr>* records) {
  records->clear();
  std::unique_lock<std::mutex> lock(state_->mu);
  const auto is_ready = [&] {
    return state_->cancelled ||
           (state_->jobs.empty() ? state_->exhausted
                                 : state_->jobs.front()->done);
  };
  if (!is_ready()) {
    const auto start = std::chrono::steady_clock::now();
    state_->ready.wait(lock, is_ready);
    state_->wait_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  }
  if (state_->cancelled) return Cancelled("reading was cancelled");
  while (!state_->jobs.empty() && state_->jobs.front()->done &&
         records->size() < most) {
    ReadJob* job = state_->jobs.front().get();
    records->push_back(std::move(job->records[job->taken++]));
    state_->ahead_bytes -= records->back()->row.length;
    if (job->taken == job->positions.size()) state_->jobs.pop_front();
  }
  state_->work.notify_all();
  return OkStatus();
}

}  // namespace liquid
