#include "ops/engine/batch_decoder.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "ops/engine/example.h"
#include "ops/engine/pixel_record.h"
#include "ops/image/draws.h"
#include "ops/image/shared_image.h"
#include "ops/reader/replicas.h"

namespace liquid {
namespace {

// Finds the single bytes value of a feature in a serialized Example.
Status FindBytes(ByteSpan serialized, const std::string& key, ByteSpan* bytes) {
  ExampleReader example;
  ExampleFeature feature;
  LIQUID_RETURN_IF_ERROR(example.Open(serialized));
  LIQUID_RETURN_IF_ERROR(example.Find(key, &feature));
  if (feature.bytes.size() != 1) {
    return DataLoss("the record's Example has no bytes feature \"" + key +
                    "\"");
  }
  *bytes = feature.bytes[0];
  return OkStatus();
}

std::string Describe(const ImageInfo& info) {
  return std::to_string(info.height) + "x" + std::to_string(info.width) + "x" +
         std::to_string(info.channels) + " at " + std::to_string(info.bits) +
         " bits";
}

// An error with the place of its record.
Status At(const Record& record, const Status& status) {
  return Status(status.code(), record.Where() + ": " + status.message());
}

void Fail(const Status& status, Slot* slot) {
  slot->status = At(*slot->item->record, status);
}

// Only their proportions matter, and only to the order in which slots are
// decoded.
uint64_t CostPerByte(uint8_t format) {
  const FormatRow* row = FindFormat(static_cast<Format>(format));
  return row == nullptr ? 1 : row->cost;
}

// What is decoded of a record.
ByteSpan Stored(const Record& record) {
  return record.pixels.empty() ? record.content.image
                               : record.pixels.front().second;
}

// How many slots ahead, and how much of an image, is fetched before its turn.
constexpr size_t kPrefetched = 4;
constexpr size_t kPrefetchedBytes = 1024;

void Prefetch(const void* begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) {
    __builtin_prefetch(static_cast<const char*>(begin) + at);
  }
}

// A thread's memory that is kept from one image to the next: that of a rare
// huge one is not.
constexpr size_t kKeptScratch = 64 << 20;

// What a slot costs beside its bytes.
constexpr uint64_t kSlotCost = 512;

}  // namespace

class BatchDecoder::Source : public StoredImage {
 public:
  explicit Source(const DecodeLimits& limits) : limits_(limits) {}

  // Error: DataLoss where the record has no such image, or another kind of it.
  Status Find(const PixelFeature& feature, const Record& record);

  const ImageInfo& info() const override { return info_; }
  uint32_t Draft(uint32_t most) const override {
    return HasDrafts(format_) ? most : 1;
  }
  Status Decode(uint32_t draft, const Window& window, uint8_t* out,
                size_t row_stride) override {
    if (draft == 1) {
      return DecodeIndexed(format_, bytes_, index_, limits_, info_, window, out,
                           row_stride);
    }
    return DecodeDraft(format_, bytes_, index_, limits_, info_, draft, window,
                       out, row_stride);
  }

 private:
  const DecodeLimits& limits_;
  Format format_ = Format::kRaw;
  ByteSpan bytes_;
  ByteSpan index_;  // of bytes_, a JPEG; may be empty
  ImageInfo info_;
};

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
    // Records lie anywhere in memory.
    if (i + kPrefetched < n) {
      Prefetch(block->items[i + kPrefetched].record.get(), sizeof(Record));
    }
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
    if (config_.bytes) {
      (*costs)[i] += row.length;
      batch->pixel_bytes += static_cast<int64_t>(row.length);
    }
    if (record.replicas == nullptr) slot.status = record.status;
    if (!slot.status.ok()) continue;
    const Status planned = Plan(batch->epoch, &slot);
    if (!planned.ok()) Fail(planned, &slot);
    if (!planned.ok() || !config_.ragged) continue;
    for (const PixelFeature& feature : config_.pixels) {
      batch->pixel_bytes +=
          static_cast<int64_t>(feature.maker->finisher().ImageBytes(
              slot.plan.part.height, slot.plan.part.width));
    }
  }
  if (!config_.ragged) {
    for (size_t f = 0; f < config_.pixels.size(); ++f) {
      const PixelFeature& feature = config_.pixels[f];
      if (config_.stacked && f > 0) break;
      std::vector<int64_t> sides = {static_cast<int64_t>(n)};
      if (config_.stacked) {
        sides.push_back(static_cast<int64_t>(config_.pixels.size()));
      }
      sides.insert(sides.end(), feature.shape.begin(), feature.shape.end());
      batch->pixels.emplace_back();
      LIQUID_RETURN_IF_ERROR(allocator_->Allocate(
          feature.dtype, std::move(sides), &batch->pixels.back()));
      batch->pixel_bytes += static_cast<int64_t>(batch->pixels.back().bytes());
    }
  }
  batch->blocks.push_back(std::move(block));
  return OkStatus();
}

