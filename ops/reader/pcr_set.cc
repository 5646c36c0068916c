#include "ops/reader/pcr_set.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ops/containers/pcr/pcr_record.h"
#include "ops/http/url.h"

namespace liquid {
namespace {

// The images of one record in memory.
class PcrSamples : public RecordSamples {
 public:
  explicit PcrSamples(std::shared_ptr<const ShardSet> samples)
      : samples_(std::move(samples)) {}

  // Points into the bytes of the record whose samples these are.
  PcrView* view() { return &view_; }

  std::shared_ptr<Record> Get(const Record& record, uint64_t sample,
                              uint32_t groups) const override {
    std::shared_ptr<Record> image = samples_->Describe(sample);
    image->number = image->row.offset;
    image->status = record.status;
    if (!image->status.ok()) return image;
    const size_t slot = image->row.offset;
    if (slot >= view_.images()) {
      image->status = DataLoss(image->Where() + ": the record has " +
                               std::to_string(view_.images()) + " images");
      return image;
    }
    const size_t group = std::min<size_t>(groups, view_.groups());
    const size_t bytes = view_.GluedBytes(slot, group);
    const ByteSpan example = view_.example(slot);
    image->memory = BufferPool::Process().Acquire(bytes + example.size);
    if (!image->memory) {
      image->status = Unavailable(image->Where() + ": no memory for " +
                                  std::to_string(bytes) + " bytes");
      return image;
    }
    uint8_t* const out = image->memory.data();
    view_.GlueTo(slot, group, out);
    if (example.size > 0) std::memcpy(out + bytes, example.data, example.size);
    image->row.length = bytes;
    image->framed = ByteSpan(out, bytes);
    image->content.id = image->row.sample;
    image->content.labels = {static_cast<float>(view_.label(slot))};
    image->content.image = ByteSpan(out, bytes);
    image->content.example = ByteSpan(out + bytes, example.size);
    return image;
  }

 private:
  const std::shared_ptr<const ShardSet> samples_;
  PcrView view_;
};

}  // namespace

Status PcrSet::Create(std::shared_ptr<ShardSet> samples,
                      std::vector<PcrEntry> entries,
                      std::unique_ptr<PcrSet>* set) {
  auto made = std::make_unique<PcrSet>();
  made->first_ = {0};
  for (const uint64_t count : samples->FileCounts()) {
    const uint64_t first = made->first_.back();
    const uint32_t shard = samples->row(first).shard;
    if (shard >= entries.size() || entries[shard].lengths.size() < 2) {
      return DataLoss("the index of the pcr has no entry for " +
                      PublicPath(samples->path(first)));
    }
    made->first_.push_back(first + count);
  }
  made->samples_ = std::move(samples);
  made->entries_ = std::move(entries);
  *set = std::move(made);
  return OkStatus();
}

uint64_t PcrSet::RecordOf(uint64_t sample) const {
  return static_cast<uint64_t>(
      std::upper_bound(first_.begin(), first_.end(), sample) - first_.begin() -
      1);
}

std::vector<uint32_t> PcrSet::RecordSamples() const {
  std::vector<uint32_t> samples;
  for (uint64_t r = 0; r < records(); ++r) {
    samples.push_back(static_cast<uint32_t>(first_[r + 1] - first_[r]));
  }
  return samples;
}

std::vector<uint32_t> PcrSet::RecordGroups() const {
  std::vector<uint32_t> groups;
  for (uint64_t r = 0; r < records(); ++r) {
    groups.push_back(static_cast<uint32_t>(entry(r).groups()));
  }
  return groups;
}

uint64_t PcrSet::PositionOf(uint64_t record, uint32_t groups) const {
  return (entry(record).GroupsAt(groups) - 1) * records() + record;
}

IndexRow PcrSet::row(uint64_t position) const {
  const uint64_t record = RecordAt(position);
  IndexRow row = samples_->row(first_[record]);
  row.offset = 0;
  row.length = entry(record).PrefixBytes(GroupsAt(position));
  return row;
}

std::shared_ptr<Record> PcrSet::Describe(uint64_t position) const {
  auto record = std::make_shared<Record>();
  record->position = RecordAt(position);
  record->row = row(position);
  record->shard = PublicPath(samples_->path(first_[record->position]));
  record->groups = GroupsAt(position);
  record->all_groups = static_cast<uint32_t>(entry(record->position).groups());
  record->samples = std::make_unique<PcrSamples>(samples_);
  return record;
}

Status PcrSet::Open(uint64_t position, std::shared_ptr<RandomFile>* file) {
  std::unique_ptr<RandomFile> opened;
  LIQUID_RETURN_IF_ERROR(
      samples_->OpenAgain(first_[RecordAt(position)], &opened));
  *file = std::move(opened);
  return OkStatus();
}

Status PcrSet::Check(Record* record) const {
  return PcrView::Parse(
      record->framed, entry(record->position), record->groups,
      static_cast<PcrSamples*>(record->samples.get())->view());
}

}  // namespace liquid
