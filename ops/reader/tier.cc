#include "ops/reader/tier.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/core/clock.h"
#include "ops/core/condition.h"

namespace liquid {
namespace {

// A disk that takes longer for what waits is of no use.
constexpr double kMostSecondsToWrite = 30;

// How often to look for room, which a read that ends may have made.
constexpr std::chrono::milliseconds kRoomPoll(2);

uint64_t Sum(const RecordBlocks& blocks) {
  uint64_t sum = 0;
  for (const auto& of_format : blocks) {
    for (const uint32_t of_record : of_format) sum += of_record;
  }
  return sum;
}

}  // namespace

struct Tier::State {
  struct Write {
    uint32_t format = 0;
    RecordPtr record;
    std::shared_ptr<TierPlace> place;
  };
  struct There {
    std::shared_ptr<const TierPlace> place;
    uint64_t bytes = 0;
  };

  explicit State(Options the_options)
      : options(std::move(the_options)),
        blocks(
            std::clamp<uint64_t>(options.bytes / TierFile::kBlock, 1,
                                 std::max<uint64_t>(1, Sum(options.blocks)))),
        there(options.blocks.size()) {}

  const Options options;
  const uint64_t blocks;  // of the file
  const pid_t process = getpid();

  mutable std::mutex mu;
  Condition work;
  // All below guarded by mu.
  std::shared_ptr<TierFile> file;  // null where the tier has ended
  std::vector<std::unordered_map<uint64_t, There>> there;
  HeldSets wanted;
  std::deque<Write> queue;  // the first one is being written, or waits for room
  uint64_t queued_bytes = 0;
  bool flushing = false;  // nothing waits for room
  bool closed = false;
  Counters counters;

  HeldSets Present() const {
    HeldSets sets;
    for (size_t f = 0; f < there.size(); ++f) {
      sets.emplace_back(options.blocks[f].size());
      for (const auto& entry : there[f]) sets[f].insert(entry.first);
    }
    return sets;
  }

  using Place = std::unordered_map<uint64_t, There>::iterator;
  Place Drop(uint32_t format, Place place) {
    --counters.there.records;
    counters.there.bytes -= place->second.bytes;
    return there[format].erase(place);
  }

  void Pop() {
    queued_bytes -= queue.front().record->framed.size;
    queue.pop_front();
  }

  bool Wants(uint32_t format, uint64_t record) const {
    return !wanted.empty() && wanted[format].contains(record);
  }

