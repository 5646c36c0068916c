// What a plan does to an image that has its size, as operations of a device.
#ifndef LIQUID_OPS_IMAGE_DEVICE_OPERATION_PLAN_H_
#define LIQUID_OPS_IMAGE_DEVICE_OPERATION_PLAN_H_

#include <cstdint>
#include <vector>

#include "ops/core/status.h"
#include "ops/image/device/image_device.h"
#include "ops/image/recipe.h"

namespace liquid {

// Whether an image needs more than its pixels one by one, once it has its size.
bool NeedsCanvas(const SamplePlan& plan);

// Changes of colour of a plan without such steps.
ImageDeviceColours ColoursOf(const SamplePlan& plan);

// Appends all that follows flipping to `operations`, in order, without places
// on canvases; and what they look up to the tables. `channels` and `bits` are
// those of the image. Unimplemented for places that a device does not find.
Status PlanOperations(const Recipe& recipe, const SamplePlan& plan,
                      uint32_t channels, uint32_t bits,
                      std::vector<uint32_t>* tables,
                      std::vector<ImageDeviceOperation>* operations);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_DEVICE_OPERATION_PLAN_H_
