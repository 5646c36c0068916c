// Records whose stored image lies in a device's memory, and not in the host's.
#ifndef LIQUID_OPS_GPU_PLAN_DEVICE_RECORD_H_
#define LIQUID_OPS_GPU_PLAN_DEVICE_RECORD_H_

#include <memory>

#include "ops/codecs/codec.h"
#include "ops/core/arena.h"
#include "ops/core/status.h"
#include "ops/reader/record.h"

namespace liquid {

// A record like `record`, whose image lies at `place`, whole. In the host's
// memory it has the labels, the Example, and what of the image a batch is
// planned by: its header, and the table of its patches or entries. Errors:
// Unavailable; those of PeekL3; InvalidArgument for a JPEG file that no device
// decodes.
Status MakeDeviceRecord(const Record& record, const DecodeLimits& limits,
                        std::shared_ptr<const Arena::Piece> place,
                        std::shared_ptr<const Record>* made);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_DEVICE_RECORD_H_
