// Changes of tone: what becomes of a value depends on nothing else.
//
// Tables equal those of Pillow 13.0.0's ImageEnhance and ImageOps. All
// functions are pure and thread-safe.
#ifndef LIQUID_OPS_IMAGE_TONE_TABLES_H_
#define LIQUID_OPS_IMAGE_TONE_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace liquid {

using ToneTable = std::array<uint8_t, 256>;

// From `base`, `factor` times as far as the value is: brightness, whose base is
// 0, and contrast.
ToneTable BlendTable(int base, float factor);
// Leaves the `bits` highest bits, 0 to 8.
ToneTable PosterizeTable(int bits);
// Inverts values of `threshold` and above.
ToneTable SolarizeTable(double threshold);
// Adds `amount`, at least 0, to values below 128.
ToneTable SolarizeAddTable(int amount);

#if defined(__x86_64__)
// Puts what `table` has for them in the places of values. Requires AVX2.
void LookUpAvx2(const ToneTable& table, size_t count, uint8_t* values);
#endif

// How often each value occurs in a channel.
using Histogram = std::array<uint64_t, 256>;

// Spreads the values that occur from 0 to 255.
ToneTable AutoContrastTable(const Histogram& histogram);
// Makes all values about as frequent.
ToneTable EqualizeTable(const Histogram& histogram);

// Tables one after the other, merged into one a channel.
class ToneTables {
 public:
  // Changes nothing. Requires 1 or 3 channels.
  explicit ToneTables(size_t channels);

  bool empty() const { return empty_; }
  void Clear();
  void Then(const ToneTable& table);  // of every channel
  void Then(size_t channel, const ToneTable& table);

  // What the histograms of `pixels` values a channel are after these tables.
  std::array<Histogram, 3> Histograms(const uint8_t* canvas,
                                      size_t pixels) const;
  void Apply(size_t pixels, uint8_t* canvas) const;

 private:
  size_t channels_;
  bool empty_ = true;
  bool equal_ = true;  // the tables of all channels
  std::array<ToneTable, 3> tables_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_TONE_TABLES_H_
