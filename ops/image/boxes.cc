#include "ops/image/boxes.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace liquid {
namespace {

struct Place {
  double y, x;
};

Place Move(const Affine& map, double y, double x) {
  return {map.yx * x + map.yy * y + map.y0, map.xx * x + map.xy * y + map.x0};
}

struct Box {
  double y0, x0, y1, x1;

  double Area() const { return (y1 - y0) * (x1 - x0); }
};

// The upright box around the moved corners.
Box MoveBox(const Affine& map, const float* box) {
  const Place corners[] = {Move(map, box[0], box[1]), Move(map, box[0], box[3]),
                           Move(map, box[2], box[1]),
                           Move(map, box[2], box[3])};
  Box moved = {corners[0].y, corners[0].x, corners[0].y, corners[0].x};
  for (const Place& corner : corners) {
    moved.y0 = std::min(moved.y0, corner.y);
    moved.x0 = std::min(moved.x0, corner.x);
    moved.y1 = std::max(moved.y1, corner.y);
    moved.x1 = std::max(moved.x1, corner.x);
  }
  return moved;
}

Box Cut(const Box& box, double height, double width) {
  return {std::clamp(box.y0, 0.0, height), std::clamp(box.x0, 0.0, width),
          std::clamp(box.y1, 0.0, height), std::clamp(box.x1, 0.0, width)};
}

// The first of the values that is not finite, or `count`.
size_t FirstInfinite(const float* values, size_t count) {
  return std::find_if_not(values, values + count,
                          [](float x) { return std::isfinite(x); }) -
         values;
}

}  // namespace

Status MoveBoxes(const float* boxes, size_t values, const Placement& placement,
                 const BoxRule& rule, KeptBoxes* kept) {
  *kept = KeptBoxes();
  if (values % 4 != 0) {
    return DataLoss("it has " + std::to_string(values) +
                    " numbers of boxes, which must be 4 for each box");
  }
  const size_t bad = FirstInfinite(boxes, values);
  if (bad < values) {
    return DataLoss("box " + std::to_string(bad / 4) +
                    " has a number that is not finite");
  }
  for (size_t i = 0; i < values / 4; ++i) {
    if (kept->numbers.size() >= rule.most) break;
    const float* box = boxes + 4 * i;
    if (box[2] <= box[0] || box[3] <= box[1]) continue;
    const Box moved = MoveBox(placement.map, box);
    const Box cut = Cut(moved, placement.height, placement.width);
    const double area = moved.Area();
    if (!(area > 0) || cut.Area() / area < rule.min_visible) continue;
    const float rounded[] = {
        static_cast<float>(cut.y0), static_cast<float>(cut.x0),
        static_cast<float>(cut.y1), static_cast<float>(cut.x1)};
    if (rounded[2] - rounded[0] < kThinnest) continue;
    if (rounded[3] - rounded[1] < kThinnest) continue;
    kept->numbers.push_back(i);
    kept->boxes.insert(kept->boxes.end(), rounded, rounded + 4);
  }
  return OkStatus();
}

Status MoveKeypoints(const float* points, size_t count,
                     const Placement& placement,
                     const std::vector<size_t>& flip, float* out) {
  const size_t bad = FirstInfinite(points, 3 * count);
  if (bad < 3 * count) {
    return DataLoss("keypoint " + std::to_string(bad / 3) +
                    " has a number that is not finite");
  }
  for (size_t i = 0; i < count; ++i, out += 3) {
    const float* point = points + 3 * (flip.empty() ? i : flip[i]);
    const Place moved = Move(placement.map, point[0], point[1]);
    // As they come out: what rounds to the lower edge lies outside as well.
    const auto y = static_cast<float>(moved.y);
    const auto x = static_cast<float>(moved.x);
    const bool inside = y >= 0 && y < static_cast<float>(placement.height) &&
                        x >= 0 && x < static_cast<float>(placement.width);
    const bool seen = point[2] != 0 && inside;
    out[0] = seen ? y : 0;
    out[1] = seen ? x : 0;
    out[2] = seen ? point[2] : 0;
  }
  return OkStatus();
}

}  // namespace liquid
