#include "ops/reader/selected_rows.h"

#include <algorithm>

namespace liquid {
namespace {

// Of the directory: with 32 words a count of 8 bytes is 1/32 of what it counts.
constexpr size_t kBlockWords = 32;

uint64_t Ones(uint64_t word) {
  return static_cast<uint64_t>(__builtin_popcountll(word));
}

// The place of the one before which there are `rank` others. Requires it.
uint64_t PlaceOfOne(uint64_t word, uint64_t rank) {
  for (; rank > 0; --rank) word &= word - 1;
  return static_cast<uint64_t>(__builtin_ctzll(word));
}

}  // namespace

SelectedRows::SelectedRows(const IndexView& index,
                           const std::vector<uint8_t>& splits, uint8_t format,
                           ByteSpan chosen) {
  for (const uint8_t split : splits) {
    pieces_.push_back(index.Of(split, format));
    ends_.push_back(places() + pieces_.back().size());
  }
  size_ = places();
  if (chosen.size == 0) return;
  words_.resize((size_ + 63) / 64);
  uint64_t place = 0;
  for (const IndexView& piece : pieces_) {
    for (size_t i = 0; i < piece.size(); ++i, ++place) {
      const uint64_t sample = piece[i].sample;
      if (sample / 8 < chosen.size &&
          (chosen.data[sample / 8] >> (sample % 8) & 1) != 0) {
        words_[place >> 6] |= uint64_t{1} << (place & 63);
      }
    }
  }
  size_ = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    if (i % kBlockWords == 0) ranks_.push_back(size_);
    size_ += Ones(words_[i]);
  }
}

uint64_t SelectedRows::PlaceOf(uint64_t rank) const {
  if (words_.empty()) return rank;
  const auto block =
      static_cast<size_t>(std::upper_bound(ranks_.begin(), ranks_.end(), rank) -
                          ranks_.begin() - 1);
  rank -= ranks_[block];
  size_t i = block * kBlockWords;
  for (uint64_t ones; (ones = Ones(words_[i])) <= rank; ++i) rank -= ones;
  return i * 64 + PlaceOfOne(words_[i], rank);
}

IndexRow SelectedRows::At(uint64_t place) const {
  const auto piece = static_cast<size_t>(
      std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
  return pieces_[piece][place - (ends_[piece] - pieces_[piece].size())];
}

}  // namespace liquid
