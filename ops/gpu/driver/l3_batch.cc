#include "ops/gpu/driver/l3_batch.h"

#include <utility>

#include "ops/gpu/driver/l3_totals.h"

namespace liquid {
namespace {

// What one thread copies, about.
constexpr int64_t kBytesPerCycle = 4;

}  // namespace

Status StartDeviceBatch(const DeviceBatch& batch, const L3LaneLayout& layout,
                        const L3Parallel& parallel, const L3LaneMemory& memory,
                        L3Lane* lane, L3Lane::Done done) {
  // One thread copies slower than a bus does.
  const auto fill = [&](uint8_t* bytes) {
    const auto n = static_cast<int64_t>(layout.gathered.size());
    if (n == 0) return;
    const auto size = static_cast<int64_t>(layout.host_size - layout.bytes);
    const L3DeviceCopy* const copies = layout.gathered.data();
    parallel(n, size / n / kBytesPerCycle, [&](int64_t first, int64_t last) {
      CopyL3Files(batch.files, copies + first, copies + last, bytes);
    });
  };
  return lane->Start(batch.tasks, batch.images, layout, fill, batch.outputs,
                     batch.types, memory, std::move(done));
}

Status EndDeviceBatch(size_t crossing, CuResult result, const L3Lane& lane,
                      DeviceBatch* batch) {
  L3LaneTimes times;
  LIQUID_RETURN_IF_ERROR(lane.Ended(result, &times));
  LIQUID_RETURN_IF_ERROR(AdviseOnDamage(
      *batch, CheckL3Device(batch->files, batch->tasks, lane.findings())));
  L3Totals::Process().Add(static_cast<int64_t>(batch->files.size()),
                          static_cast<int64_t>(crossing), times);
  EndMoves(batch);
  return OkStatus();
}

}  // namespace liquid
