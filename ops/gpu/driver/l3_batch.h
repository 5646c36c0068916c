// A planned batch on its way through a lane, whoever asked for it.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_BATCH_H_
#define LIQUID_OPS_GPU_DRIVER_L3_BATCH_H_

#include <cstddef>

#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/plan/device_batch.h"
#include "ops/gpu/plan/parallel.h"

namespace liquid {

// Starts a batch that PlanDeviceBatch planned, with the layout of it; see
// L3Lane::Start. What is gathered is copied by `parallel`.
Status StartDeviceBatch(const DeviceBatch& batch, const L3LaneLayout& layout,
                        const L3Parallel& parallel, const L3LaneMemory& memory,
                        L3Lane* lane, L3Lane::Done done);

// Says whether it went well. If so, adds it to the process's totals, and ends
// its moves. `crossing`: L3LaneLayout::crossing. Errors: those of L3Lane::Ended
// and CheckL3Device.
Status EndDeviceBatch(size_t crossing, CuResult result, const L3Lane& lane,
                      DeviceBatch* batch);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_BATCH_H_
