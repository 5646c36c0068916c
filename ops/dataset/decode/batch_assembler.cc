#include "ops/dataset/decode/batch_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/dataset/decode/pool_allocator.h"
#include "ops/kernel/tf_status.h"

namespace liquid {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

size_t RowBytes(const Tensor& pixels) {
  return pixels.dim_size(0) == 0 ? 0 : pixels.TotalBytes() / pixels.dim_size(0);
}

void CopyRow(const Tensor& source, size_t from, Tensor* target, size_t to) {
  const size_t bytes = RowBytes(source);
  std::memcpy(static_cast<uint8_t*>(target->data()) + to * bytes,
              static_cast<const uint8_t*>(source.data()) + from * bytes, bytes);
}

absl::Status Concatenate(const PendingBatch& batch, int pixel, Tensor* all) {
  int64_t rows = 0;
  for (const Slot& slot : batch.slots) rows += slot.ragged[pixel].dim_size(0);
  const Tensor& first = batch.slots.front().ragged[pixel];
  TF_RETURN_IF_ERROR(ToTf(
      PoolTensor(first.dtype(), TensorShape({rows, first.dim_size(1)}), all)));
  auto* out = static_cast<uint8_t*>(all->data());
  for (const Slot& slot : batch.slots) {
    const Tensor& part = slot.ragged[pixel];
    std::memcpy(out, part.data(), part.TotalBytes());
    out += part.TotalBytes();
  }
  return absl::OkStatus();
}

absl::Status BuildLabels(const OutputFeature& feature,
                         const PendingBatch& batch, Tensor* labels) {
  const auto n = static_cast<int64_t>(batch.slots.size());
  const bool vector = feature.dtype == tensorflow::DT_FLOAT;
  const size_t size = vector ? static_cast<size_t>(feature.label_size) : 1;
  *labels = vector ? Tensor(feature.dtype, {n, feature.label_size})
                   : Tensor(feature.dtype, {n});
  int64_t* classes = vector ? nullptr : labels->vec<int64_t>().data();
  float* values = vector ? labels->matrix<float>().data() : nullptr;
  for (int64_t i = 0; i < n; ++i) {
    const Record& record = batch.slots[i].record();
    if (record.content.labels.size() != size) {
      return absl::DataLossError(absl::StrCat(
          record.Where(), ": the record has ", record.content.labels.size(),
          " labels, the dataset's features say ", size));
    }
    if (vector) {
      values = std::copy_n(record.content.labels.data(), size, values);
    } else {
      classes[i] = static_cast<int64_t>(record.content.labels[0]);
    }
  }
  return absl::OkStatus();
}

int64_t Boxes(const Slot& slot) { return slot.boxes.front().dim_size(0); }

template <typename T>
absl::Status FillBoxes(const OutputFeature& feature, const PendingBatch& batch,
                       T padding, Tensor* out) {
  T* to = out->flat<T>().data();
  for (const Slot& slot : batch.slots) {
    const Tensor& values = slot.boxes[feature.box_column];
    const T* from = values.flat<T>().data();
    to = std::copy_n(from, values.NumElements(), to);
    if (feature.box_pad == 0) continue;
    to = std::fill_n(to, (feature.box_pad - Boxes(slot)) * values.dim_size(1),
                     padding);
  }
  return absl::OkStatus();
}

absl::Status BuildBoxes(const OutputFeature& feature, const PendingBatch& batch,
                        Tensor* out) {
  std::vector<int64_t> sides;
  if (feature.box_pad > 0) {
    sides = {static_cast<int64_t>(batch.slots.size()), feature.box_pad};
  } else {
    sides = {0};
    for (const Slot& slot : batch.slots) sides[0] += Boxes(slot);
  }
  sides.insert(sides.end(), feature.box_shape.begin(), feature.box_shape.end());
  TensorShape shape;
  TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(sides, &shape));
  if (feature.dtype == tensorflow::DT_STRING) {
    *out = Tensor(feature.dtype, shape);
    return FillBoxes<tstring>(feature, batch, tstring(), out);
  }
  TF_RETURN_IF_ERROR(ToTf(PoolTensor(feature.dtype, shape, out)));
  if (feature.dtype == tensorflow::DT_FLOAT) {
    return FillBoxes<float>(feature, batch, 0, out);
  }
  // No class has a negative number.
  return FillBoxes<int64_t>(feature, batch,
                            feature.name == "box_labels" ? -1 : 0, out);
}