Status BatchDecoder::Plan(int64_t epoch, Slot* slot) const {
  const IndexRow& row = slot->item->record->row;
  slot->more_views.resize(config_.more_views.size());
  for (size_t view = 0; view <= config_.more_views.size(); ++view) {
    const Recipe& recipe =
        view == 0 ? config_.recipe : config_.more_views[view - 1];
    SamplePlan* const plan =
        view == 0 ? &slot->plan : &slot->more_views[view - 1];
    LIQUID_RETURN_IF_ERROR(PlanSample(
        recipe, epoch, DrawOfView(slot->draw, view), row.height, row.width,
        row.orientation, config_.limits.max_pixels, plan));
    if (config_.pixels.empty()) continue;
    LIQUID_RETURN_IF_ERROR(CheckWindow(plan->window));
  }
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
  std::unique_ptr<MakerScratch> scratch = TakeScratch();
  for (size_t i = 0; i < count; ++i) {
    // Small images would each wait for memory; large ones soon bring their own.
    if (i + kPrefetched < count) {
      const ByteSpan next =
          Stored(*batch->slots[slots[i + kPrefetched]].item->record);
      Prefetch(next.data, std::min(next.size, kPrefetchedBytes));
    }
    const uint64_t by_library = LibraryDecodes();
    DecodeSlot(slots[i], batch, scratch.get());
    batch->slots[slots[i]].by_library = LibraryDecodes() != by_library;
    const auto ended = std::chrono::steady_clock::now();
    batch->slots[slots[i]].decode_seconds =
        std::chrono::duration<double>(ended - begun).count();
    begun = ended;
  }
  GiveBack(std::move(scratch));
  const int64_t nanos =
      std::chrono::duration_cast<std::chrono::nanoseconds>(begun - start)
          .count();
  batch->decode_nanos += nanos;
  return nanos;
}

std::unique_ptr<MakerScratch> BatchDecoder::TakeScratch() const {
  std::lock_guard<std::mutex> lock(mu_);
  if (scratch_.empty()) return std::make_unique<MakerScratch>();
  std::unique_ptr<MakerScratch> scratch = std::move(scratch_.back());
  scratch_.pop_back();
  return scratch;
}

void BatchDecoder::GiveBack(std::unique_ptr<MakerScratch> scratch) const {
  if (scratch->bytes() > kKeptScratch) return;
  std::lock_guard<std::mutex> lock(mu_);
  scratch_.push_back(std::move(scratch));
}

void BatchDecoder::DecodeSlot(size_t index, PendingBatch* batch,
                              MakerScratch* scratch) const {
  Slot& slot = batch->slots[index];
  if (!slot.status.ok()) return;
  const RecordPtr& planned = slot.item->record;
  slot.status = DecodeRecord(index, planned, batch, scratch);
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
    status = DecodeRecord(index, record, batch, scratch);
  }
  slot.status = status;
  if (!status.ok()) return;
  planned->set_substitute(record);
  slot.substitute = std::move(record);
}

Status BatchDecoder::DecodeRecord(size_t index, RecordPtr record,
                                  PendingBatch* batch,
                                  MakerScratch* scratch) const {
  LIQUID_RETURN_IF_ERROR(record->status);
  Slot& slot = batch->slots[index];
  if (!config_.boxes.columns.empty()) {
    const Status status = DecodeBoxes(*record, &slot);
    if (!status.ok()) return At(*record, status);
  }
  // Here, since one thread that copied a batch would hold up all.
  if (config_.bytes) {
    std::unique_ptr<Blob> kept;
    LIQUID_RETURN_IF_ERROR(allocator_->Keep(record->content.image, &kept));
    slot.bytes = std::move(kept);
  }
  if (config_.pixels.empty()) return OkStatus();
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
  if (!config_.more_views.empty()) {
    const Status status = DecodeViews(index, *record, batch, scratch);
    return status.ok() ? status : At(*record, status);
  }
  for (size_t f = 0; f < config_.pixels.size(); ++f) {
    const Status status = DecodePixels(f, index, *record, batch, scratch);
    if (!status.ok()) return At(*record, status);
  }
  return OkStatus();
}

Status BatchDecoder::DecodeBoxes(const Record& record, Slot* slot) const {
  const SamplePlan& plan = slot->plan;
  const Placement placement = {plan.Map(record.row.height, record.row.width),
                               plan.part.height, plan.part.width};
  return FindBoxes(config_.boxes, record.content.example, placement,
                   plan.mirrored, &slot->boxes);
}

