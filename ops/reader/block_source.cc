#include "ops/reader/block_source.h"

#include <algorithm>
#include <utility>

#include "ops/http/url.h"

namespace liquid {

BlockSource::BlockSource(std::vector<FileStretch> stretches,
                         uint64_t block_bytes, FileOpener opener)
    : stretches_(std::move(stretches)),
      block_bytes_(block_bytes),
      opener_(std::move(opener)),
      first_(1, 0) {
  for (const FileStretch& stretch : stretches_) {
    uint64_t blocks = 0;
    if (stretch.begin < stretch.end) {
      blocks =
          (stretch.end - 1) / block_bytes_ - stretch.begin / block_bytes_ + 1;
    }
    first_.push_back(first_.back() + blocks);
  }
}

IndexRow BlockSource::row(uint64_t position) const {
  // Stretches without a block have the number of the one behind them.
  const size_t number = static_cast<size_t>(
      std::upper_bound(first_.begin(), first_.end(), position) -
      first_.begin() - 1);
  const FileStretch& stretch = stretches_[number];
  const uint64_t block =
      (stretch.begin / block_bytes_ + position - first_[number]) * block_bytes_;
  IndexRow row;
  row.shard = static_cast<uint32_t>(number);
  row.offset = std::max(stretch.begin, block);
  row.length = std::min(stretch.end, block + block_bytes_) - row.offset;
  return row;
}

std::shared_ptr<Record> BlockSource::Describe(uint64_t position) const {
  auto record = std::make_shared<Record>();
  record->position = position;
  record->row = row(position);
  record->shard = PublicPath(stretches_[record->row.shard].path);
  record->is_block = true;
  return record;
}

Status BlockSource::OpenStretch(size_t stretch,
                                std::shared_ptr<RandomFile>* file) {
  const std::string& path = stretches_[stretch].path;
  std::lock_guard<std::mutex> lock(mu_);
  if (file_ == nullptr || path_ != path) {
    std::unique_ptr<RandomFile> opened;
    LIQUID_RETURN_IF_ERROR(opener_(path, &opened));
    file_ = std::move(opened);
    path_ = path;
  }
  *file = file_;
  return OkStatus();
}

}  // namespace liquid
