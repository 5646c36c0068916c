#include "ops/reader/tiered_source.h"

#include <utility>

namespace liquid {
namespace {

constexpr uint64_t kInTier = uint64_t{1} << 63;

uint64_t RecordOf(uint64_t position) { return position & ~kInTier; }

}  // namespace

TieredSource::TieredSource(std::shared_ptr<RecordSource> store,
                           std::shared_ptr<Tier> tier, uint32_t format)
    : store_(std::move(store)), tier_(std::move(tier)), format_(format) {}

uint64_t TieredSource::PositionOf(uint64_t record) {
  auto place = tier_->Find(format_, record);
  if (place == nullptr) return record;
  std::lock_guard<std::mutex> lock(mu_);
  pinned_.emplace(record, std::move(place));
  return record | kInTier;
}

std::shared_ptr<const TierPlace> TieredSource::Pinned(uint64_t record) const {
  std::lock_guard<std::mutex> lock(mu_);
  return pinned_.find(record)->second;
}

IndexRow TieredSource::row(uint64_t position) const {
  IndexRow row = store_->row(RecordOf(position));
  if (RecordOf(position) == position) return row;
  row.shard = kAlone;
  row.offset = Pinned(RecordOf(position))->begin();
  return row;
}

std::shared_ptr<Record> TieredSource::Describe(uint64_t position) const {
  auto record = store_->Describe(RecordOf(position));
  record->in_tier = RecordOf(position) != position;
  if (record->in_tier) record->row = row(position);
  return record;
}

Status TieredSource::Open(uint64_t position,
                          std::shared_ptr<RandomFile>* file) {
  if (RecordOf(position) == position) return store_->Open(position, file);
  std::lock_guard<std::mutex> lock(mu_);
  const auto pinned = pinned_.find(RecordOf(position));
  *file = std::const_pointer_cast<TierPlace>(pinned->second);
  pinned_.erase(pinned);
  return OkStatus();
}

Status TieredSource::OpenStore(uint64_t position,
                               std::shared_ptr<RandomFile>* file) {
  return store_->Open(RecordOf(position), file);
}

void TieredSource::Forget(uint64_t position) { store_->Forget(position); }

Status TieredSource::Check(Record* record) const {
  if (!record->in_tier) return store_->Check(record);
  record->row = store_->row(record->position);
  LIQUID_RETURN_IF_ERROR(store_->Check(record));
  record->disk_bytes = 0;  // none of the store
  tier_->Read(format_, *record);
  return OkStatus();
}

bool TieredSource::Elsewhere(const Status& read, Record* record) {
  if (!record->in_tier) return false;
  record->in_tier = false;
  record->row = store_->row(record->position);
  tier_->Failed(format_, record->position, read);
  return true;
}

}  // namespace liquid
