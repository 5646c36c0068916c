#include "ops/gpu/driver/l3_totals.h"

namespace liquid {

L3Totals& L3Totals::Process() {
  static auto* const kTotals = new L3Totals();
  return *kTotals;
}

void L3Totals::Add(int64_t images, int64_t bytes, const L3LaneTimes& times) {
  std::lock_guard<std::mutex> lock(mutex_);
  values_.images += images;
  values_.bytes += bytes;
  values_.times.copy_seconds += times.copy_seconds;
  values_.times.decode_seconds += times.decode_seconds;
}

L3Totals::Values L3Totals::Get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return values_;
}

}  // namespace liquid
