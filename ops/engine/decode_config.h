// What a decoder is told, checked: pixels, boxes and other features of a batch.
#ifndef LIQUID_OPS_ENGINE_DECODE_CONFIG_H_
#define LIQUID_OPS_ENGINE_DECODE_CONFIG_H_

#include <cstdint>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/array.h"
#include "ops/engine/batch_assembler.h"
#include "ops/engine/batch_decoder.h"
#include "ops/message/messages.h"

namespace liquid {

// The type and shape that a feature has in a batch; -1 for a length that is not
// known.
struct OutputSpec {
  DType dtype = DType::kUint8;
  std::vector<int64_t> shape;
};

// The mean of every value of the result, [height, width, channels]; or none.
struct MeanImage {
  std::vector<float> values;
  int64_t height = 0;
  int64_t width = 0;
};

// `outputs`: of each of the message's features. Error: InvalidArgument that
// names the feature and what does not fit it.
Status Configure(const DecodeMessage& message,
                 const std::vector<OutputSpec>& outputs, const MeanImage& mean,
                 DecodeConfig* config, std::vector<OutputFeature>* features);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_DECODE_CONFIG_H_
