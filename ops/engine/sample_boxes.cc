#include "ops/engine/sample_boxes.h"

#include <algorithm>
#include <utility>

#include "ops/engine/example.h"

namespace liquid {
namespace {

using Kind = ExampleFeature::Kind;

// A column's feature. Error: DataLoss where its values are of another type.
Status Find(const ExampleReader& example, const BoxColumn& column,
            ExampleFeature* feature) {
  LIQUID_RETURN_IF_ERROR(example.Find(column.name, feature));
  const Kind wanted = column.dtype == DType::kFloat32 ? Kind::kFloats
                      : column.dtype == DType::kInt64 ? Kind::kInt64s
                                                      : Kind::kBytes;
  if (feature->kind == Kind::kNone || feature->kind == wanted) {
    return OkStatus();
  }
  return DataLoss("the record's Example has another type of \"" + column.name +
                  "\" than the dataset's features, " + NameOf(column.dtype));
}

// The values of the chosen boxes, `size` of each.
template <typename T, typename Copy>
void Select(const std::vector<T>& values, size_t size,
            const std::vector<size_t>& boxes, Copy copy) {
  if (values.empty()) return;
  for (const size_t box : boxes) {
    const auto first = values.begin() + static_cast<ptrdiff_t>(box * size);
    std::for_each_n(first, size, copy);
  }
}

// Of the boxes that stay.
Status MoveAllKeypoints(const Placement& placement,
                        const std::vector<size_t>& flip, size_t size,
                        std::vector<float>* keypoints) {
  std::vector<float> stored(size);
  for (size_t at = 0; at < keypoints->size(); at += size) {
    float* const points = keypoints->data() + at;
    stored.assign(points, points + size);
    LIQUID_RETURN_IF_ERROR(
        MoveKeypoints(stored.data(), size / 3, placement, flip, points));
  }
  return OkStatus();
}

}  // namespace

size_t BoxColumn::size() const {
  int64_t size = 1;
  for (const int64_t side : shape) size *= side;
  return static_cast<size_t>(size);
}

Status FindBoxes(const BoxConfig& config, ByteSpan example,
                 const Placement& placement, bool mirrored,
                 SampleBoxes* found) {
  ExampleReader reader;
  LIQUID_RETURN_IF_ERROR(reader.Open(example));
  ExampleFeature boxes;
  LIQUID_RETURN_IF_ERROR(Find(reader, config.columns[config.boxes], &boxes));
  KeptBoxes kept;
  LIQUID_RETURN_IF_ERROR(MoveBoxes(boxes.floats.data(), boxes.size(), placement,
                                   config.rule, &kept));
  const size_t stored = boxes.size() / 4;
  found->count = kept.numbers.size();
  found->columns.clear();
  for (size_t c = 0; c < config.columns.size(); ++c) {
    const BoxColumn& column = config.columns[c];
    const size_t size = column.size();
    ExampleFeature values;
    LIQUID_RETURN_IF_ERROR(Find(reader, column, &values));
    if (values.size() != stored * size) {
      return DataLoss("the record's Example has " +
                      std::to_string(values.size()) + " values of \"" +
                      column.name + "\", which must be " +
                      std::to_string(size) + " for each of its " +
                      std::to_string(stored) + " boxes");
    }
    found->columns.emplace_back();
    BoxValues& selected = found->columns.back();
    if (c == config.boxes) {
      selected.floats = std::move(kept.boxes);
      continue;
    }
    Select(values.floats, size, kept.numbers,
           [&](float value) { selected.floats.push_back(value); });
    Select(values.int64s, size, kept.numbers,
           [&](int64_t value) { selected.int64s.push_back(value); });
    Select(values.bytes, size, kept.numbers, [&](ByteSpan text) {
      selected.texts.emplace_back(reinterpret_cast<const char*>(text.data),
                                  text.size);
    });
    if (static_cast<int>(c) == config.keypoints) {
      LIQUID_RETURN_IF_ERROR(MoveAllKeypoints(
          placement, mirrored ? config.flip : std::vector<size_t>(), size,
          &selected.floats));
    }
  }
  return OkStatus();
}

}  // namespace liquid
