#include "ops/reader/record_stream.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "ops/core/clock.h"
#include "ops/core/condition.h"
#include "ops/reader/read_job.h"

namespace liquid {
namespace {

// Reads of small records at once, from a disk.
constexpr int kStagingSlots = 4;
// Over a network, records that lie next to each other and have others between
// them in the order become one read too. They are looked for among so many that
// come next.
constexpr size_t kGatheredAmong = 1024;
// Such reads of small records are of at most so many bytes, as their memory
// would not stay in the processor's caches until it is copied.
constexpr uint64_t kApartBytes = uint64_t{4} << 20;

std::string MethodName(const ReadEngine& engine, const RandomFile& file) {
  return file.fd() < 0 ? file.method()
                       : std::string(engine.name()) + "+" + file.method();
}

}  // namespace

// A read on its way to Next.
struct RecordStream::Delivery : ReadJob {
  int staging = -1;    // position of its memory there; -1: none
  bool apart = false;  // small records are read into memory of its own:
  Buffer memory;
  bool done = false;  // guarded by mu of the state
};

struct RecordStream::State : ReadGroup::Member {
  // A record that is to be given, and its place in the read that brings it.
  struct Entry {
    uint64_t position, turn, offset, length;
    uint32_t shard;
    size_t index = 0;
    std::shared_ptr<Delivery> job = nullptr;
  };

  State(std::shared_ptr<RecordSource> s, TurnSource t, const StreamOptions& o)
      : source(std::move(s)),
        options(o),
        group(o.group != nullptr ? o.group : std::make_shared<ReadGroup>()),
        mu(group->mu()),
        read_bytes(std::min(o.max_read_bytes,
                            std::max(kReadInPlace, o.lookahead_bytes / 16))),
        budget(o.lookahead_bytes),
        turns(std::move(t)) {}

  const std::shared_ptr<RecordSource> source;
  const StreamOptions options;
  const std::shared_ptr<ReadGroup> group;
  std::mutex& mu;                      // of the group
  const uint64_t read_bytes;           // adjacent records up to here
  std::unique_ptr<ReadEngine> engine;  // set before there are workers

  Condition work;   // for workers: something may be to do
  Condition ready;  // for Next: the first job is done
  // All below guarded by mu.
  std::string method;
  Status failed;    // no engine
  uint64_t budget;  // of held_bytes
  TurnSource turns;
  std::deque<Entry> entries;  // in their order, from the next to be given on
  size_t next = 0;            // of them, the first that no job has
  uint64_t left_bytes = 0;    // of those that no job has
  bool exhausted = false;     // there are no more entries
  bool cancelled = false;
  int unclaimed = 0;  // reads under way that no worker waits for
  int waiting = 0;    // workers that wait for a read
  bool far = false;   // reads come over a network
  std::vector<Buffer> staging;
  std::vector<int> free_slots;  // of staging
  int busy_slots = 0;
  bool registered = false;  // staging, with the engine
  // Of records that jobs have, and nobody took, and of memory apart.
  uint64_t held_bytes = 0;
  double wait_seconds = 0;
  uint64_t retries = 0;

  bool Fetch() {
    ReadTurn read;
    exhausted = exhausted || !turns(&read);
    if (exhausted) return false;
    const IndexRow row = source->row(read.position);
    entries.push_back(
        {read.position, read.turn, row.offset, row.length, row.shard});
    left_bytes += row.length;
    return true;
  }
  // Whether there is an entry that no job has.
  bool HasNext() { return next < entries.size() || Fetch(); }
  bool AllBegun() const { return exhausted && next == entries.size(); }
  // Whether the next record is there.
  bool IsDone() const {
    return !entries.empty() && entries.front().job != nullptr &&
           entries.front().job->done;
  }

  // What records of `length` bytes hold of the look-ahead until their read is
  // done.
  static uint64_t Room(bool apart, uint64_t length) {
    return apart ? 2 * length : length;
  }

  void Give(Entry* entry, const std::shared_ptr<Delivery>& job) {
    entry->job = job;
    entry->index = job->positions.size();
    job->positions.push_back(entry->position);
    job->length += entry->length;
    held_bytes += Room(job->apart, entry->length);
    left_bytes -= entry->length;
  }

  // The first staged read makes the memory, which is part of the look-ahead
  // from then on.
  void MakeStaging() {
    const int slots = std::min(kStagingSlots, std::max(1, options.depth));
    const uint64_t bytes =
        std::max(read_bytes, kReadInPlace) + 2 * kDirectAlignment;
    staging.resize(static_cast<size_t>(slots));
    for (int i = 0; i < slots; ++i) {
      if (Reserve(bytes, &staging[i])) free_slots.push_back(i);
    }
    budget -= std::min(budget / 2, slots * bytes);
    registered =
        free_slots.size() == staging.size() && engine->Register(staging);
  }