Status BatchDecoder::Place(size_t feature_index, size_t index,
                           PendingBatch* batch, uint8_t** out) const {
  const PixelFeature& feature = config_.pixels[feature_index];
  Slot& slot = batch->slots[index];
  const Window& part = slot.PlanOf(feature.view).part;
  const size_t bytes =
      feature.maker->finisher().ImageBytes(part.height, part.width);
  if (config_.ragged) {
    Array& pixels = slot.ragged[feature_index];
    LIQUID_RETURN_IF_ERROR(allocator_->Allocate(
        feature.dtype, {int64_t{part.height} * part.width, feature.shape[0]},
        &pixels));
    *out = pixels.data();
  } else {
    if (part.height != feature.height || part.width != feature.width) {
      return DataLoss(
          "the image has " + std::to_string(part.height) + "x" +
          std::to_string(part.width) + " pixels, the dataset's features say " +
          std::to_string(feature.height) + "x" + std::to_string(feature.width));
    }
    const Array& pixels = batch->pixels[config_.stacked ? 0 : feature_index];
    const size_t place =
        config_.stacked ? index * config_.pixels.size() + feature.view : index;
    *out = pixels.data() + place * bytes;
  }
  return OkStatus();
}

Status BatchDecoder::DecodePixels(size_t feature_index, size_t index,
                                  const Record& record, PendingBatch* batch,
                                  MakerScratch* scratch) const {
  const PixelFeature& feature = config_.pixels[feature_index];
  uint8_t* out;
  LIQUID_RETURN_IF_ERROR(Place(feature_index, index, batch, &out));
  Source source(config_.limits);
  LIQUID_RETURN_IF_ERROR(source.Find(feature, record));
  return feature.maker->Make(batch->slots[index].plan, &source, scratch, out);
}

Status BatchDecoder::DecodeViews(size_t index, const Record& record,
                                 PendingBatch* batch,
                                 MakerScratch* scratch) const {
  const Slot& slot = batch->slots[index];
  Source source(config_.limits);
  LIQUID_RETURN_IF_ERROR(source.Find(config_.pixels.front(), record));
  std::vector<SharedImage::View> views;
  for (const PixelFeature& feature : config_.pixels) {
    views.push_back({feature.maker.get(), &slot.PlanOf(feature.view)});
  }
  SharedImage image(&source);
  LIQUID_RETURN_IF_ERROR(image.Load(views, config_.limits.max_pixels, scratch));
  for (size_t f = 0; f < views.size(); ++f) {
    uint8_t* out;
    LIQUID_RETURN_IF_ERROR(Place(f, index, batch, &out));
    LIQUID_RETURN_IF_ERROR(
        views[f].maker->Make(*views[f].plan, &image, scratch, out));
  }
  return OkStatus();
}

Status BatchDecoder::DecodeWhole(const Record& record, RecordPtr* whole) const {
  std::vector<NamedImage> images;
  std::vector<std::unique_ptr<Source>> sources;
  for (const PixelFeature& feature : config_.pixels) {
    const bool kept = std::any_of(images.begin(), images.end(),
                                  [&feature](const NamedImage& image) {
                                    return image.name == feature.example_key;
                                  });
    if (kept) continue;  // of another view
    sources.push_back(std::make_unique<Source>(config_.limits));
    LIQUID_RETURN_IF_ERROR(sources.back()->Find(feature, record));
    images.push_back({feature.example_key, sources.back()->info()});
  }
  std::shared_ptr<Record> made;
  std::vector<uint8_t*> pixels;
  LIQUID_RETURN_IF_ERROR(MakePixelRecord(record, images, &made, &pixels));
  for (size_t f = 0; f < sources.size(); ++f) {
    const ImageInfo& info = sources[f]->info();
    LIQUID_RETURN_IF_ERROR(sources[f]->Decode(
        1, Window{0, 0, info.height, info.width}, pixels[f], info.RowBytes()));
  }
  *whole = std::move(made);
  return OkStatus();
}

Status BatchDecoder::Source::Find(const PixelFeature& feature,
                                  const Record& record) {
  const FinishSpec& spec = feature.spec();
  info_ = record.row.image();
  format_ = static_cast<Format>(record.row.format);
  bytes_ = record.content.image;
  const auto kept = std::find_if(
      record.pixels.begin(), record.pixels.end(),
      [&feature](const auto& p) { return p.first == feature.example_key; });
  if (!feature.example_key.empty()) {
    info_.channels = static_cast<uint8_t>(spec.channels);
    info_.bits = feature.bits();
  }
  if (kept != record.pixels.end()) {
    format_ = Format::kRaw;
    bytes_ = kept->second;
  } else if (feature.example_key.empty()) {
    index_ = record.content.index;
  } else {
    LIQUID_RETURN_IF_ERROR(
        FindBytes(record.content.example, feature.example_key, &bytes_));
    LIQUID_RETURN_IF_ERROR(SniffFormat(bytes_, &format_));
  }
  if (info_.channels != spec.channels || info_.bits != feature.bits()) {
    return DataLoss("the index says " + Describe(info_) +
                    ", which is not the dataset's " +
                    std::to_string(spec.channels) + " channels at " +
                    std::to_string(feature.bits()) + " bits");
  }
  return OkStatus();
}

}  // namespace liquid