  // Ends the tier. `*lock` of mu is held before and after.
  void End(const std::string& why, std::unique_lock<std::mutex>* lock) {
    if (file == nullptr) return;
    file.reset();
    for (auto& of_format : there) of_format.clear();
    wanted.clear();
    counters.there = Count();
    counters.off = why;
    if (!options.warn) return;
    lock->unlock();
    options.warn(why);
    lock->lock();
  }
};

Tier::Tier(Options options)
    : state_(std::make_shared<State>(std::move(options))) {
  State& state = *state_;
  std::unique_lock<std::mutex> lock(state.mu);
  const Status made =
      TierFile::Create(state.options.folder, state.blocks, &state.file);
  std::string problem = made.message();
  if (made.ok()) {
    state.counters.bytes = state.blocks * TierFile::kBlock;
    try {
      std::thread(&Tier::Work, state_).detach();
      return;
    } catch (const std::system_error& error) {
      problem = std::string("the system gives no thread to write with: ") +
                error.what();
    }
  }
  state.file = nullptr;
  state.counters.off = problem;
  if (state.options.warn) state.options.warn(problem);
}

Tier::~Tier() {
  std::lock_guard<std::mutex> lock(state_->mu);
  state_->closed = true;
  state_->work.NotifyAll();
}

void Tier::Work(std::shared_ptr<State> state) {
  Buffer buffer;
  std::unique_lock<std::mutex> lock(state->mu);
  for (;;) {
    state->work.Wait(lock,
                     [&] { return state->closed || !state->queue.empty(); });
    if (state->closed) return;
    State::Write& first = state->queue.front();
    if (state->file != nullptr && first.place == nullptr) {
      first.place = state->file->Reserve(first.record->framed.size);
    }
    if (first.place == nullptr) {
      if (state->file == nullptr || state->flushing) {
        ++state->counters.left_out;
        state->Pop();
      } else {
        lock.unlock();
        std::this_thread::sleep_for(kRoomPoll);
        lock.lock();
      }
      continue;
    }
    const State::Write write = first;
    lock.unlock();
    const ByteSpan bytes = write.record->framed;
    const uint64_t size = TierFile::BlocksFor(bytes.size) * TierFile::kBlock;
    Status status;
    const bool memory = Reserve(size, &buffer);
    if (memory) {
      std::memcpy(buffer.data(), bytes.data, bytes.size);
      std::memset(buffer.data() + bytes.size, 0, size - bytes.size);
      status = write.place->Write(ByteSpan(buffer.data(), size));
    }
    lock.lock();
    state->Pop();
    if (!status.ok()) {
      state->End(status.message(), &lock);
    } else if (!memory) {
      ++state->counters.left_out;
    } else if (state->file != nullptr) {
      const uint64_t record = write.record->position;
      auto& of_format = state->there[write.format];
      const auto before = of_format.find(record);
      if (before != of_format.end()) state->Drop(write.format, before);
      of_format[record] = {write.place, bytes.size};
      ++state->counters.there.records;
      state->counters.there.bytes += bytes.size;
      ++state->counters.written.records;
      state->counters.written.bytes += bytes.size;
    }
  }
}

Status Tier::Begin(const TierEpoch& epoch) {
  std::unique_lock<std::mutex> lock(state_->mu);
  // A forked child has no thread to write with, and the file is its parent's.
  if (getpid() != state_->process) {
    state_->End("it belongs to the process that this one was forked from",
                &lock);
  }
  const double start = MonotonicSeconds();
  state_->flushing = true;
  while (!state_->queue.empty() && state_->file != nullptr) {
    if (MonotonicSeconds() - start > kMostSecondsToWrite) {
      state_->End(state_->options.folder + ": a write takes more than " +
                      std::to_string(static_cast<int>(kMostSecondsToWrite)) +
                      " seconds",
                  &lock);
      break;
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.lock();
  }
  state_->flushing = false;
  if (state_->file == nullptr) return OkStatus();
  const HeldSets there = state_->Present();
  lock.unlock();
  TierPlan plan;
  LIQUID_RETURN_IF_ERROR(PlanTier(
      epoch, state_->options.blocks, state_->blocks,
      state_->options.queue_bytes / 2 / TierFile::kBlock, there, &plan));
  lock.lock();
  if (state_->file == nullptr) return OkStatus();
  for (uint32_t f = 0; f < state_->there.size(); ++f) {
    auto& of_format = state_->there[f];
    for (auto place = of_format.begin(); place != of_format.end();) {
      const bool of_use = plan.wanted[f].contains(place->first) ||
                          plan.coming[f].contains(place->first);
      if (of_use) {
        ++place;
      } else {
        place = state_->Drop(f, place);
      }
    }
  }
  state_->wanted = std::move(plan.wanted);
  return OkStatus();
}

std::shared_ptr<const TierPlace> Tier::Find(uint32_t format,
                                            uint64_t record) const {
  std::lock_guard<std::mutex> lock(state_->mu);
  const auto& of_format = state_->there[format];
  const auto found = of_format.find(record);
  return found == of_format.end() ? nullptr : found->second.place;
}

void Tier::Read(uint32_t format, const Record& record) {
  std::lock_guard<std::mutex> lock(state_->mu);
  ++state_->counters.read.records;
  state_->counters.read.bytes += record.row.length;
  if (state_->Wants(format, record.position)) return;
  const auto found = state_->there[format].find(record.position);
  if (found != state_->there[format].end()) state_->Drop(format, found);
}

void Tier::Failed(uint32_t format, uint64_t record, const Status& read) {
  std::unique_lock<std::mutex> lock(state_->mu);
  ++state_->counters.failed;
  const auto found = state_->there[format].find(record);
  if (found != state_->there[format].end()) state_->Drop(format, found);
  // At its draw it may be written anew.
  if (!read.ok() && !LacksMachine(read)) state_->End(read.message(), &lock);
}

void Tier::Drawn(uint32_t format, RecordPtr record) {
  const uint64_t bytes = record->framed.size;
  if (!record->status.ok() || bytes != record->row.length) return;
  std::lock_guard<std::mutex> lock(state_->mu);
  State& state = *state_;
  const uint64_t position = record->position;
  if (state.file == nullptr || !state.Wants(format, position) ||
      state.there[format].count(position) > 0) {
    return;
  }
  if (state.queued_bytes + bytes > state.options.queue_bytes) {
    ++state.counters.left_out;
    return;
  }
  state.queued_bytes += bytes;
  state.queue.push_back({format, std::move(record), nullptr});
  state.work.NotifyOne();
}

Tier::Counters Tier::counters() const {
  std::lock_guard<std::mutex> lock(state_->mu);
  return state_->counters;
}

}  // namespace liquid