// With the rows of another number of slots.
absl::Status MakeLike(const Tensor& pixels, size_t slots, Tensor* made) {
  TensorShape shape = pixels.shape();
  shape.set_dim(0, static_cast<int64_t>(slots));
  return ToTf(PoolTensor(pixels.dtype(), shape, made));
}

Fallback MakeFallback(const Slot& slot) {
  const Record& record = slot.record();
  const Replaced& replaced = *record.replaced;
  return {slot.item->format, record.row.sample,
          FormatName(static_cast<Format>(record.row.format)), replaced.reason,
          record.row.pixels_hash != replaced.pixels_hash};
}

tstring Copy(ByteSpan bytes) {
  return tstring(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

Tensor Empty(const OutputFeature& feature, int64_t n) {
  if (feature.name == "window") return Tensor(feature.dtype, {n, 4});
  if (feature.name == "size") return Tensor(feature.dtype, {n, 2});
  if (feature.name == "affine") return Tensor(feature.dtype, {n, 2, 3});
  return Tensor(feature.dtype, {n});
}

// The names were checked when the dataset was made.
void SetValue(const OutputFeature& feature, Slot* of, int64_t i, Tensor* out) {
  const Slot& slot = *of;
  const Record& record = slot.record();
  const std::string& name = feature.name;
  if (name == "id") {
    out->vec<int64_t>()(i) = static_cast<int64_t>(record.row.sample);
  } else if (name == "orientation") {
    out->vec<int64_t>()(i) = record.row.orientation;
  } else if (name == "format") {
    out->vec<tstring>()(i) = FormatName(static_cast<Format>(record.row.format));
  } else if (name == "bytes") {
    out->vec<tstring>()(i) = std::move(of->bytes);
  } else if (name == "example") {
    out->vec<tstring>()(i) = Copy(record.content.example);
  } else if (name == "mirrored") {
    out->vec<bool>()(i) = slot.plan.mirrored;
  } else if (name == "num_boxes") {
    out->vec<int32_t>()(i) = static_cast<int32_t>(Boxes(slot));
  } else if (name == "size") {
    out->matrix<int32_t>()(i, 0) = static_cast<int32_t>(slot.plan.part.height);
    out->matrix<int32_t>()(i, 1) = static_cast<int32_t>(slot.plan.part.width);
  } else if (name == "window") {
    const Window& w = slot.plan.window;
    const uint32_t values[] = {w.y, w.x, w.height, w.width};
    for (int k = 0; k < 4; ++k) {
      out->matrix<int32_t>()(i, k) = static_cast<int32_t>(values[k]);
    }
  } else {  // affine
    const Affine map = slot.plan.Map(record.row.height, record.row.width);
    const double values[] = {map.yy, map.yx, map.y0, map.xy, map.xx, map.x0};
    std::copy_n(values, 6, out->tensor<double, 3>().data() + 6 * i);
  }
}

}  // namespace

bool IsBad(const Slot& slot) { return !slot.status.ok(); }

void FillGap(PendingBatch* batch, size_t to, PendingBatch* donor, size_t from) {
  for (size_t f = 0; f < batch->pixels.size(); ++f) {
    CopyRow(donor->pixels[f], from, &batch->pixels[f], to);
  }
  Slot& source = donor->slots[from];
  batch->slots[to] = source;
  batch->blocks.insert(batch->blocks.end(), donor->blocks.begin(),
                       donor->blocks.end());
  source.taken = true;
}

absl::Status CopySample(const PendingBatch& batch, size_t slot,
                        std::unique_ptr<PendingBatch>* sample) {
  auto copy = std::make_unique<PendingBatch>();
  for (const Tensor& pixels : batch.pixels) {
    copy->pixels.emplace_back();
    TF_RETURN_IF_ERROR(MakeLike(pixels, 1, &copy->pixels.back()));
    CopyRow(pixels, slot, &copy->pixels.back(), 0);
  }
  copy->slots.push_back(batch.slots[slot]);
  copy->blocks = batch.blocks;
  *sample = std::move(copy);
  return absl::OkStatus();
}

absl::Status DropGaps(PendingBatch* batch) {
  std::vector<size_t> good;
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    if (!IsBad(batch->slots[i]) && !batch->slots[i].taken) good.push_back(i);
  }
  if (good.size() == batch->slots.size()) return absl::OkStatus();
  for (Tensor& pixels : batch->pixels) {
    Tensor packed;
    TF_RETURN_IF_ERROR(MakeLike(pixels, good.size(), &packed));
    for (size_t i = 0; i < good.size(); ++i) {
      CopyRow(pixels, good[i], &packed, i);
    }
    pixels = std::move(packed);
  }
  std::vector<Slot> slots;
  for (const size_t i : good) slots.push_back(std::move(batch->slots[i]));
  batch->slots = std::move(slots);
  return absl::OkStatus();
}

