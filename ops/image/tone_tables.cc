#include "ops/image/tone_tables.h"

#include <algorithm>

#include "ops/image/blend.h"

namespace liquid {
namespace {

template <typename Change>
ToneTable TableOf(const Change& change) {
  ToneTable table;
  for (int value = 0; value < 256; ++value) {
    table[value] = static_cast<uint8_t>(change(value));
  }
  return table;
}

ToneTable Unchanged() {
  return TableOf([](int value) { return value; });
}

}  // namespace

ToneTable BlendTable(int base, float factor) {
  return TableOf([&](int value) { return Blend(base, value, factor); });
}

ToneTable PosterizeTable(int bits) {
  return TableOf([&](int value) { return value >> (8 - bits) << (8 - bits); });
}

ToneTable SolarizeTable(double threshold) {
  return TableOf(
      [&](int value) { return value < threshold ? value : 255 - value; });
}

ToneTable SolarizeAddTable(int amount) {
  return TableOf([&](int value) {
    return value < 128 ? std::min(value + amount, 255) : value;
  });
}

ToneTable AutoContrastTable(const Histogram& histogram) {
  int low = 0, high = 255;
  while (low < high && histogram[low] == 0) ++low;
  while (low < high && histogram[high] == 0) --high;
  if (low == high) return Unchanged();
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  return TableOf([&](int value) {
    const double spread = value * scale + offset;
    return static_cast<int>(std::min(std::max(spread, 0.0), 255.0));
  });
}

ToneTable EqualizeTable(const Histogram& histogram) {
  uint64_t sum = 0, last = 0;
  for (const uint64_t count : histogram) {
    sum += count;
    if (count > 0) last = count;
  }
  const uint64_t step = (sum - last) / 255;
  if (step == 0) return Unchanged();
  uint64_t below = step / 2;
  return TableOf([&](int value) {
    const uint64_t rank = below / step;
    below += histogram[value];
    return std::min<uint64_t>(rank, 255);
  });
}

ToneTables::ToneTables(size_t channels) : channels_(channels) { Clear(); }

void ToneTables::Clear() {
  tables_.fill(Unchanged());
  empty_ = equal_ = true;
}

void ToneTables::Then(const ToneTable& table) {
  const bool equal = equal_;
  for (size_t channel = 0; channel < channels_; ++channel) Then(channel, table);
  equal_ = equal;
}

void ToneTables::Then(size_t channel, const ToneTable& table) {
  for (uint8_t& value : tables_[channel]) value = table[value];
  empty_ = false;
  equal_ = channels_ == 1;
}

std::array<Histogram, 3> ToneTables::Histograms(const uint8_t* canvas,
                                                size_t pixels) const {
  // Two of each, since to count a value again takes a while.
  std::array<std::array<Histogram, 3>, 2> counts = {};
  const size_t values = pixels * channels_;
  for (size_t i = 0; i < values;) {
    for (auto& of_channel : counts) {
      for (size_t c = 0; c < channels_ && i < values; ++c) {
        ++of_channel[c][canvas[i++]];
      }
    }
  }
  std::array<Histogram, 3> changed = {};
  for (size_t c = 0; c < channels_; ++c) {
    for (int value = 0; value < 256; ++value) {
      changed[c][tables_[c][value]] +=
          counts[0][c][value] + counts[1][c][value];
    }
  }
  return changed;
}

void ToneTables::Apply(size_t pixels, uint8_t* canvas) const {
  if (equal_) {
    const size_t values = pixels * channels_;
    for (size_t i = 0; i < values; ++i) canvas[i] = tables_[0][canvas[i]];
    return;
  }
  for (size_t i = 0; i < pixels; ++i, canvas += 3) {
    for (size_t c = 0; c < 3; ++c) canvas[c] = tables_[c][canvas[c]];
  }
}

}  // namespace liquid
