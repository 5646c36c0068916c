// Boxes and keypoints that follow their image.
//
// Places are continuous pixel coordinates, y before x: the image's upper left
// corner is at (0, 0), the lower right one at (height, width). Each is computed
// in float64 from the float32 given and rounded to float32 once. All functions
// are pure, thread-safe and O(n).
#ifndef LIQUID_OPS_IMAGE_BOXES_H_
#define LIQUID_OPS_IMAGE_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/core/status.h"
#include "ops/image/affine.h"

namespace liquid {

// What becomes of a stored image.
struct Placement {
  Affine map;           // from places in it to places in the result
  uint32_t height = 0;  // of the result
  uint32_t width = 0;
};

// Which boxes stay.
struct BoxRule {
  double min_visible = 0;                            // share of its area
  size_t most = std::numeric_limits<size_t>::max();  // of an image: the first
};

// Pixels: of a box that only touches a side of the image, the rounding of
// float64 may leave less.
constexpr float kThinnest = 1.f / 65536;

struct KeptBoxes {
  std::vector<size_t> numbers;  // of the boxes as given, ascending
  std::vector<float> boxes;     // y0 x0 y1 x1 of each
};

// Moves boxes, `values` numbers that are y0 x0 y1 x1 of each, and cuts them at
// the sides of the result. A turned box becomes the upright one that encloses
// it. What is visible of a box is its area after the cut by that before it. A
// box without area, one turned inside out, and one whose rounded result has a
// side below kThinnest have nothing visible, and drop out.
//
// Error: DataLoss where `values` is no multiple of 4 or a number is not finite.
Status MoveBoxes(const float* boxes, size_t values, const Placement& placement,
                 const BoxRule& rule, KeptBoxes* kept);

// Moves the keypoints of one box: y, x and v of each of `count`, from `points`
// to `out`, which must not overlap. One of v = 0, which nobody labelled, and
// one that lands outside the result become 0, 0, 0; other v stay. `flip` is
// empty, or says of each keypoint of the result which one becomes it.
//
// Error: DataLoss where a number is not finite.
Status MoveKeypoints(const float* points, size_t count,
                     const Placement& placement,
                     const std::vector<size_t>& flip, float* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_BOXES_H_