absl::Status FillUp(PendingBatch* batch, size_t size) {
  const size_t samples = batch->slots.size();
  if (samples == 0 || samples >= size) return absl::OkStatus();
  for (Tensor& pixels : batch->pixels) {
    Tensor filled;
    TF_RETURN_IF_ERROR(MakeLike(pixels, size, &filled));
    for (size_t i = 0; i < size; ++i) {
      CopyRow(pixels, i % samples, &filled, i);
    }
    pixels = std::move(filled);
  }
  batch->slots.reserve(size);
  for (size_t i = samples; i < size; ++i) {
    batch->slots.push_back(batch->slots[i % samples]);
  }
  return absl::OkStatus();
}

absl::Status BuildOutputs(const std::vector<OutputFeature>& features,
                          PendingBatch* batch, bool ragged,
                          std::vector<Tensor>* outputs) {
  const auto n = static_cast<int64_t>(batch->slots.size());
  for (const OutputFeature& feature : features) {
    if (feature.pixel >= 0) {
      if (!ragged) {
        outputs->push_back(batch->pixels[feature.pixel]);
        continue;
      }
      Tensor all;
      TF_RETURN_IF_ERROR(Concatenate(*batch, feature.pixel, &all));
      outputs->push_back(std::move(all));
      continue;
    }
    if (feature.box_column >= 0) {
      Tensor boxes;
      TF_RETURN_IF_ERROR(BuildBoxes(feature, *batch, &boxes));
      outputs->push_back(std::move(boxes));
      continue;
    }
    if (feature.name == "label") {
      Tensor labels;
      TF_RETURN_IF_ERROR(BuildLabels(feature, *batch, &labels));
      outputs->push_back(std::move(labels));
      continue;
    }
    Tensor out = Empty(feature, n);
    for (int64_t i = 0; i < n; ++i)
      SetValue(feature, &batch->slots[i], i, &out);
    outputs->push_back(std::move(out));
  }
  return absl::OkStatus();
}

BatchReport MakeReport(const PendingBatch& batch) {
  size_t formats = batch.turns.size();
  for (const Slot& slot : batch.slots) {
    formats = std::max<size_t>(formats, slot.item->format + 1);
  }
  BatchReport report;
  report.epoch = batch.epoch;
  report.first_draw = batch.first_draw;
  report.full = batch.full;
  report.cost = batch.cost;
  report.samples.resize(formats);
  report.hits.resize(formats);
  report.loads.resize(formats);
  report.memory_hits.resize(formats);
  report.bytes.resize(formats);
  report.decodes.resize(formats);
  report.decode_seconds.resize(formats);
  for (const Slot& slot : batch.slots) {
    const RecordBlock::Item& item = *slot.item;
    ++report.samples[item.format];
    if (item.whole) ++(item.load ? report.loads : report.hits)[item.format];
    report.memory_hits[item.format] += item.memory_hit;
    report.bytes[item.format] += slot.record().bytes();
    if (slot.decoded) {
      ++report.decodes[item.format];
      report.decode_seconds[item.format] += slot.decode_seconds;
    }
    report.disk_bytes += item.disk_bytes;
    if (slot.substitute != nullptr) {
      report.disk_bytes +=
          slot.substitute->disk_bytes - item.record->disk_bytes;
    }
    if (slot.record().replaced != nullptr) {
      report.fallbacks.push_back(MakeFallback(slot));
    }
  }
  for (size_t f = 0; f < batch.turns.size(); ++f) {
    report.hits[f] += batch.turns[f].kept;
    report.loads[f] += batch.turns[f].drawn - batch.turns[f].kept;
  }
  return report;
}

}  // namespace liquid
