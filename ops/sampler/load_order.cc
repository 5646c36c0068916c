// LoadOrder: the order in which records come from disk.
//
// Sequential reads of whole files are what disks are good at, and stored order
// is what shuffling has to break. Permuted files break it between files, turns
// among a few open files break it between neighbours, and the region's random
// draws do the rest; every read still goes forward in one of a few files.
#include "ops/sampler/load_order.h"

#include <algorithm>

namespace liquid {

LoadOrder::LoadOrder(const PlanSpec& spec, uint32_t format, int64_t epoch,
                     const SampleSet* held)
    : held_(held) {
  RandomStream files(spec.seed, static_cast<uint64_t>(epoch),
                     RngPurpose::kFileOrder, static_cast<uint8_t>(format));
  OpenFiles(spec, format, &files);
}

LoadOrder::LoadOrder(RandomStream* files, const PlanSpec& spec, uint32_t format,
                     const SampleSet* held)
    : held_(held) {
  OpenFiles(spec, format, files);
}

void LoadOrder::OpenFiles(const PlanSpec& spec, uint32_t format,
                          RandomStream* files) {
  const FormatSpec& f = spec.formats[format];
  const uint64_t stored = StoredCount(f);
  const uint64_t end = f.first + RecordCount(f);
  uint64_t first = 0;
  for (uint64_t records : f.files) {
    const Cursor file = {std::max(first, f.first),
                         std::min(first + records, end)};
    if (file.next < file.end) files_.push_back(file);
    // What of the section goes on at the first record.
    const uint64_t again = end > stored ? end - stored : 0;
    const Cursor wrapped = {first, std::min(first + records, again)};
    if (wrapped.next < wrapped.end) files_.push_back(wrapped);
    first += records;
  }
  if (spec.shuffle) files->Shuffle(&files_);
  const size_t open = spec.shuffle ? kOpenFiles : 1;
  while (open_.size() < open && next_file_ < files_.size()) {
    open_.push_back(files_[next_file_++]);
  }
}

void LoadOrder::EndTurn() {
  left_in_turn_ = kRecordsPerTurn;
  if (open_[turn_].next == open_[turn_].end) {
    if (next_file_ < files_.size()) {
      open_[turn_] = files_[next_file_++];
    } else {
      open_.erase(open_.begin() + turn_);
      if (turn_ == open_.size()) turn_ = 0;
      return;
    }
  }
  turn_ = turn_ + 1 < open_.size() ? turn_ + 1 : 0;
}

bool LoadOrder::Next(uint64_t* record) {
  while (!open_.empty()) {
    Cursor& cursor = open_[turn_];
    while (left_in_turn_ > 0 && cursor.next < cursor.end) {
      const uint64_t next = cursor.next++;
      if (held_ != nullptr && held_->contains(next)) continue;
      --left_in_turn_;
      *record = next;
      return true;
    }
    EndTurn();
  }
  return false;
}

}  // namespace liquid
