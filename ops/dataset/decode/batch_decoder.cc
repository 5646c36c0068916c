#include "ops/dataset/decode/batch_decoder.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "ops/dataset/decode/pool_allocator.h"
#include "ops/dataset/decode/resize.h"
#include "ops/dataset/source/pixel_record.h"
#include "ops/reader/replicas.h"

namespace liquid {
namespace {

using ::tensorflow::Tensor;

// Finds the single bytes value of a feature in a serialized Example; the
// example must outlive the result.
Status FindBytes(const tensorflow::Example& example, const std::string& key,
                 ByteSpan* bytes) {
  const auto& features = example.features().feature();
  const auto found = features.find(key);
  if (found == features.end() || found->second.bytes_list().value_size() != 1) {
    return DataLoss("the record's Example has no bytes feature \"" + key +
                    "\"");
  }
  const std::string& value = found->second.bytes_list().value(0);
  *bytes = ByteSpan(value.data(), value.size());
  return OkStatus();
}

std::string Describe(const ImageInfo& info) {
  return std::to_string(info.height) + "x" + std::to_string(info.width) + "x" +
         std::to_string(info.channels) + " at " + std::to_string(info.bits) +
         " bits";
}

void Fail(const Status& status, Slot* slot) {
  slot->status = Status(status.code(),
                        slot->item->record->Where() + ": " + status.message());
}

// How many bytes can be copied while a byte of a format is decoded, about. Only
// their proportions matter, and only to the order in which slots are decoded.
uint64_t CostPerByte(uint8_t format) {
  switch (static_cast<Format>(format)) {
    case Format::kRaw:
    case Format::kBmp:
      return 1;
    case Format::kL3:
      return 4;
    case Format::kPng:
      return 40;
    case Format::kJpeg:
    case Format::kWebp:
    case Format::kPcr:
      return 100;
  }
  return 1;
}

// What is decoded of a record.
ByteSpan Stored(const Record& record) {
  return record.pixels.empty() ? record.content.image
                               : record.pixels.front().second;
}

// How many slots ahead, and how much of an image, is fetched before its turn.
constexpr size_t kPrefetched = 4;
constexpr size_t kPrefetchedBytes = 1024;

// Calls f with a zero of the type that holds values of `bits`.
template <typename F>
void WithType(uint8_t bits, const F& f) {
  bits == 16 ? f(uint16_t{0}) : f(uint8_t{0});
}

// What a slot costs beside its bytes.
constexpr uint64_t kSlotCost = 512;

}  // namespace

Status BatchDecoder::Prepare(std::shared_ptr<const RecordBlock> block,
                             PendingBatch* batch,
                             std::vector<uint64_t>* costs) const {
  const size_t n = block->items.size();
  batch->epoch = block->epoch;
  batch->first_draw = block->first_draw;
  batch->last = block->last;
  batch->part = block->part;
  batch->run = block->run;
  batch->cost = block->cost;
  batch->turns = block->turns;
  batch->read_seconds = block->read_seconds;
  batch->disk_seconds = block->disk_seconds;
  batch->slots.resize(n);
  costs->resize(n);
  for (size_t i = 0; i < n; ++i) {
    Slot& slot = batch->slots[i];
    slot.item = &block->items[i];
    slot.draw = block->first_draw + i;
    const Record& record = *slot.item->record;
    const IndexRow& row = record.row;
    (*costs)[i] = kSlotCost;
    if (!config_.pixels.empty()) {
      (*costs)[i] += record.pixels.empty()
                         ? row.length * CostPerByte(row.format)
                         : record.pixels.front().second.size;
    }
    if (record.replicas == nullptr) slot.status = record.status;
    if (!slot.status.ok()) continue;
    const Status placed = PlaceWindow(config_.crop, batch->epoch, slot.draw,
                                      row.height, row.width, &slot.window);
    const Status fits = !placed.ok() || config_.pixels.empty()
                            ? placed
                            : CheckWindow(slot.window);
    if (!fits.ok()) Fail(fits, &slot);
    slot.mirrored = Mirrored(config_.crop, batch->epoch, slot.draw);
    if (!fits.ok() || !config_.ragged) continue;
    for (const PixelFeature& feature : config_.pixels) {
      batch->pixel_bytes += int64_t{slot.window.height} * slot.window.width *
                            feature.channels * (feature.bits() / 8);
    }
  }
  if (!config_.ragged) {
    for (const PixelFeature& feature : config_.pixels) {
      tensorflow::TensorShape shape;
      const absl::Status made = tensorflow::TensorShape::BuildTensorShape(
          {static_cast<int64_t>(n), feature.height, feature.width,
           feature.channels},
          &shape);
      if (!made.ok()) {
        return InvalidArgument("a batch of " + std::to_string(n) +
                               " images: " + std::string(made.message()));
      }
      batch->pixels.emplace_back();
      LIQUID_RETURN_IF_ERROR(
          PoolTensor(feature.dtype, shape, &batch->pixels.back()));
      batch->pixel_bytes += shape.num_elements() * (feature.bits() / 8);
    }
  }
  batch->blocks.push_back(std::move(block));
  return OkStatus();
}

// It lies in the image, whose size is what the index says.
Status BatchDecoder::CheckWindow(const Window& window) const {
  const uint64_t most = config_.limits.max_pixels;
  if (window.height > 0 && window.width > 0 &&
      window.height <= most / window.width) {
    return OkStatus();
  }
  return DataLoss(
      "the index says " + std::to_string(window.height) + "x" +
      std::to_string(window.width) +
      " pixels, which must be 1 to the limit of " + std::to_string(most) +
      ": raise it with limits=Limits(pixels=N) if the index is right");
}

int64_t BatchDecoder::Decode(const uint32_t* slots, size_t count,
                             PendingBatch* batch) const {
  const auto start = std::chrono::steady_clock::now();
  auto begun = start;
  for (size_t i = 0; i < count; ++i) {
    // Small images would each wait for memory; large ones soon bring their own.
    if (i + kPrefetched < count) {
      const ByteSpan next =
          Stored(*batch->slots[slots[i + kPrefetched]].item->record);
      for (size_t at = 0; at < std::min(next.size, kPrefetchedBytes);
           at += 64) {
        __builtin_prefetch(next.data + at);
      }
    }
    DecodeSlot(slots[i], batch);
    const auto ended = std::chrono::steady_clock::now();
    batch->slots[slots[i]].decode_seconds =
        std::chrono::duration<double>(ended - begun).count();
    begun = ended;
  }
  const int64_t nanos =
      std::chrono::duration_cast<std::chrono::nanoseconds>(begun - start)
          .count();
  batch->decode_nanos += nanos;
  return nanos;
}

void BatchDecoder::DecodeSlot(size_t index, PendingBatch* batch) const {
  Slot& slot = batch->slots[index];
  if (!slot.status.ok()) return;
  const RecordPtr& planned = slot.item->record;
  slot.status = DecodeRecord(index, planned, batch);
  if (slot.status.ok() || planned->replicas == nullptr) return;
  // What is damaged is decoded from another encoding of the same sample.
  Status status = slot.status;
  RecordPtr record = planned;
  while (!status.ok() && !LacksMachine(status)) {
    record = planned->replicas->Read(*record, status);
    if (record == nullptr) {
      slot.status = Status(
          slot.status.code(),
          slot.status.message() + "; no other encoding of it can be used");
      return;
    }
    status = DecodeRecord(index, record, batch);
  }
  slot.status = status;
  if (!status.ok()) return;
  planned->set_substitute(record);
  slot.substitute = std::move(record);
}

Status BatchDecoder::DecodeRecord(size_t index, RecordPtr record,
                                  PendingBatch* batch) const {
  LIQUID_RETURN_IF_ERROR(record->status);
  if (config_.pixels.empty()) return OkStatus();
  Slot& slot = batch->slots[index];
  slot.ragged.resize(config_.ragged ? config_.pixels.size() : 0);
  slot.decoded = record->pixels.empty();
  if (slot.item->promise != nullptr && slot.decoded) {
    RecordPtr whole;
    // A record that is not kept is decoded as any other: its window may be
    // good.
    if (DecodeWhole(*record, &whole).ok()) {
      slot.item->promise->Fulfil(whole);
      record = std::move(whole);
    }
  }
  for (size_t f = 0; f < config_.pixels.size(); ++f) {
    const Status status = DecodePixels(f, index, *record, batch);
    if (status.ok()) continue;
    return Status(status.code(), record->Where() + ": " + status.message());
  }
  return OkStatus();
}

Status BatchDecoder::DecodePixels(size_t feature_index, size_t index,
                                  const Record& record,
                                  PendingBatch* batch) const {
  const PixelFeature& feature = config_.pixels[feature_index];
  Slot& slot = batch->slots[index];
  const PixelShape window = {slot.window.height, slot.window.width,
                             static_cast<size_t>(feature.channels)};
  PixelShape shape = window;
  uint8_t* out;
  if (config_.ragged) {
    Tensor& pixels = slot.ragged[feature_index];
    LIQUID_RETURN_IF_ERROR(
        PoolTensor(feature.dtype,
                   tensorflow::TensorShape(
                       {static_cast<int64_t>(shape.height * shape.width),
                        feature.channels}),
                   &pixels));
    out = static_cast<uint8_t*>(pixels.data());
  } else {
    shape.height = static_cast<size_t>(feature.height);
    shape.width = static_cast<size_t>(feature.width);
    if (!config_.resize && !(window == shape)) {
      return DataLoss("the image has " + std::to_string(window.height) + "x" +
                      std::to_string(window.width) +
                      " pixels, the dataset's features say " +
                      std::to_string(shape.height) + "x" +
                      std::to_string(shape.width));
    }
    out = static_cast<uint8_t*>(batch->pixels[feature_index].data()) +
          index * shape.height * shape.width * shape.channels *
              (feature.bits() / 8);
  }
  // A mask's values are no quantities: it takes over the nearest ones.
  const bool mixed = feature.example_key.empty();
  if (window == shape) {
    LIQUID_RETURN_IF_ERROR(DecodeWindow(feature, record, slot.window, out));
  } else {
    const size_t bytes =
        window.height * window.width * window.channels * (feature.bits() / 8);
    const std::unique_ptr<uint8_t[]> pixels(new (std::nothrow) uint8_t[bytes]);
    if (pixels == nullptr) {
      return Unavailable("no memory for the " + std::to_string(bytes) +
                         " bytes of a window that is to be resized");
    }
    LIQUID_RETURN_IF_ERROR(
        DecodeWindow(feature, record, slot.window, pixels.get()));
    WithType(feature.bits(), [&](auto zero) {
      using T = decltype(zero);
      (mixed ? ResizeBilinear<T>
             : ResizeNearest<T>)(reinterpret_cast<const T*>(pixels.get()),
                                 window, reinterpret_cast<T*>(out), shape);
    });
  }
  if (slot.mirrored) {
    WithType(feature.bits(), [&](auto zero) {
      Mirror(reinterpret_cast<decltype(zero)*>(out), shape);
    });
  }
  return OkStatus();
}

Status BatchDecoder::DecodeWindow(const PixelFeature& feature,
                                  const Record& record, const Window& window,
                                  uint8_t* out) const {
  Source source;
  LIQUID_RETURN_IF_ERROR(Find(feature, record, &source));
  return ::liquid::Decode(source.format, source.bytes, config_.limits,
                          source.info, window, out,
                          window.width * source.info.BytesPerPixel());
}

Status BatchDecoder::DecodeWhole(const Record& record, RecordPtr* whole) const {
  std::vector<NamedImage> images;
  std::vector<Source> sources(config_.pixels.size());
  for (size_t f = 0; f < sources.size(); ++f) {
    LIQUID_RETURN_IF_ERROR(Find(config_.pixels[f], record, &sources[f]));
    images.push_back({config_.pixels[f].example_key, sources[f].info});
  }
  std::shared_ptr<Record> made;
  std::vector<uint8_t*> pixels;
  LIQUID_RETURN_IF_ERROR(MakePixelRecord(record, images, &made, &pixels));
  for (size_t f = 0; f < sources.size(); ++f) {
    const ImageInfo& info = sources[f].info;
    LIQUID_RETURN_IF_ERROR(::liquid::Decode(
        sources[f].format, sources[f].bytes, config_.limits, info,
        Window{0, 0, info.height, info.width}, pixels[f], info.RowBytes()));
  }
  *whole = std::move(made);
  return OkStatus();
}

Status BatchDecoder::Find(const PixelFeature& feature, const Record& record,
                          Source* source) {
  ImageInfo& info = source->info;
  info.height = record.row.height;
  info.width = record.row.width;
  info.channels = record.row.channels;
  info.bits = record.row.bits;
  source->format = static_cast<Format>(record.row.format);
  source->bytes = record.content.image;
  const auto kept = std::find_if(
      record.pixels.begin(), record.pixels.end(),
      [&feature](const auto& p) { return p.first == feature.example_key; });
  if (!feature.example_key.empty()) {
    info.channels = static_cast<uint8_t>(feature.channels);
    info.bits = feature.bits();
  }
  if (kept != record.pixels.end()) {
    source->format = Format::kRaw;
    source->bytes = kept->second;
  } else if (!feature.example_key.empty()) {
    const ByteSpan serialized = record.content.example;
    if (!source->example.ParseFromArray(serialized.data,
                                        static_cast<int>(serialized.size))) {
      return DataLoss("the record's Example cannot be parsed");
    }
    LIQUID_RETURN_IF_ERROR(
        FindBytes(source->example, feature.example_key, &source->bytes));
    source->format = Format::kPng;
  }
  if (info.channels != feature.channels || info.bits != feature.bits()) {
    return DataLoss("the index says " + Describe(info) +
                    ", which is not the dataset's " +
                    std::to_string(feature.channels) + " channels at " +
                    std::to_string(feature.bits()) + " bits");
  }
  return OkStatus();
}

}  // namespace liquid
