// 16 bits for every target but the reference.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_WIDE_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_WIDE_H_

#include <cstdint>

#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {

// As L3RowDecoders::v2_16.
L3RowsResult DecodeL3Wide(const L3V2Patch& patch, const L3Rows& rows,
                          const uint8_t** stopped);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_WIDE_H_
