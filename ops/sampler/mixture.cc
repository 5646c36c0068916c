#include "ops/sampler/mixture.h"

#include <algorithm>
#include <cstddef>

namespace liquid {

uint64_t MulDivFloor(uint64_t a, uint64_t b, uint64_t c) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b / c);
}

uint64_t MulDivCeil(uint64_t a, uint64_t b, uint64_t c) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b + c - 1) /
                               c);
}

BatchTable::BatchTable(const std::vector<uint64_t>& samples,
                       const std::vector<uint64_t>& kept, uint64_t batch_size)
    : last_(samples.size()), least_(samples.size()), extra_({}, 1) {
  uint64_t total = 0;
  for (uint64_t count : samples) total += count;
  full_batches_ = total / batch_size;
  partial_ = total % batch_size > 0;
  if (partial_) FixLast(samples, kept, total, total % batch_size);
  if (full_batches_ == 0) return;

  const uint64_t n = full_batches_;
  std::vector<FairTable::Parts> parts;
  for (size_t f = 0; f < samples.size(); ++f) {
    const uint64_t drawn = samples[f] - last_[f].drawn;
    const uint64_t keep = kept[f] - last_[f].kept;
    const uint64_t evict = drawn - keep;
    least_[f] = {keep / n, evict / n};
    parts.push_back({keep % n, evict % n, n - drawn % n});
  }
  extra_ = FairTable(parts, n);
}

void BatchTable::FixLast(const std::vector<uint64_t>& samples,
                         const std::vector<uint64_t>& kept, uint64_t total,
                         uint64_t remainder) {
  // Largest remainders: floors first, then one more for those cut most.
  struct Cut {
    unsigned __int128 amount;
    size_t format;
  };
  std::vector<Cut> cuts;
  uint64_t left = remainder;
  for (size_t f = 0; f < samples.size(); ++f) {
    const unsigned __int128 exact =
        static_cast<unsigned __int128>(remainder) * samples[f];
    last_[f].drawn = static_cast<uint64_t>(exact / total);
    left -= last_[f].drawn;
    cuts.push_back({exact % total, f});
  }
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) {
    return a.amount != b.amount ? a.amount > b.amount : a.format < b.format;
  });
  // `left` is the sum of the cuts, so those that receive one are above zero:
  // an empty format receives none.
  for (uint64_t i = 0; i < left; ++i) ++last_[cuts[i].format].drawn;

  for (size_t f = 0; f < samples.size(); ++f) {
    BatchPart& part = last_[f];
    // The full batches must be able to keep the rest, and to evict theirs.
    const uint64_t before = samples[f] - part.drawn;
    const uint64_t least = kept[f] > before ? kept[f] - before : 0;
    const uint64_t most = std::min(part.drawn, kept[f]);
    const uint64_t nearest = static_cast<uint64_t>(
        (static_cast<unsigned __int128>(remainder) * kept[f] * 2 + total) /
        (static_cast<unsigned __int128>(total) * 2));
    part.kept = std::clamp(nearest, least, most);
  }
}

bool BatchTable::Next(std::vector<BatchPart>* batch) {
  if (made_ == full_batches_) {
    if (!partial_) return false;
    partial_ = false;
    *batch = last_;
    return true;
  }
  ++made_;
  batch->resize(least_.size());
  extra_.Next();
  for (size_t f = 0; f < least_.size(); ++f) {
    const FairTable::Held& extra = extra_.held(f);
    BatchPart& part = (*batch)[f];
    part.kept = least_[f].kept + extra[0];
    part.drawn = part.kept + least_[f].evicted + extra[1];
  }
  return true;
}

}  // namespace liquid
