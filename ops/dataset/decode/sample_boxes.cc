#include "ops/dataset/decode/sample_boxes.h"

#include <algorithm>

#include "tensorflow/core/example/example.pb.h"
#include "tensorflow/core/example/feature.pb.h"

namespace liquid {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// The values of a feature, in a record that may lack it.
class Values {
 public:
  // Error: DataLoss where they are of another type.
  Status Find(const tensorflow::Example& example, const BoxColumn& column) {
    const auto& features = example.features().feature();
    const auto found = features.find(column.name);
    if (found == features.end()) return OkStatus();
    const tensorflow::Feature& feature = found->second;
    using Kind = tensorflow::Feature::KindCase;
    const Kind wanted = column.dtype == tensorflow::DT_FLOAT ? Kind::kFloatList
                        : column.dtype == tensorflow::DT_INT64
                            ? Kind::kInt64List
                            : Kind::kBytesList;
    if (feature.kind_case() == Kind::KIND_NOT_SET) return OkStatus();
    if (feature.kind_case() != wanted) {
      return DataLoss("the record's Example has another type of \"" +
                      column.name + "\" than the dataset's features, " +
                      tensorflow::DataTypeString(column.dtype));
    }
    feature_ = &feature;
    return OkStatus();
  }

  size_t size() const {
    return static_cast<size_t>(feature_->float_list().value_size() +
                               feature_->int64_list().value_size() +
                               feature_->bytes_list().value_size());
  }
  const float* floats() const { return feature_->float_list().value().data(); }

  // Copies `size` values from the one at `from` on.
  void Copy(size_t from, size_t size, float* out) const {
    std::copy_n(floats() + from, size, out);
  }
  void Copy(size_t from, size_t size, int64_t* out) const {
    std::copy_n(feature_->int64_list().value().data() + from, size, out);
  }
  void Copy(size_t from, size_t size, tensorflow::tstring* out) const {
    for (size_t i = 0; i < size; ++i) {
      out[i] = feature_->bytes_list().value(static_cast<int>(from + i));
    }
  }

 private:
  const tensorflow::Feature* feature_ =
      &tensorflow::Feature::default_instance();
};

template <typename T>
Tensor Select(const BoxColumn& column, const Values& values,
              const std::vector<size_t>& boxes) {
  const size_t size = column.size();
  Tensor selected(column.dtype, {static_cast<int64_t>(boxes.size()),
                                 static_cast<int64_t>(size)});
  T* out = selected.flat<T>().data();
  for (size_t i = 0; i < boxes.size(); ++i, out += size) {
    values.Copy(boxes[i] * size, size, out);
  }
  return selected;
}

Tensor SelectAny(const BoxColumn& column, const Values& values,
                 const std::vector<size_t>& boxes) {
  switch (column.dtype) {
    case tensorflow::DT_FLOAT:
      return Select<float>(column, values, boxes);
    case tensorflow::DT_INT64:
      return Select<int64_t>(column, values, boxes);
    default:
      return Select<tensorflow::tstring>(column, values, boxes);
  }
}

// Of the boxes that stay.
Status MoveAllKeypoints(const Placement& placement,
                        const std::vector<size_t>& flip, Tensor* keypoints) {
  const auto size = static_cast<size_t>(keypoints->dim_size(1));
  std::vector<float> stored(size);
  float* points = keypoints->flat<float>().data();
  for (int64_t i = 0; i < keypoints->dim_size(0); ++i, points += size) {
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
                 std::vector<Tensor>* found) {
  tensorflow::Example parsed;
  if (!parsed.ParseFromArray(example.data, static_cast<int>(example.size))) {
    return DataLoss("the record's Example cannot be parsed");
  }
  Values boxes;
  LIQUID_RETURN_IF_ERROR(boxes.Find(parsed, config.columns[config.boxes]));
  KeptBoxes kept;
  LIQUID_RETURN_IF_ERROR(
      MoveBoxes(boxes.floats(), boxes.size(), placement, config.rule, &kept));
  const size_t stored = boxes.size() / 4;
  found->clear();
  for (size_t c = 0; c < config.columns.size(); ++c) {
    const BoxColumn& column = config.columns[c];
    Values values;
    LIQUID_RETURN_IF_ERROR(values.Find(parsed, column));
    if (values.size() != stored * column.size()) {
      return DataLoss("the record's Example has " +
                      std::to_string(values.size()) + " values of \"" +
                      column.name + "\", which must be " +
                      std::to_string(column.size()) + " for each of its " +
                      std::to_string(stored) + " boxes");
    }
    found->push_back(SelectAny(column, values, kept.numbers));
    Tensor& selected = found->back();
    if (c == config.boxes) {
      std::copy(kept.boxes.begin(), kept.boxes.end(),
                selected.flat<float>().data());
    } else if (static_cast<int>(c) == config.keypoints) {
      LIQUID_RETURN_IF_ERROR(MoveAllKeypoints(
          placement, mirrored ? config.flip : std::vector<size_t>(),
          &selected));
    }
  }
  return OkStatus();
}

}  // namespace liquid
