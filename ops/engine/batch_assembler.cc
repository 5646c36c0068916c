#include "ops/engine/batch_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace liquid {
namespace {

void CopyRow(const Array& source, size_t from, Array* target, size_t to) {
  const size_t bytes = source.row_bytes();
  std::memcpy(target->data() + to * bytes, source.data() + from * bytes, bytes);
}

// Another array of the same rows, so many of them.
Status MakeLike(const Array& pixels, size_t rows, BatchAllocator* allocator,
                Array* made) {
  std::vector<int64_t> shape = pixels.shape();
  shape[0] = static_cast<int64_t>(rows);
  return allocator->Allocate(pixels.dtype(), std::move(shape), made);
}

// The numbers of an output of the shape.
Status MakeNumbers(const OutputFeature& feature, std::vector<int64_t> shape,
                   BatchAllocator* allocator, Output* output) {
  output->dtype = feature.dtype;
  output->shape = shape;
  return allocator->Allocate(feature.dtype, std::move(shape), &output->numbers);
}

Status Concatenate(const OutputFeature& feature, const PendingBatch& batch,
                   BatchAllocator* allocator, Output* output) {
  const auto pixel = static_cast<size_t>(feature.pixel);
  int64_t rows = 0;
  for (const Slot& slot : batch.slots) rows += slot.ragged[pixel].rows();
  const Array& first = batch.slots.front().ragged[pixel];
  LIQUID_RETURN_IF_ERROR(
      MakeNumbers(feature, {rows, first.shape()[1]}, allocator, output));
  uint8_t* out = output->numbers.data();
  for (const Slot& slot : batch.slots) {
    const Array& part = slot.ragged[pixel];
    std::memcpy(out, part.data(), part.bytes());
    out += part.bytes();
  }
  return OkStatus();
}

// The class of a slot's record, of so many.
Status FindClass(const Slot& slot, size_t classes, size_t* found) {
  const Record& record = slot.record();
  const auto& labels = record.content.labels;
  const float label = labels.size() == 1 ? labels[0] : -1;
  // Written so that NaN is an error.
  if (!(label >= 0 && label < static_cast<float>(classes))) {
    return DataLoss(record.Where() + ": the record has no class from 0 to " +
                    std::to_string(classes - 1) +
                    ", the dataset's features say it has");
  }
  *found = static_cast<size_t>(label);
  return OkStatus();
}

// The numbers of an output that has some of each mixed sample.
Status MakeMixedNumbers(const OutputFeature& feature, const PendingBatch& batch,
                        std::vector<int64_t> sides, BatchAllocator* allocator,
                        Output* output) {
  if (feature.views > 0) sides.insert(sides.begin(), feature.views);
  sides.insert(sides.begin(), static_cast<int64_t>(batch.slots.size()));
  return MakeNumbers(feature, std::move(sides), allocator, output);
}

Status BuildMixedLabels(const OutputFeature& feature, const PendingBatch& batch,
                        BatchAllocator* allocator, Output* output) {
  const size_t classes = feature.smoothed.classes;
  const size_t n = batch.slots.size();
  LIQUID_RETURN_IF_ERROR(MakeMixedNumbers(feature, batch, {feature.label_size},
                                          allocator, output));
  std::vector<size_t> own(n);
  for (size_t i = 0; i < n; ++i) {
    LIQUID_RETURN_IF_ERROR(FindClass(batch.slots[i], classes, &own[i]));
  }
  const size_t views = batch.blends.size() / n;
  float* out = output->numbers.as<float>();
  for (size_t i = 0; i < batch.blends.size(); ++i, out += classes) {
    const Blend& blend = batch.blends[i];
    MixLabel(feature.smoothed, blend, own[i / views],
             own[blend.partner / views], out);
  }
  return OkStatus();
}

// "partner" or "lam".
Status BuildBlends(const OutputFeature& feature, const PendingBatch& batch,
                   BatchAllocator* allocator, Output* output) {
  LIQUID_RETURN_IF_ERROR(
      MakeMixedNumbers(feature, batch, {}, allocator, output));
  const Array& out = output->numbers;
  for (size_t i = 0; i < batch.blends.size(); ++i) {
    const Blend& blend = batch.blends[i];
    if (feature.name == "lam") {
      out.as<float>()[i] = blend.share;
    } else {
      out.as<int32_t>()[i] = static_cast<int32_t>(blend.partner);
    }
  }
  return OkStatus();
}

Status BuildLabels(const OutputFeature& feature, const PendingBatch& batch,
                   BatchAllocator* allocator, Output* output) {
  if (feature.smoothed.classes > 0) {
    return BuildMixedLabels(feature, batch, allocator, output);
  }
  const auto n = static_cast<int64_t>(batch.slots.size());
  const bool vector = feature.dtype == DType::kFloat32;
  const size_t size = vector ? static_cast<size_t>(feature.label_size) : 1;
  std::vector<int64_t> shape = {n};
  if (vector) shape.push_back(feature.label_size);
  LIQUID_RETURN_IF_ERROR(
      MakeNumbers(feature, std::move(shape), allocator, output));
  int64_t* classes = output->numbers.as<int64_t>();
  float* values = output->numbers.as<float>();
  for (const Slot& slot : batch.slots) {
    const Record& record = slot.record();
    const auto& labels = record.content.labels;
    if (labels.size() != size) {
      return DataLoss(
          record.Where() + ": the record has " + std::to_string(labels.size()) +
          " labels, the dataset's features say " + std::to_string(size));
    }
    if (vector) {
      values = std::copy_n(labels.data(), size, values);
    } else {
      *classes++ = static_cast<int64_t>(labels[0]);
    }
  }
  return OkStatus();
}

// Copies the values of each sample, and fills each to `padded` of them.
template <typename T>
void FillBoxes(const OutputFeature& feature, const PendingBatch& batch,
               std::vector<T> BoxValues::*values, size_t padded, T padding,
               T* to) {
  for (const Slot& slot : batch.slots) {
    const std::vector<T>& own =
        slot.boxes.columns[static_cast<size_t>(feature.box_column)].*values;
    to = std::copy(own.begin(), own.end(), to);
    if (padded > own.size()) to = std::fill_n(to, padded - own.size(), padding);
  }
}

Status BuildBoxes(const OutputFeature& feature, const PendingBatch& batch,
                  BatchAllocator* allocator, Output* output) {
  size_t size = 1;
  for (const int64_t side : feature.box_shape) {
    size *= static_cast<size_t>(side);
  }
  const size_t padded = static_cast<size_t>(feature.box_pad) * size;
  std::vector<int64_t> shape;
  if (feature.box_pad > 0) {
    shape = {static_cast<int64_t>(batch.slots.size()), feature.box_pad};
  } else {
    shape = {0};
    for (const Slot& slot : batch.slots) {
      shape[0] += static_cast<int64_t>(slot.boxes.count);
    }
  }
  shape.insert(shape.end(), feature.box_shape.begin(), feature.box_shape.end());
  if (feature.dtype == DType::kString) {
    output->dtype = feature.dtype;
    output->shape = std::move(shape);
    for (const Slot& slot : batch.slots) {
      const auto& texts =
          slot.boxes.columns[static_cast<size_t>(feature.box_column)].texts;
      for (const std::string& text : texts) {
        output->texts.push_back({ByteSpan(text.data(), text.size()), nullptr});
      }
      if (padded > texts.size()) {
        output->texts.resize(output->texts.size() + padded - texts.size());
      }
    }
    return OkStatus();
  }
  LIQUID_RETURN_IF_ERROR(
      MakeNumbers(feature, std::move(shape), allocator, output));
  if (feature.dtype == DType::kFloat32) {
    FillBoxes<float>(feature, batch, &BoxValues::floats, padded, 0,
                     output->numbers.as<float>());
  } else {
    // No class has a negative number.
    FillBoxes<int64_t>(feature, batch, &BoxValues::int64s, padded,
                       feature.name == "box_labels" ? -1 : 0,
                       output->numbers.as<int64_t>());
  }
  return OkStatus();
}

Fallback MakeFallback(const Slot& slot) {
  const Record& record = slot.record();
  const Replaced& replaced = *record.replaced;
  return {slot.item->format, record.row.sample,
          FormatName(static_cast<Format>(record.row.format)), replaced.reason,
          record.row.pixels_hash != replaced.pixels_hash};
}

// The text of a sample. The names were checked when the features were made.
Output::Text TextOf(const std::string& name, Slot* slot) {
  const Record& record = slot->record();
  if (name == "bytes") {
    const ByteSpan bytes = slot->bytes->bytes();
    return {bytes, std::move(slot->bytes)};
  }
  if (name == "example") return {record.content.example, nullptr};
  const char* format = FormatName(static_cast<Format>(record.row.format));
  return {ByteSpan(format, std::strlen(format)), nullptr};
}

// The dimensions of one sample's numbers.
std::vector<int64_t> SidesOf(const std::string& name) {
  if (name == "window") return {4};
  if (name == "size") return {2};
  if (name == "affine") return {2, 3};
  return {};
}

// Writes the numbers of a sample, of which there are SidesOf many.
void WriteNumbers(const std::string& name, const PendingBatch& batch, size_t i,
                  const Array& out) {
  const Slot& slot = batch.slots[i];
  const Record& record = slot.record();
  if (name == "id") {
    out.as<int64_t>()[i] = static_cast<int64_t>(record.row.sample);
  } else if (name == "orientation") {
    out.as<int64_t>()[i] = record.row.orientation;
  } else if (name == "mirrored") {
    out.as<bool>()[i] = slot.plan.mirrored;
  } else if (name == "source") {
    out.as<int32_t>()[i] = static_cast<int32_t>(slot.item->format);
  } else if (name == "num_boxes") {
    out.as<int32_t>()[i] = static_cast<int32_t>(slot.boxes.count);
  } else if (name == "size") {
    out.as<int32_t>()[2 * i] = static_cast<int32_t>(slot.plan.part.height);
    out.as<int32_t>()[2 * i + 1] = static_cast<int32_t>(slot.plan.part.width);
  } else if (name == "window") {
    const Window& w = slot.plan.window;
    const uint32_t values[] = {w.y, w.x, w.height, w.width};
    std::transform(values, values + 4, out.as<int32_t>() + 4 * i,
                   [](uint32_t value) { return static_cast<int32_t>(value); });
  } else {  // affine
    const Affine map = slot.plan.Map(record.row.height, record.row.width);
    const double values[] = {map.yy, map.yx, map.y0, map.xy, map.xx, map.x0};
    std::copy_n(values, 6, out.as<double>() + 6 * i);
  }
}

Status BuildOutput(const OutputFeature& feature, bool ragged,
                   BatchAllocator* allocator, PendingBatch* batch,
                   Output* output) {
  if (feature.pixel >= 0 && !ragged) {
    output->numbers = feature.mixed
                          ? batch->mixed
                          : batch->pixels[static_cast<size_t>(feature.pixel)];
    output->dtype = feature.dtype;
    output->shape = output->numbers.shape();
    return OkStatus();
  }
  if (feature.pixel >= 0) {
    return Concatenate(feature, *batch, allocator, output);
  }
  if (feature.box_column >= 0) {
    return BuildBoxes(feature, *batch, allocator, output);
  }
  if (feature.name == "label") {
    return BuildLabels(feature, *batch, allocator, output);
  }
  if (feature.name == "partner" || feature.name == "lam") {
    return BuildBlends(feature, *batch, allocator, output);
  }
  if (feature.dtype == DType::kRecords) {
    output->dtype = feature.dtype;
    output->records.reserve(batch->slots.size());
    for (const Slot& slot : batch->slots) {
      output->records.push_back(slot.shared_record());
      for (size_t v = 0; v <= slot.more_views.size(); ++v) {
        output->plans.push_back(slot.PlanOf(v));
      }
      output->formats.push_back(slot.item->format);
      output->moves.push_back(slot.substitute == nullptr ? slot.item->move
                                                         : nullptr);
    }
    const auto changes = [](const Blend& blend) {
      return blend.cut || blend.mixed();
    };
    if (std::any_of(batch->blends.begin(), batch->blends.end(), changes)) {
      output->blends = batch->blends;
    }
    if (batch->run != nullptr)
      output->count_decode = batch->run->LaterDecodes();
    return OkStatus();
  }
  std::vector<int64_t> shape = SidesOf(feature.name);
  shape.insert(shape.begin(), static_cast<int64_t>(batch->slots.size()));
  if (feature.dtype == DType::kString) {
    output->dtype = feature.dtype;
    output->shape = std::move(shape);
    for (Slot& slot : batch->slots) {
      output->texts.push_back(TextOf(feature.name, &slot));
    }
    return OkStatus();
  }
  LIQUID_RETURN_IF_ERROR(
      MakeNumbers(feature, std::move(shape), allocator, output));
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    WriteNumbers(feature.name, *batch, i, output->numbers);
  }
  return OkStatus();
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

Status CopySample(const PendingBatch& batch, size_t slot,
                  BatchAllocator* allocator,
                  std::unique_ptr<PendingBatch>* sample) {
  auto copy = std::make_unique<PendingBatch>();
  for (const Array& pixels : batch.pixels) {
    copy->pixels.emplace_back();
    LIQUID_RETURN_IF_ERROR(
        MakeLike(pixels, 1, allocator, &copy->pixels.back()));
    CopyRow(pixels, slot, &copy->pixels.back(), 0);
  }
  copy->slots.push_back(batch.slots[slot]);
  copy->blocks = batch.blocks;
  *sample = std::move(copy);
  return OkStatus();
}

Status DropGaps(BatchAllocator* allocator, PendingBatch* batch) {
  std::vector<size_t> good;
  for (size_t i = 0; i < batch->slots.size(); ++i) {
    if (!IsBad(batch->slots[i]) && !batch->slots[i].taken) good.push_back(i);
  }
  if (good.size() == batch->slots.size()) return OkStatus();
  for (Array& pixels : batch->pixels) {
    Array packed;
    LIQUID_RETURN_IF_ERROR(MakeLike(pixels, good.size(), allocator, &packed));
    for (size_t i = 0; i < good.size(); ++i) {
      CopyRow(pixels, good[i], &packed, i);
    }
    pixels = std::move(packed);
  }
  std::vector<Slot> slots;
  for (const size_t i : good) slots.push_back(std::move(batch->slots[i]));
  batch->slots = std::move(slots);
  return OkStatus();
}

Status FillUp(BatchAllocator* allocator, PendingBatch* batch, size_t size) {
  const size_t samples = batch->slots.size();
  if (samples == 0 || samples >= size) return OkStatus();
  for (Array& pixels : batch->pixels) {
    Array filled;
    LIQUID_RETURN_IF_ERROR(MakeLike(pixels, size, allocator, &filled));
    for (size_t i = 0; i < size; ++i) {
      CopyRow(pixels, i % samples, &filled, i);
    }
    pixels = std::move(filled);
  }
  batch->slots.reserve(size);
  for (size_t i = samples; i < size; ++i) {
    batch->slots.push_back(batch->slots[i % samples]);
  }
  return OkStatus();
}

Status BuildOutputs(const std::vector<OutputFeature>& features, bool ragged,
                    BatchAllocator* allocator, PendingBatch* batch,
                    std::vector<Output>* outputs) {
  for (const OutputFeature& feature : features) {
    outputs->emplace_back();
    LIQUID_RETURN_IF_ERROR(
        BuildOutput(feature, ragged, allocator, batch, &outputs->back()));
  }
  return OkStatus();
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
  report.gpu_hits.resize(formats);
  report.bytes.resize(formats);
  report.decodes.resize(formats);
  report.libjpeg_decodes.resize(formats);
  report.decode_seconds.resize(formats);
  for (const Slot& slot : batch.slots) {
    const RecordBlock::Item& item = *slot.item;
    ++report.samples[item.format];
    if (item.whole) ++(item.load ? report.loads : report.hits)[item.format];
    report.memory_hits[item.format] += item.memory_hit;
    report.gpu_hits[item.format] += slot.record().on_device != nullptr;
    report.bytes[item.format] += slot.record().bytes();
    if (slot.decoded) {
      ++report.decodes[item.format];
      report.libjpeg_decodes[item.format] += slot.by_library;
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
