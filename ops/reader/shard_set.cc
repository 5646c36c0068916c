#include "ops/reader/shard_set.h"

#include <algorithm>
#include <utility>

#include "ops/codecs/codec.h"
#include "ops/containers/recordio/check_record.h"
#include "ops/http/url.h"

namespace liquid {
namespace {

// The order of samples goes on in a file for a while, and comes back to the few
// between which it shuffles.
constexpr size_t kMostOpenFiles = 32;

}  // namespace

Status ShardSet::Create(SelectedRows rows, std::vector<std::string> paths,
                        FileOpener opener, std::unique_ptr<ShardSet>* set) {
  auto result = std::make_unique<ShardSet>();
  IndexRow last;
  uint64_t rank = 0;
  uint64_t file = 0;    // place of the first row of the file of this one
  bool listed = false;  // whether files_ has that file
  for (uint64_t i = 0; i < rows.places(); ++i) {
    const IndexRow row = rows.At(i);
    if (row.shard >= paths.size() || paths[row.shard].empty()) {
      return DataLoss("index.npy: sample " + std::to_string(row.sample) +
                      " lies in shard " + std::to_string(row.shard) +
                      ", which dataset.json does not list for this format");
    }
    const bool pcr = row.format == static_cast<uint8_t>(Format::kPcr);
    if (i == 0 || row.shard != last.shard) {
      file = i;
      listed = false;
    } else if (pcr ? row.offset <= last.offset
                   : row.offset < last.offset + last.length) {
      return DataLoss("index.npy: sample " + std::to_string(row.sample) +
                      " at offset " + std::to_string(row.offset) +
                      " overlaps the record before it");
    }
    last = row;
    if (!rows.IsChosen(i)) continue;
    if (!listed) result->files_.push_back({rank, file});
    listed = true;
    ++rank;
  }
  result->range_ = {0, rows.size()};
  result->rows_ = std::move(rows);
  result->paths_ = std::move(paths);
  result->opener_ = std::move(opener);
  *set = std::move(result);
  return OkStatus();
}

Status ShardSet::Restrict(const PartRange& range) {
  const uint64_t total = rows_.size();
  const bool fits =
      range.length == 0 || (range.start < total && range.length <= total + 1);
  if (!fits) {
    return InvalidArgument(
        "a part of " + std::to_string(range.length) + " samples from sample " +
        std::to_string(range.start) + " does not fit a format of " +
        std::to_string(total) + " samples");
  }
  range_ = range;
  return OkStatus();
}

const ShardSet::File& ShardSet::FileOf(uint64_t rank) const {
  return *(std::upper_bound(files_.begin(), files_.end(), rank,
                            [](uint64_t wanted, const File& file) {
                              return wanted < file.rank;
                            }) -
           1);
}

uint64_t ShardSet::record_number(uint64_t position) const {
  const uint64_t rank = RankOf(position);
  return rows_.PlaceOf(rank) - FileOf(rank).place;
}

std::vector<uint64_t> ShardSet::FileCounts() const {
  std::vector<uint64_t> counts;
  uint64_t rank = range_.start;
  for (uint64_t left = range_.length; left > 0; left -= counts.back()) {
    rank %= rows_.size();
    const File* const next = &FileOf(rank) + 1;
    const uint64_t end =
        next == files_.data() + files_.size() ? rows_.size() : next->rank;
    counts.push_back(std::min(left, end - rank));
    rank = end;
  }
  return counts;
}

std::shared_ptr<Record> ShardSet::Describe(uint64_t position) const {
  auto record = std::make_shared<Record>();
  record->position = position;
  record->row = row(position);
  record->shard = PublicPath(path(position));
  record->number = record_number(position);
  record->replicas = replicas_;
  return record;
}

Status ShardSet::Check(Record* record) const {
  return CheckRecord(record->framed, record->row, &record->joined,
                     &record->content);
}

Status ShardSet::Open(uint64_t position, std::shared_ptr<RandomFile>* file) {
  const uint32_t shard = row(position).shard;
  std::lock_guard<std::mutex> lock(mu_);
  const auto found =
      std::find_if(open_.begin(), open_.end(),
                   [shard](const auto& entry) { return entry.first == shard; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
  } else {
    std::unique_ptr<RandomFile> opened;
    LIQUID_RETURN_IF_ERROR(opener_(paths_[shard], &opened));
    open_.emplace_front(shard, std::move(opened));
    // Reads under way have theirs for themselves.
    if (open_.size() > kMostOpenFiles) open_.pop_back();
  }
  *file = open_.front().second;
  return OkStatus();
}

void ShardSet::Forget(uint64_t position) {
  const uint32_t shard = row(position).shard;
  std::lock_guard<std::mutex> lock(mu_);
  open_.remove_if([shard](const auto& entry) { return entry.first == shard; });
}

}  // namespace liquid
