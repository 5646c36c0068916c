#include "ops/dataset/batch_decoder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tensorflow/core/example/example.pb.h"

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

}  // namespace

void BatchDecoder::Start(const RecordBlock& block,
                         tensorflow::Allocator* allocator, const Runner& runner,
                         int parallelism, std::shared_ptr<PendingBatch> batch,
                         std::function<void()> done) const {
  const size_t n = block.items.size();
  batch->epoch = block.epoch;
  batch->first_draw = block.first_draw;
  batch->last = block.last;
  batch->run = block.run;
  batch->slots.resize(n);
  for (size_t i = 0; i < n; ++i) {
    batch->slots[i].item = block.items[i];
    batch->slots[i].draw = block.first_draw + i;
  }
  if (!config_.ragged) {
    for (const PixelFeature& feature : config_.pixels) {
      batch->pixels.emplace_back(
          allocator, feature.dtype,
          tensorflow::TensorShape({static_cast<int64_t>(n), feature.height,
                                   feature.width, feature.channels}));
    }
  }
  const auto tasks = static_cast<int64_t>(
      std::max<size_t>(1, std::min<size_t>(n, parallelism)));
  batch->tasks = tasks;
  auto next = std::make_shared<std::atomic<size_t>>(0);
  const auto work = [this, batch, next, done = std::move(done), n]() {
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = (*next)++; i < n; i = (*next)++) {
      DecodeSlot(i, batch.get());
    }
    batch->decode_nanos += std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::steady_clock::now() - start)
                               .count();
    if (--batch->tasks == 0) done();
  };
  for (int64_t t = 0; t < tasks; ++t) runner(work);
}

void BatchDecoder::DecodeSlot(size_t index, PendingBatch* batch) const {
  Slot& slot = batch->slots[index];
  const Record& record = *slot.item.record;
  slot.status = record.status;
  if (!slot.status.ok()) return;
  Status status =
      PlaceWindow(config_.crop, batch->epoch, slot.draw, record.row.height,
                  record.row.width, &slot.window);
  slot.ragged.resize(config_.ragged ? config_.pixels.size() : 0);
  for (size_t f = 0; f < config_.pixels.size() && status.ok(); ++f) {
    status = DecodePixels(f, index, batch);
  }
  if (!status.ok()) {
    slot.status =
        Status(status.code(), record.Where() + ": " + status.message());
  }
}

Status BatchDecoder::DecodePixels(size_t feature_index, size_t index,
                                  PendingBatch* batch) const {
  const PixelFeature& feature = config_.pixels[feature_index];
  Slot& slot = batch->slots[index];
  const Record& record = *slot.item.record;
  ImageInfo info;
  info.height = record.row.height;
  info.width = record.row.width;
  info.channels = record.row.channels;
  info.bits = record.row.bits;
  Format format = static_cast<Format>(record.row.format);
  ByteSpan bytes = record.content.image;
  tensorflow::Example example;
  if (!feature.example_key.empty()) {
    const ByteSpan serialized = record.content.example;
    if (!example.ParseFromArray(serialized.data,
                                static_cast<int>(serialized.size))) {
      return DataLoss("the record's Example cannot be parsed");
    }
    LIQUID_RETURN_IF_ERROR(FindBytes(example, feature.example_key, &bytes));
    format = Format::kPng;
    info.channels = static_cast<uint8_t>(feature.channels);
    info.bits = feature.bits();
  }
  if (info.channels != feature.channels || info.bits != feature.bits()) {
    return DataLoss("the index says " + Describe(info) +
                    ", which is not the dataset's " +
                    std::to_string(feature.channels) + " channels at " +
                    std::to_string(feature.bits()) + " bits");
  }
  const size_t row_bytes = slot.window.width * info.BytesPerPixel();
  uint8_t* out;
  if (config_.ragged) {
    slot.ragged[feature_index] =
        Tensor(feature.dtype,
               {static_cast<int64_t>(slot.window.height) * slot.window.width,
                feature.channels});
    out = static_cast<uint8_t*>(slot.ragged[feature_index].data());
  } else {
    if (slot.window.height != feature.height ||
        slot.window.width != feature.width) {
      return DataLoss("the image has " + std::to_string(slot.window.height) +
                      "x" + std::to_string(slot.window.width) +
                      " pixels, the dataset's features say " +
                      std::to_string(feature.height) + "x" +
                      std::to_string(feature.width));
    }
    out = static_cast<uint8_t*>(batch->pixels[feature_index].data()) +
          index * row_bytes * slot.window.height;
  }
  return Decode(format, bytes, config_.limits, info, slot.window, out,
                row_bytes);
}

}  // namespace liquid