  static bool IsInPlace(const Entry& entry) {
    return entry.length >= kReadInPlace;
  }

  // Of a read.
  uint64_t MostBytes(bool apart) const {
    return apart ? std::min(read_bytes, kApartBytes) : read_bytes;
  }

  // Whether the look-ahead has room for the next read. Not for a small one for
  // each record that was taken.
  bool HasRoom(const Entry& first) const {
    const bool apart = far && !IsInPlace(first);
    const uint64_t room =
        std::max(Room(apart, first.length),
                 std::min(Room(apart, MostBytes(apart)), budget / 2));
    return next == 0 || held_bytes + room <= budget;
  }

  // Whether there is staging memory for the next read, where it needs some.
  bool HasStaging(const Entry& first) const {
    const bool staged = !far && !IsInPlace(first);
    return !staged || !free_slots.empty() || busy_slots == 0;
  }

  std::optional<uint64_t> NextTurn() override {
    if (cancelled || engine == nullptr || !HasNext()) return std::nullopt;
    const Entry& first = entries[next];
    if (!HasRoom(first) || !HasStaging(first)) return std::nullopt;
    return first.turn;
  }
  void Wake() override { work.NotifyOne(); }

  // The next read, or null when there is none, no room for it, enough is under
  // way, or another stream of the group is to read first.
  Delivery* MakeJob() {
    if (!group->HasRoom()) return nullptr;
    const std::optional<uint64_t> turn = NextTurn();
    if (!turn || !group->IsFirst(this, *turn)) return nullptr;
    const Entry first = entries[next];
    const bool in_place = IsInPlace(first);
    const bool staged = !in_place && !far;
    const bool apart = !in_place && far;
    if (staged && staging.empty()) MakeStaging();

    const auto made = std::make_shared<Delivery>();
    Delivery* const job = made.get();
    job->apart = apart;
    job->begin = first.offset;
    Give(&entries[next], made);
    for (size_t i = next + 1;; ++i) {
      if (i == entries.size()) {
        if (far && held_bytes + left_bytes >= budget) break;
        if (!Fetch()) break;
      }
      Entry& entry = entries[i];
      const bool adjacent =
          entry.job == nullptr && entry.shard == first.shard &&
          entry.shard != kAlone && entry.offset == job->end() &&
          IsInPlace(entry) == in_place;
      if (!adjacent) {
        if (!far || first.shard == kAlone || i - next >= kGatheredAmong) break;
        continue;
      }
      if (job->length + entry.length > MostBytes(apart) ||
          held_bytes + Room(apart, entry.length) > budget) {
        break;
      }
      Give(&entry, made);
    }
    while (next < entries.size() && entries[next].job != nullptr) ++next;
    if (staged && !free_slots.empty()) {
      job->staging = free_slots.back();
      free_slots.pop_back();
      ++busy_slots;
      if (registered) job->slot = job->staging;
    }
    group->Begin(this);
    return job;
  }
};

RecordStream::RecordStream(std::shared_ptr<RecordSource> source,
                           TurnSource turns, const StreamOptions& options)
    : state_(std::make_shared<State>(std::move(source), std::move(turns),
                                     options)) {
  {
    std::lock_guard<std::mutex> lock(state_->mu);
    state_->group->Join(state_.get(), options.depth);
  }
  // Detached, with the state shared: a disk that hangs must not hang the
  // destructor.
  try {
    std::thread(&RecordStream::Begin, state_).detach();
  } catch (const std::system_error& error) {
    state_->failed =
        Unavailable(std::string("the system gives no thread to read with: ") +
                    error.what());
  }
}

RecordStream::~RecordStream() { Cancel(); }

void RecordStream::Cancel() {
  std::lock_guard<std::mutex> lock(state_->mu);
  state_->cancelled = true;
  state_->group->Leave(state_.get());
  for (const State::Entry& entry : state_->entries) {
    if (entry.job != nullptr && entry.job->done) entry.job->records.clear();
  }
  state_->work.NotifyAll();
  state_->ready.NotifyAll();
}

double RecordStream::wait_seconds() const {
  std::lock_guard<std::mutex> lock(state_->mu);
  return state_->wait_seconds;
}

uint64_t RecordStream::TakeRetries() {
  std::lock_guard<std::mutex> lock(state_->mu);
  return std::exchange(state_->retries, 0);
}

std::string RecordStream::method() const {
  std::lock_guard<std::mutex> lock(state_->mu);
  return state_->method;
}

// Finds out how to read, by the first file, and becomes the first worker.
void RecordStream::Begin(std::shared_ptr<State> state) {
  std::unique_lock<std::mutex> lock(state->mu);
  if (!state->HasNext()) {
    state->ready.NotifyAll();
    return;
  }
  const uint64_t first = state->entries.front().position;
  const StreamOptions& options = state->options;
  lock.unlock();
  std::shared_ptr<RandomFile> file;
  std::unique_ptr<ReadEngine> engine;
  Status made;
  if (state->source->OpenStore(first, &file).ok()) {
    made = MakeReadEngine(options.mode, *file, options.depth, &engine);
  } else {
    // Each record will say why.
    engine = MakeThreadEngine();
  }
  lock.lock();
  if (!made.ok()) {
    state->failed = made;
    state->ready.NotifyAll();
    return;
  }
  if (file != nullptr) {
    state->method = MethodName(*engine, *file);
    state->far = file->remote();
    if (state->far) state->group->ReadFar();
  }
  state->engine = std::move(engine);
  lock.unlock();
  for (int i = 1; i < state->engine->Workers(options.depth); ++i) {
    try {
      std::thread(&RecordStream::Work, state).detach();
    } catch (const std::system_error&) {
      break;  // the system has no more; those that there are do the work
    }
  }
  Work(std::move(state));
}

// Begins reads while there is room, waits for those that were begun, and checks
// what they brought. Every read that a worker claims ends before the worker
// does, so the memory that it writes to stays.
void RecordStream::Work(std::shared_ptr<State> state) {
  ReadEngine* const engine = state->engine.get();
  std::unique_lock<std::mutex> lock(state->mu);
  for (;;) {
    if (Delivery* job = state->MakeJob()) {
      uint8_t* staging =
          job->staging < 0 ? nullptr : state->staging[job->staging].data();
      lock.unlock();
      if (job->apart &&
          Reserve(job->length + 2 * kDirectAlignment, &job->memory)) {
        staging = job->memory.data();
      }
      job->Prepare(state->source.get(), staging);
      const bool read = job->status.ok();
      if (read) engine->Start(job);
      lock.lock();
      if (read) {
        ++state->unclaimed;
        state->work.NotifyOne();
        continue;
      }
      End(&lock, job, state.get());
    } else if (state->unclaimed > 0 &&
               state->waiting < engine->most_waiting()) {
      --state->unclaimed;
      ++state->waiting;
      lock.unlock();
      auto* const ended = static_cast<Delivery*>(engine->Finish());
      const double now = MonotonicSeconds();
      lock.lock();
      --state->waiting;
      state->group->CameBack(ended->count.bytes, now);
      End(&lock, ended, state.get());
    } else if (state->unclaimed == 0 &&
               (state->cancelled || state->AllBegun())) {
      state->ready.NotifyAll();  // Next may wait for no more than the end
      return;
    } else {
      state->work.Wait(lock);
    }
  }
}

// `*lock` of state->mu is held before and after.
void RecordStream::End(std::unique_lock<std::mutex>* lock, Delivery* job,
                       State* state) {
  state->group->End(state, job->count.bytes);
  // The next read need not wait for the checks.
  state->work.NotifyOne();
  if (!state->cancelled) {
    lock->unlock();
    job->Complete(state->source.get());
    job->memory.Reset();
    lock->lock();
  }
  if (job->apart) state->held_bytes -= job->length;
  if (job->staging >= 0) {
    state->free_slots.push_back(job->staging);
    --state->busy_slots;
  }
  state->retries += job->count.retries;
  job->done = true;
  state->work.NotifyAll();
  state->ready.NotifyAll();
}

Status RecordStream::Next(size_t most, std::vector<RecordPtr>* records,
                          uint64_t most_bytes) {
  records->clear();
  uint64_t bytes = 0;
  std::unique_lock<std::mutex> lock(state_->mu);
  const auto is_ready = [&] {
    return state_->cancelled || !state_->failed.ok() ||
           (state_->entries.empty() ? state_->exhausted : state_->IsDone());
  };
  if (!is_ready()) {
    const double start = MonotonicSeconds();
    state_->ready.Wait(lock, is_ready);
    state_->wait_seconds += MonotonicSeconds() - start;
  }
  if (state_->cancelled) return Cancelled("reading was cancelled");
  LIQUID_RETURN_IF_ERROR(state_->failed);
  while (state_->IsDone() && records->size() < most && bytes < most_bytes) {
    const State::Entry& entry = state_->entries.front();
    records->push_back(std::move(entry.job->records[entry.index]));
    state_->held_bytes -= entry.length;
    bytes += entry.length;
    state_->entries.pop_front();
    --state_->next;
  }
  state_->work.NotifyAll();
  return OkStatus();
}

}  // namespace liquid
