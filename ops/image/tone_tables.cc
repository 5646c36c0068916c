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

void LookUp(const ToneTable& table, size_t count, uint8_t* values) {
#if defined(__x86_64__)
  static const bool kHasWide = __builtin_cpu_supports("avx2");
  if (kHasWide) return LookUpAvx2(table, count, values);
#endif
  for (size_t i = 0; i < count; ++i) values[i] = table[values[i]];
}

ToneTable Unchanged() {
  return TableOf([](int value) { return value; });
}

template <size_t kChannels>
void Count(const uint8_t* canvas, size_t pixels, Histogram* counts) {
  // Every other pixel has counts of its own, since it takes a while until the
  // same one can be changed again.
  Histogram others[kChannels] = {};
  size_t i = 0;
  for (; i + 2 <= pixels; i += 2, canvas += 2 * kChannels) {
    for (size_t c = 0; c < kChannels; ++c) {
      ++counts[c][canvas[c]];
      ++others[c][canvas[kChannels + c]];
    }
  }
  for (size_t c = 0; c < kChannels; ++c) {
    if (i < pixels) ++counts[c][canvas[c]];
    for (int value = 0; value < 256; ++value) {
      counts[c][value] += others[c][value];
    }
  }
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
  std::array<Histogram, 3> counts = {};
  if (channels_ == 1) {
    Count<1>(canvas, pixels, counts.data());
  } else {
    Count<3>(canvas, pixels, counts.data());
  }
  std::array<Histogram, 3> changed = {};
  for (size_t c = 0; c < channels_; ++c) {
    for (int value = 0; value < 256; ++value) {
      changed[c][tables_[c][value]] += counts[c][value];
    }
  }
  return changed;
}

void ToneTables::Apply(size_t pixels, uint8_t* canvas) const {
  if (equal_) {
    return LookUp(tables_[0], pixels * channels_, canvas);
  }
  const ToneTable &red = tables_[0], &green = tables_[1], &blue = tables_[2];
  for (size_t i = 0; i < pixels; ++i, canvas += 3) {
    canvas[0] = red[canvas[0]];
    canvas[1] = green[canvas[1]];
    canvas[2] = blue[canvas[2]];
  }
}

}  // namespace liquid
