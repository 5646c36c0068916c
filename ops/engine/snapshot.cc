#include "ops/engine/snapshot.h"

#include <algorithm>
#include <utility>

#include "ops/engine/pixel_record.h"
#include "ops/sampler/planner.h"

namespace liquid {
namespace {

bool SameWeights(const PlanSpec& a, const PlanSpec& b) {
  if (a.weights == nullptr || b.weights == nullptr) {
    return a.weights == b.weights;
  }
  return a.weights->fingerprint() == b.weights->fingerprint();
}

bool SamePlan(const PlanSpec& a, const PlanSpec& b) {
  return a.seed == b.seed && a.batch_size == b.batch_size &&
         a.shuffle == b.shuffle && a.policy == b.policy &&
         a.formats == b.formats && SameWeights(a, b);
}

Status CheckEpoch(int64_t epoch) {
  if (epoch >= 0) return OkStatus();
  return InvalidArgument("epoch (" + std::to_string(epoch) +
                         ") must be at least 0");
}

}  // namespace

// Reports of one epoch, counted in the snapshot.
class SnapshotRun : public EpochRun {
 public:
  SnapshotRun(std::shared_ptr<Snapshot> snapshot, int64_t epoch)
      : snapshot_(std::move(snapshot)), epoch_(epoch) {}
  ~SnapshotRun() override {
    std::unique_lock<std::mutex> lock(snapshot_->mu_);
    if (snapshot_->owner_ == this) snapshot_->owner_ = nullptr;
  }
  CountDecode LaterDecodes() override {
    return [snapshot = snapshot_, epoch = epoch_](
               uint32_t format, bool by_library, double seconds) {
      snapshot->stats_.AddDecode(epoch, format, by_library, seconds);
    };
  }
  void Delivered(const BatchReport& report) override {
    snapshot_->stats_.AddBatch(report);
  }
  void Skipped(const SkippedRecord& record) override {
    snapshot_->stats_.AddSkipped(epoch_, record);
  }
  void SetFidelity(const std::vector<int64_t>& steps) override {
    snapshot_->stats_.SetFidelity(epoch_, steps);
  }
  void Filled(uint64_t bytes, double seconds) override {
    snapshot_->stats_.SetFill(epoch_, bytes, seconds);
  }
  void ReadGroups(uint32_t groups, uint64_t disk_bytes) override {
    snapshot_->stats_.AddRead(epoch_, groups, disk_bytes);
  }
  void ReadTier(uint64_t bytes) override {
    snapshot_->stats_.AddTierRead(epoch_, bytes);
  }
  void Retried(uint32_t format, uint64_t reads) override {
    snapshot_->stats_.AddRetries(epoch_, format, reads);
  }
  void Complete() override {
    std::unique_lock<std::mutex> lock(snapshot_->mu_);
    snapshot_->next_epoch_ = std::max(snapshot_->next_epoch_, epoch_ + 1);
  }
  void Decoding(int64_t parallelism, int64_t lookahead) override {
    snapshot_->stats_.SetDecoding(epoch_, parallelism, lookahead);
  }

