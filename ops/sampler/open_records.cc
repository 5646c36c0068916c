#include "ops/sampler/open_records.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace liquid {
namespace {

// Records that may be open for each one whose samples they have room for. With
// 3, one draw in twenty is the oldest record's; each more would divide them by
// e.
constexpr uint64_t kOpenPerRoom = 3;

std::vector<uint64_t> FirstSamples(const FormatSpec& format) {
  std::vector<uint64_t> first = {0};
  for (uint32_t samples : format.record_samples) {
    first.push_back(first.back() + samples);
  }
  return first;
}

// A table whose first format has one sample for each record's turn. The other
// stands for the draws that end no turn, so that batches are those of the plan.
BatchTable TurnTable(const FormatSpec& format, uint64_t batch_size,
                     uint64_t total) {
  const uint64_t records = RecordCount(format);
  return BatchTable({records, total - records}, {format.cached, 0}, batch_size);
}

uint64_t LargestRecord(const FormatSpec& format) {
  return *std::max_element(format.record_samples.begin(),
                           format.record_samples.end());
}

// Samples of open records, at most.
uint64_t Room(const FormatSpec& format) {
  return std::max(std::min(format.fill, SampleCount(format)),
                  2 * LargestRecord(format));
}

// Records that are open at once; none where the section has none.
uint64_t RecordsAhead(const FormatSpec& format) {
  const uint64_t samples = std::max<uint64_t>(SampleCount(format), 1);
  return MulDivCeil(Room(format), RecordCount(format), samples);
}

Region::Size SizeOf(const FormatSpec& format, uint64_t batch_size,
                    uint64_t total) {
  Region::Size size;
  size.share = MulDivCeil(batch_size, RecordCount(format), total);
  size.ahead = RecordsAhead(format);
  return size;
}

}  // namespace

OpenRecords::OpenRecords(const PlanSpec& spec, uint32_t format, int64_t epoch,
                         uint64_t batch_size, uint64_t total,
                         const SampleSet& held, SampleSet* kept)
    : format_(format),
      shuffle_(spec.shuffle),
      cached_(spec.formats[format].cached),
      records_(RecordCount(spec.formats[format])),
      kept_(kept),
      first_(FirstSamples(spec.formats[format])),
      region_(spec, format, epoch,
              liquid::SizeOf(spec.formats[format], batch_size, total), held),
      random_(spec.seed, static_cast<uint64_t>(epoch), RngPurpose::kOpenDraw,
              static_cast<uint8_t>(format)),
      table_(TurnTable(spec.formats[format], batch_size, total)),
      turn_table_(table_),
      fate_table_(table_),
      largest_(LargestRecord(spec.formats[format])),
      most_(Room(spec.formats[format])),
      most_open_(kOpenPerRoom * RecordsAhead(spec.formats[format]) + 1) {
  if (!shuffle_) return;
  std::vector<BatchPart> skipped;
  for (uint64_t i = random_.Below(table_.full_batches() + 1); i > 0; --i) {
    fate_table_.Next(&skipped);
  }
  open_.reserve(most_open_);
}

void OpenRecords::Turn(bool keep) {
  ++turned_;
  ++turns_.drawn;
  turns_.kept += keep;
  region_.Turn(keep);
}

void OpenRecords::BeginBatch(uint64_t samples) {
  turns_ = BatchPart();
  if (shuffle_) {
    turn_table_.Next(&parts_);
    const BatchPart& part = parts_[0];
    for (uint64_t i = 0; i < part.drawn; ++i) Turn(i < part.kept);
    return;
  }
  stored_end_ += samples;
  while (first_[turned_] < stored_end_) Turn(turned_ < cached_);
}

// Of the record that is taken next. As many records are kept as the turns say:
// those of a batch in random order, and batches from a random one on, since a
// record's number says something of when it is taken.
bool OpenRecords::NextFate() {
  while (fates_.empty()) {
    if (!fate_table_.Next(&parts_)) {
      fate_table_ = table_;
      continue;
    }
    fates_.assign(parts_[0].drawn, 0);
    std::fill_n(fates_.begin(), parts_[0].kept, 1);
    random_.Shuffle(&fates_);
  }
  const bool keep = fates_.back() != 0;
  fates_.pop_back();
  return keep;
}

void OpenRecords::TakeRecord() {
  const Region::Taken taken = region_.Take();
  const bool keep = shuffle_ ? NextFate() : taken.record < cached_;
  if (keep) kept_->insert(taken.record);
  std::vector<uint32_t> samples(first_[taken.record + 1] -
                                first_[taken.record]);
  std::iota(samples.begin(), samples.end(),
            static_cast<uint32_t>(first_[taken.record]));
  open_samples_ += samples.size();
  open_.push_back(
      {taken_++, taken.record, taken.load, keep, std::move(samples)});
}

Draw OpenRecords::Next() {
  if (!shuffle_) return NextStored();
  while (taken_ < records_ && open_samples_ + largest_ <= most_) {
    // Room, and yet no place: the oldest record has to go.
    if (open_.size() == most_open_) return DrawOldest();
    TakeRecord();
  }
  return DrawAny();
}

// Draws until it hits a sample among places for the largest record in each open
// one: about three times, since that many records are open.
Draw OpenRecords::DrawAny() {
  for (;;) {
    const uint64_t place = random_.Below(open_.size() * largest_);
    const size_t open = place / largest_;
    const size_t sample = place % largest_;
    if (sample < open_[open].samples.size()) return DrawFrom(open, sample);
  }
}

Draw OpenRecords::DrawOldest() {
  const auto oldest = std::min_element(
      open_.begin(), open_.end(),
      [](const Open& a, const Open& b) { return a.order < b.order; });
  return DrawFrom(oldest - open_.begin(),
                  random_.Below(oldest->samples.size()));
}

Draw OpenRecords::DrawFrom(size_t index, size_t sample) {
  Open& open = open_[index];
  std::swap(open.samples[sample], open.samples.back());
  const Draw draw = {format_,   open.samples.back(), open.load,
                     open.keep, open.record,         open.samples.size() == 1};
  open.samples.pop_back();
  --open_samples_;
  if (draw.last) {
    std::swap(open, open_.back());
    open_.pop_back();
  }
  return draw;
}

Draw OpenRecords::NextStored() {
  if (open_.empty()) {
    TakeRecord();
    std::reverse(open_.back().samples.begin(), open_.back().samples.end());
  }
  return DrawFrom(0, open_.back().samples.size() - 1);
}

}  // namespace liquid
