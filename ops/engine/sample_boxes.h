// The boxes of a sample: what its record says of each, for those that stay.
#ifndef LIQUID_OPS_ENGINE_SAMPLE_BOXES_H_
#define LIQUID_OPS_ENGINE_SAMPLE_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/engine/array.h"
#include "ops/image/boxes.h"

namespace liquid {

// A feature of the records' Examples that has a value for every box.
struct BoxColumn {
  std::string name;
  DType dtype = DType::kFloat32;  // float32, int64 or string
  std::vector<int64_t> shape;     // of one box's value

  // Numbers or strings of one box.
  size_t size() const;
};

struct BoxConfig {
  std::vector<BoxColumn> columns;  // empty: boxes are not asked for
  size_t boxes = 0;                // which of them has the boxes
  int keypoints = -1;              // and the keypoints, or -1
  BoxRule rule;
  // Of keypoints in a mirrored image, see MoveKeypoints.
  std::vector<size_t> flip;
};

// A column's values of one sample, box by box, of the column's type.
struct BoxValues {
  std::vector<float> floats;
  std::vector<int64_t> int64s;
  std::vector<std::string> texts;
};

struct SampleBoxes {
  size_t count = 0;  // boxes that stay
  std::vector<BoxValues> columns;
};

// Gives the boxes of a serialized Example that stay. A feature that the Example
// lacks is one without values.
//
// Error: DataLoss where the Example cannot be parsed, a feature is of another
// type or has another number of values than the boxes ask for, or a number is
// not finite.
Status FindBoxes(const BoxConfig& config, ByteSpan example,
                 const Placement& placement, bool mirrored, SampleBoxes* found);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_SAMPLE_BOXES_H_