 private:
  const std::shared_ptr<Snapshot> snapshot_;
  const int64_t epoch_;
};

Status Snapshot::Configure(const Config& config) {
  std::unique_lock<std::mutex> lock(mu_);
  if (config_.spec != nullptr) {
    if (SamePlan(*config_.spec, *config.spec) &&
        config_.formats == config.formats) {
      return OkStatus();
    }
    return InvalidArgument(
        "the snapshot belongs to a dataset with another plan (seed, batch "
        "size, formats or cache): give each its own snapshot");
  }
  config_.spec = config.spec;
  config_.formats = config.formats;
  spec_ = config.spec;
  next_epoch_ = config.initial_epoch;
  sought_ = {config.initial_epoch, config.initial_step};
  memory_.resize(config.formats.size());
  spare_ = BufferPool::Process().Allow(config.spare_bytes);
  stats_.SetFormats(config.formats);
  if (!config.tier.folder.empty()) tier_ = std::make_shared<Tier>(config.tier);
  if (HasSections(*spec_)) mixes_ = std::make_unique<EpochMixes>(spec_);
  return OkStatus();
}

std::shared_ptr<const PlanSpec> Snapshot::SpecOf(int64_t epoch) const {
  return mixes_ == nullptr ? spec_ : mixes_->Of(epoch);
}

std::shared_ptr<Tier> Snapshot::tier() const {
  std::unique_lock<std::mutex> lock(mu_);
  return tier_;
}

void Snapshot::SetArena(std::shared_ptr<Arena> arena) {
  std::unique_lock<std::mutex> lock(mu_);
  arena_.swap(arena);  // the old one goes behind the lock
}

std::shared_ptr<Arena> Snapshot::arena() const {
  std::unique_lock<std::mutex> lock(mu_);
  return arena_;
}

std::shared_ptr<const PlanSpec> Snapshot::SpecAfter(int64_t epoch) const {
  std::unique_lock<std::mutex> lock(mu_);
  const bool decided = mixes_ == nullptr || epoch + 1 < mixes_->epochs();
  return SpecOf(decided ? epoch + 1 : epoch);
}

Status Snapshot::CheckDecided(int64_t epoch) const {
  LIQUID_RETURN_IF_ERROR(CheckEpoch(epoch));
  if (mixes_ == nullptr || epoch < mixes_->epochs()) return OkStatus();
  return InvalidArgument("the mix of epoch " + std::to_string(epoch) +
                         " must be decided before it is run; " +
                         std::to_string(mixes_->epochs()) + " epochs' are");
}

Status Snapshot::Decide(int64_t first,
                        const std::vector<std::vector<int64_t>>& mixes) {
  std::unique_lock<std::mutex> lock(mu_);
  if (mixes_ == nullptr) {
    return InvalidArgument(
        "a mix is decided only of formats that share "
        "samples: give the sections that they begin with");
  }
  if (first > mixes_->epochs()) return CheckDecided(first - 1);
  for (const std::vector<int64_t>& mix : mixes) {
    if (first++ == mixes_->epochs()) {
      LIQUID_RETURN_IF_ERROR(mixes_->Append(mix));
    }
  }
  return OkStatus();
}

std::vector<int64_t> Snapshot::Mixes(int64_t epochs) const {
  std::unique_lock<std::mutex> lock(mu_);
  if (mixes_ == nullptr) return {};
  return mixes_->Numbers(std::min(epochs, mixes_->epochs()));
}

Status Snapshot::HeldBefore(int64_t epoch, HeldSets* held) {
  auto start = chain_.upper_bound(epoch);
  int64_t at = 0;
  *held = NothingHeld(*spec_);
  if (start != chain_.begin()) {
    --start;
    at = start->first;
    *held = start->second;
  }
  // Epochs of one plan are replayed together: that may be immediate.
  for (;;) {
    const std::shared_ptr<const PlanSpec> spec = SpecOf(at);
    *held = CarryOver(*spec, std::move(*held));
    if (at == epoch) return OkStatus();
    int64_t end = at + 1;
    while (end < epoch && SpecOf(end) == spec) ++end;
    LIQUID_RETURN_IF_ERROR(HeldAt(spec, at, std::move(*held), end, held));
    at = end;
  }
}

void Snapshot::Remember(int64_t epoch, HeldSets held) {
  chain_[epoch] = std::move(held);
  while (chain_.size() > 2) {
    // Drop the one farthest from here.
    const bool first_is_near =
        epoch - chain_.begin()->first < chain_.rbegin()->first - epoch;
    chain_.erase(first_is_near ? std::prev(chain_.end()) : chain_.begin());
  }
}

Status Snapshot::Take(int64_t epoch, uint64_t step, Lease* lease) {
  std::unique_lock<std::mutex> lock(mu_);
  LIQUID_RETURN_IF_ERROR(CheckDecided(epoch));
  if (step == kUnknown) {
    return Status(StatusCode::kFailedPrecondition,
                  "what is left of epoch " + std::to_string(epoch) +
                      " must be sought before it is run");
  }
  lease->spec = SpecOf(epoch);
  lease->epoch = epoch;
  // One that lies behind every epoch does so as a draw, too.
  const uint64_t batch = spec_->batch_size;
  lease->position = step <= UINT64_MAX / batch ? step * batch : UINT64_MAX;
  LIQUID_RETURN_IF_ERROR(HeldBefore(lease->epoch, &lease->held));
  Remember(lease->epoch, lease->held);
  Lend(lease);
  return OkStatus();
}

void Snapshot::LendRest(Lease* lease) {
  std::vector<RecordMap> left;  // goes behind the lock
  std::unique_lock<std::mutex> lock(mu_);
  if (owner_ == nullptr) {
    left.resize(memory_.size());
    left.swap(memory_);
  }
  Lend(lease);
}

// What memory holds and the plan does not is dropped; so is all of it where the
// epoch goes on in its middle, since part of it was drawn before.
void Snapshot::Lend(Lease* lease) {
  lease->run = std::make_shared<SnapshotRun>(shared_from_this(), lease->epoch);
  lease->memory.clear();
  lease->memory.resize(memory_.size());
  if (owner_ != nullptr) return;
  owner_ = lease->run.get();
  for (size_t f = 0; f < memory_.size(); ++f) {
    if (lease->position == 0) {
      const SampleSet& held = lease->held[f];
      memory_[f].erase_if([&held](RecordMap::Entry& entry) {
        entry.second = Settled(entry.second);
        return entry.second == nullptr || !held.contains(entry.first);
      });
      lease->memory[f] = std::move(memory_[f]);
    }
    memory_[f] = RecordMap();
  }
}

Status Snapshot::SetCached(const std::vector<uint64_t>& cached) {
  auto spec = std::make_shared<PlanSpec>(*spec_);
  if (cached.size() != spec->formats.size()) {
    return InvalidArgument("the checkpoint was saved by a dataset with " +
                           std::to_string(cached.size()) +
                           " formats; this one has " +
                           std::to_string(spec->formats.size()));
  }
  bool same = true;
  for (size_t f = 0; f < cached.size(); ++f) {
    same = same && spec->formats[f].cached == cached[f];
    spec->formats[f].cached = cached[f];
  }
  if (same) return OkStatus();
  LIQUID_RETURN_IF_ERROR(Validate(*spec));
  spec_ = spec;
  chain_.clear();
  return OkStatus();
}

Status Snapshot::SetMixes(const std::vector<int64_t>& mixes) {
  if (mixes_ == nullptr) {
    return InvalidArgument(
        "the checkpoint was saved by a dataset whose mix "
        "may change; this one's is fixed");
  }
  LIQUID_RETURN_IF_ERROR(mixes_->Assign(mixes));
  chain_.clear();
  return OkStatus();
}

Status Snapshot::Restore(const std::vector<uint64_t>& cached,
                         const std::vector<int64_t>& mixes, int64_t epoch,
                         uint64_t position, HeldSets held, bool complete,
                         Lease* lease) {
  std::unique_lock<std::mutex> lock(mu_);
  LIQUID_RETURN_IF_ERROR(mixes_ == nullptr ? SetCached(cached)
                                           : SetMixes(mixes));
  LIQUID_RETURN_IF_ERROR(CheckDecided(epoch));
  lease->spec = SpecOf(epoch);
  LIQUID_RETURN_IF_ERROR(ValidateHeld(*lease->spec, held));
  Remember(epoch, held);
  next_epoch_ = complete ? epoch + 1 : epoch;
  // All of the epoch is run, whatever was left of it elsewhere.
  if (sought_.rest != nullptr && sought_.epoch == epoch) sought_ = {epoch};
  lease->epoch = epoch;
  lease->position = position;
  lease->held = std::move(held);
  Lend(lease);
  return OkStatus();
}

Snapshot::Place Snapshot::Next() const {
  std::unique_lock<std::mutex> lock(mu_);
  return sought_.epoch == next_epoch_ ? sought_ : Place{next_epoch_};
}

Snapshot::Place Snapshot::Sought() const {
  std::unique_lock<std::mutex> lock(mu_);
  return sought_;
}

std::vector<uint64_t> Snapshot::Cached() const {
  std::unique_lock<std::mutex> lock(mu_);
  std::vector<uint64_t> cached;
  for (const FormatSpec& format : spec_->formats) {
    cached.push_back(format.cached);
  }
  return cached;
}

Status Snapshot::Seek(Place place, const std::vector<uint64_t>& cached,
                      const std::vector<int64_t>& mixes) {
  LIQUID_RETURN_IF_ERROR(CheckEpoch(place.epoch));
  std::unique_lock<std::mutex> lock(mu_);
  if (!mixes.empty()) {
    LIQUID_RETURN_IF_ERROR(SetMixes(mixes));
  } else if (!cached.empty() && mixes_ == nullptr) {
    LIQUID_RETURN_IF_ERROR(SetCached(cached));
  }
  next_epoch_ = place.epoch;
  std::swap(sought_, place);  // what was sought before goes behind the lock
  return OkStatus();
}

bool Snapshot::Own(const EpochRun* run) {
  // What the owner before left is of no use in the middle of an epoch, and
  // memory is for one cache. It goes behind the lock, since it may take its
  // time.
  std::vector<RecordMap> left;
  std::unique_lock<std::mutex> lock(mu_);
  if (owner_ == nullptr) {
    owner_ = run;
    left.resize(memory_.size());
    left.swap(memory_);
  }
  return owner_ == run;
}

void Snapshot::Release(const EpochRun* run, int64_t epoch, const HeldSets* next,
                       std::vector<RecordMap> memory) {
  std::unique_lock<std::mutex> lock(mu_);
  if (next != nullptr) Remember(epoch + 1, *next);
  if (owner_ != run) return;
  owner_ = nullptr;
  if (!is_forgotten_) memory_ = std::move(memory);
}

void Snapshot::Forget() {
  // They go behind the lock.
  std::vector<RecordMap> left;
  std::shared_ptr<Arena> arena;
  std::unique_lock<std::mutex> lock(mu_);
  is_forgotten_ = true;
  left.resize(memory_.size());
  left.swap(memory_);
  arena.swap(arena_);
}

std::string Snapshot::StatsJson(bool with_batches) const {
  StatsBoard::Now now;
  {
    std::unique_lock<std::mutex> lock(mu_);
    now.next_epoch = next_epoch_;
    if (mixes_ != nullptr) now.mixes = mixes_->Numbers(mixes_->epochs());
    for (const RecordMap& map : memory_) {
      for (const auto& entry : map) {
        const RecordPtr record = Settled(entry.second);
        if (record == nullptr) continue;
        ++now.cached_records;
        now.cached_bytes += record->footprint();
        if (record->on_device == nullptr) continue;
        ++now.device_records.records;
        now.device_records.bytes += record->image_bytes;
      }
    }
    if (tier_ != nullptr) now.tier = tier_->counters();
    if (arena_ != nullptr) now.arena = arena_->counters();
  }
  const BufferPool::Counters pool = BufferPool::Process().counters();
  now.pool_used = pool.used_bytes;
  now.pool_kept = pool.retained_bytes;
  return stats_.Json(now, with_batches);
}

}  // namespace liquid
