#include "ops/engine/epoch_draws.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/codecs/codec.h"
#include "ops/core/clock.h"
#include "ops/engine/pixel_record.h"
#include "ops/sampler/weighted_source.h"

namespace liquid {
namespace {

// Whether the scan groups that were read of a record are enough.
bool Serves(const Record& record, uint32_t fidelity) {
  return record.groups >= std::min(fidelity, record.all_groups);
}

// Whether a device may decode the image from its own memory.
bool MovesToDevice(const Record& record) {
  const auto format = static_cast<Format>(record.row.format);
  return record.status.ok() && record.samples == nullptr &&
         record.on_device == nullptr && record.content.image.size > 0 &&
         (format == Format::kL3 || format == Format::kL3Compact ||
          format == Format::kRaw ||
          (format == Format::kJpeg && record.content.index.size > 0));
}

// About what a record takes in memory whose image lies on a device.
uint64_t DeviceRecordBytes(const Record& record) {
  // The header and table of L3 are a smaller part of it.
  constexpr uint64_t kHeadPart = 64;
  const SampleRecord& content = record.content;
  return content.image.size / kHeadPart + content.index.size +
         content.example.size + sizeof(Record);
}

}  // namespace

Status EpochDraws::Create(Snapshot* snapshot, Snapshot::Lease lease,
                          const Options& options,
                          std::unique_ptr<EpochDraws>* draws) {
  std::unique_ptr<EpochPlan> plan;
  LIQUID_RETURN_IF_ERROR(
      EpochPlan::Create(lease.spec, lease.epoch, lease.held, &plan));
  if (lease.position > plan->size()) {
    return InvalidArgument("initial_step lies behind the " +
                           std::to_string(plan->size()) + " samples of epoch " +
                           std::to_string(lease.epoch));
  }
  plan->Skip(lease.position);
  draws->reset(
      new EpochDraws(snapshot, std::move(lease), options, std::move(plan)));
  return OkStatus();
}

EpochDraws::EpochDraws(Snapshot* snapshot, Snapshot::Lease lease,
                       const Options& options, std::unique_ptr<EpochPlan> plan)
    : snapshot_(snapshot),
      options_(options),
      spec_(std::move(lease.spec)),
      run_(std::move(lease.run)),
      plan_(std::move(plan)),
      region_(std::move(lease.memory)),
      fresh_(region_.size()),
      next_(region_.size()),
      more_loads_(region_.size()),
      ledgers_(region_.size()) {
  for (size_t f = 0; f < region_.size(); ++f) {
    at_hand_.emplace_back(StoredCount(spec_->formats[f]));
    for (const auto& entry : region_[f]) at_hand_[f].insert(entry.first);
    if (spec_->weights == nullptr) continue;
    const auto format = static_cast<uint32_t>(f);
    filling_.emplace_back(StoredCount(spec_->formats[f]));
    if (plan_->held()[f].count() == 0) {
      filling_[f] = PinnedSamples(*spec_, f, spec_->formats[f].cached);
    }
    retained_.push_back(
        Retained(*spec_, format, {UINT64_MAX, options_.kept[f]}));
  }
}

EpochDraws::~EpochDraws() {
  if (!released_) Release(nullptr);
}

AtHand EpochDraws::at_hand(uint32_t format) const {
  AtHand at_hand = {at_hand_[format]};
  if (HasSamples(format)) {
    at_hand.groups.resize(StoredCount(spec_->formats[format]));
    for (const auto& entry : region_[format]) {
      at_hand.groups[entry.first] = entry.second->groups;
    }
  }
  return at_hand;
}

bool EpochDraws::AtEnd() const {
  const uint64_t end = std::min(options_.end, plan_->size());
  const uint64_t left = end - std::min(end, plan_->position());
  return left == 0 || (options_.drop_remainder && left < spec_->batch_size);
}

Status EpochDraws::Next(const ReadMore& read, RecordBlock* block) {
  block->epoch = plan_->epoch();
  block->first_draw = plan_->position();
  block->run = run_;
  block->cost = std::make_shared<BatchCost>();
  // Another iterator may have had the cache and left it.
  const bool owner = !released_ && snapshot_->Own(run_.get());
  const uint64_t batch = spec_->batch_size;
  std::vector<Draw> draws(std::min(plan_->size() - plan_->position(),
                                   batch - plan_->position() % batch));
  block->items.reserve(draws.size());
  CountTurns(block);
  const uint32_t fidelity = options_.fidelity.At(plan_->position() / batch);
  for (Draw& draw : draws) draw = plan_->Next();
  for (size_t i = 0; i < draws.size(); ++i) {
    Prefetch(draws, i);
    const Draw& draw = draws[i];
    RecordBlock::Item item;
    item.format = draw.format;
    item.whole = !HasSamples(draw.format);
    item.load = item.whole && NeedsRead(draw);
    if (item.load) ledgers_[draw.format].Need(block->cost);
    const uint32_t groups =
        std::min(fidelity, spec_->formats[draw.format].groups);
    LIQUID_RETURN_IF_ERROR(Obtain(draw, groups, owner, read, &item, block));
    if (spec_->policy == CachePolicy::kPage) {
      item.load = item.record->disk_bytes > 0;  // the kernel had not all of it
    }
    block->items.push_back(std::move(item));
  }
  block->last = AtEnd();
  block->part = options_.end < plan_->size();
  if (block->last) Finish();
  CountDisk(block);
  return OkStatus();
}

// With regions an evicted sample gives its place to a load, wherever it came
// from itself; else a sample is read where memory has not got it.
bool EpochDraws::NeedsRead(const Draw& draw) const {
  if (spec_->weights == nullptr && spec_->policy == CachePolicy::kLiquid) {
    return !draw.keep;
  }
  if (draw.load == Draw::kHeld) return false;
  return filling_.empty() || !filling_[draw.format].contains(draw.record);
}

// Draws are random, so each would wait for memory a few times: for its place in
// the region, the record there, and its bytes.
void EpochDraws::Prefetch(const std::vector<Draw>& draws, size_t i) const {
  constexpr size_t kPlaces = 16;
  constexpr size_t kRecords = 8;
  if (i + kPlaces < draws.size()) {
    const Draw& draw = draws[i + kPlaces];
    region_[draw.format].prefetch(draw.record);
  }
  if (i + kRecords >= draws.size()) return;
  const Draw& draw = draws[i + kRecords];
  const auto found = region_[draw.format].find(draw.record);
  if (found == region_[draw.format].end()) return;
  const char* record = reinterpret_cast<const char*>(found->second.get());
  for (size_t line = 0; line < sizeof(Record); line += 64) {
    __builtin_prefetch(record + line);
  }
}

// The turns of records that hold many samples.
void EpochDraws::CountTurns(RecordBlock* block) {
  block->turns.resize(spec_->formats.size());
  for (uint32_t f = 0; f < spec_->formats.size(); ++f) {
    if (!HasSamples(f)) continue;
    block->turns[f] = plan_->turns(f);
    const uint64_t evicted = block->turns[f].drawn - block->turns[f].kept;
    for (uint64_t i = 0; i < evicted; ++i) ledgers_[f].Need(block->cost);
  }
}

// Of the reads so far, what no block before has told of.
void EpochDraws::CountDisk(RecordBlock* block) {
  if (options_.reads == nullptr) return;
  const ReadClock& clock = options_.reads->clock();
  if (disk_seconds_ == 0) run_->Filled(clock.bytes(), clock.seconds());
  block->disk_seconds = clock.seconds() - disk_seconds_;
  disk_seconds_ += block->disk_seconds;
}

// Takes the drawn sample from the region, reading on until it is there.
Status EpochDraws::Obtain(const Draw& draw, uint32_t fidelity, bool owner,
                          const ReadMore& read, RecordBlock::Item* item,
                          RecordBlock* block) {
  RecordMap& region = region_[draw.format];
  auto found = region.find(draw.record);
  while (found == region.end() || !Serves(*found->second, fidelity)) {
    LIQUID_RETURN_IF_ERROR(ReadOn(draw, read, block));
    found = region.find(draw.record);
  }
  item->memory_hit = at_hand_[draw.format].contains(draw.record);
  if (item->whole) {
    item->record = found->second;
    item->disk_bytes = item->memory_hit ? 0 : item->record->disk_bytes;
    if (options_.tier != nullptr && owner) {
      options_.tier->Drawn(draw.format, item->record);
    }
  } else {
    const Record& record = *found->second;
    item->record = record.samples->Get(record, draw.sample, fidelity);
    const auto fresh = fresh_[draw.format].find(draw.record);
    if (fresh != fresh_[draw.format].end()) {
      item->disk_bytes = fresh->second;
      fresh_[draw.format].erase(fresh);
    }
  }
  Leave(draw, owner, found, item);
  return OkStatus();
}

// What a draw leaves of its record in memory; as ReadOrder::Leave.
void EpochDraws::Leave(const Draw& draw, bool owner, RecordMap::iterator found,
                       RecordBlock::Item* item) {
  if (spec_->weights != nullptr) {
    if (draw.keep && retained_[draw.format].contains(draw.record)) {
      // It is drawn again, so it stays where it is: as its next epoch has it,
      // it is there twice.
      const bool first = !next_[draw.format].contains(draw.record);
      if (owner && first) Keep(draw, found->second, item);
      return;
    }
    auto& more_loads = more_loads_[draw.format];
    const auto more = more_loads.find(draw.record);
    if (more != more_loads.end()) {
      if (--more->second == 0) more_loads.erase(more);
      return;
    }
    region_[draw.format].erase(found);
    return;
  }
  if (!draw.last) return;
  if (draw.keep && owner && HasCount(draw)) {
    std::shared_ptr<const Arena::Piece> place = TakePlace(*found->second);
    if (place == nullptr && HasBytes(*found->second)) {
      Keep(draw, std::move(found->second), item);
    } else if (place != nullptr) {
      KeepOnDevice(draw, std::move(found->second), std::move(place), item);
    }
  }
  region_[draw.format].erase(found);
}

Status EpochDraws::ReadOn(const Draw& draw, const ReadMore& read,
                          RecordBlock* block) {
  std::vector<RecordPtr> records;
  const double asked = MonotonicSeconds();
  LIQUID_RETURN_IF_ERROR(read(draw.format, &records));
  block->read_seconds += MonotonicSeconds() - asked;
  if (records.empty()) {
    return InvalidArgument(
        "interleave: dataset " + std::to_string(draw.format) +
        " ended before record " + std::to_string(draw.record) +
        ": its elements must be those of format_dataset(), in order");
  }
  for (RecordPtr& record : records) {
    Arrive(draw.format, std::move(record), block);
  }
  return OkStatus();
}

void EpochDraws::Arrive(uint32_t format, RecordPtr record, RecordBlock* block) {
  const uint64_t position = record->position;
  if (plan_->held()[format].contains(position)) {
    block->cost->disk_bytes += record->disk_bytes;  // memory should have it
  } else if (spec_->weights == nullptr ||
             !filling_[format].contains(position)) {
    ledgers_[format].Read(record->disk_bytes);
  }
  if (record->in_tier) run_->ReadTier(record->row.length);
  if (HasSamples(format)) {
    fresh_[format][position] += record->disk_bytes;
    at_hand_[format].erase(position);
    run_->ReadGroups(record->groups, record->disk_bytes);
  }
  RecordPtr& place = region_[format][position];
  if (spec_->weights != nullptr && place != nullptr) {
    ++more_loads_[format][position];
  }
  place = std::move(record);
}

// Whether the budget has room for one more record between epochs, as HasBytes:
// else it is read again, and the plan stays.
bool EpochDraws::HasCount(const Draw& draw) const {
  const size_t kept = next_[draw.format].size();
  if (kept >= options_.kept[draw.format]) return false;
  // Where the budget is short, a draw may be read and kept while the loads take
  // all of it. What the last element brought ahead of its use is no part of it.
  const size_t resident = region_[draw.format].size() - 1 + kept;
  const uint64_t most = options_.resident[draw.format];
  return resident < kBlockRecords || resident - kBlockRecords < most;
}

bool EpochDraws::HasBytes(const Record& record) const {
  return KeptBytes(record) <= options_.cache_bytes - kept_bytes_;
}

// A place for the image on the device, where it is the device's turn; or null.
// The turns spread over the epoch, so that batches move as much, to a record;
// what has no room on the device stays in memory.
std::shared_ptr<const Arena::Piece> EpochDraws::TakePlace(
    const Record& record) {
  if (options_.arena == nullptr || !MovesToDevice(record)) return nullptr;
  const auto bytes = static_cast<double>(record.content.image.size);
  new_bytes_ += bytes;
  const bool its_turn =
      options_.device_share >= 1 ||
      moved_bytes_ + bytes / 2 <= options_.device_share * new_bytes_;
  if (!its_turn && HasBytes(record)) return nullptr;
  // What stays here, such as masks, may be most of it.
  if (DeviceRecordBytes(record) > options_.cache_bytes - kept_bytes_) {
    return nullptr;
  }
  auto place =
      options_.arena->Take(record.content.image.size + kBehindOnDevice);
  if (place != nullptr) moved_bytes_ += bytes;
  return place;
}

// Until its image is on the device, and if it never gets there, the record
// stays as it is.
void EpochDraws::KeepOnDevice(const Draw& draw, RecordPtr record,
                              std::shared_ptr<const Arena::Piece> place,
                              RecordBlock::Item* item) {
  const auto promise = std::make_shared<RecordPromise>();
  item->move = std::make_shared<DeviceMove>();
  item->move->to = std::move(place);
  item->move->promise = promise;
  RecordPtr promised = PromisedRecord(*record, promise);
  kept_bytes_ += DeviceRecordBytes(*record);
  promise->Fulfil(std::move(record));
  next_[draw.format][draw.record] = std::move(promised);
}

// Holds a record for the next epoch, unless it is bad. In the place of a bad
// one whose sample is stored in other formats too, whoever decodes it puts one
// of those.
void EpochDraws::Keep(const Draw& draw, RecordPtr record,
                      RecordBlock::Item* item) {
  if (!record->status.ok() && record->replicas == nullptr) return;
  kept_bytes_ += KeptBytes(*record);
  if (next_[draw.format].empty()) {
    next_[draw.format].reserve(std::min(options_.kept[draw.format],
                                        spec_->formats[draw.format].cached));
  }
  if (options_.keep_pixels && record->pixels.empty()) {
    item->promise = std::make_shared<RecordPromise>();
    record = PromisedRecord(*record, item->promise);
  }
  next_[draw.format][draw.record] = std::move(record);
}

uint64_t EpochDraws::KeptBytes(const Record& record) const {
  if (options_.keep_pixels && record.pixels.empty()) {
    return PixelRecordBytes(record, options_.mask_bytes);
  }
  // Of what is read in place of a bad one, its pixels are about the most.
  return record.status.ok() ? record.footprint() : PixelRecordBytes(record, 0);
}

// After the last delivered draw: hands the next epoch's region over.
void EpochDraws::Finish() {
  if (plan_->position() == plan_->size()) {
    Release(&plan_->kept());
    return;
  }
  if (options_.end < plan_->size()) {
    Release(nullptr);
    return;
  }
  // The remainder is dropped from delivery, not from the plan.
  std::unique_ptr<EpochPlan> whole;
  const Status made =
      EpochPlan::Create(spec_, plan_->epoch(), plan_->held(), &whole);
  if (!made.ok()) {  // it was made once before
    Release(nullptr);
    return;
  }
  whole->Skip(whole->size());
  Release(&whole->kept());
}

void EpochDraws::Release(const HeldSets* next) {
  released_ = true;
  if (options_.rest) {
    region_ = std::vector<RecordMap>(region_.size());
    next_ = std::vector<RecordMap>(region_.size());
    next = nullptr;
  }
  // What was read and not drawn may serve the next epoch as well.
  for (size_t f = 0; f < region_.size(); ++f) {
    for (auto& entry : region_[f]) {
      if (!entry.second->status.ok()) continue;
      if (next != nullptr && !(*next)[f].contains(entry.first)) continue;
      RecordPtr& place = next_[f][entry.first];
      if (place == nullptr) place = std::move(entry.second);
    }
    region_[f] = RecordMap();
  }
  snapshot_->Release(run_.get(), plan_->epoch(), next, std::move(next_));
  next_ = std::vector<RecordMap>(region_.size());
}

}  // namespace liquid
