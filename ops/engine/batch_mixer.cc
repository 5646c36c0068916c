#include "ops/engine/batch_mixer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace liquid {
namespace {

// A sample's image, of an array whose rows hold that of each view.
uint8_t* ImageOf(const Array& images, size_t sample, size_t views) {
  return images.data() + sample * (images.row_bytes() / views);
}

}  // namespace

// Gives the rows of an image, as they are stored and, where that is asked for,
// as float32 before they are rounded.
class BatchMixer::Rows {
 public:
  Rows(const BatchMixer& mixer, const PendingBatch& batch, size_t sample)
      : mixer_(mixer),
        width_(static_cast<size_t>(mixer.config_.width)),
        row_bytes_(width_ * mixer.finisher_.PixelBytes()),
        image_(ImageOf(batch.pixels[mixer.config_.pixel], sample,
                       mixer.config_.views)),
        erasure_(batch.slots[sample / mixer.config_.views]
                     .PlanOf(sample % mixer.config_.views)
                     .erasure),
        scratch_(mixer.finisher_.ScratchBytes(width_)) {}

  bool Erased(size_t y) const {
    const Window& window = erasure_.window;
    return y >= window.y && y - window.y < window.height && window.width > 0;
  }

  const uint8_t* Stored(size_t y) const { return image_ + y * row_bytes_; }

  // Row `y` with columns of another image, until the next call.
  const uint8_t* Pasted(const Rows& other, const Window& window, size_t y) {
    const size_t pixel = mixer_.finisher_.PixelBytes();
    pasted_.assign(Stored(y), Stored(y) + row_bytes_);
    std::memcpy(pasted_.data() + window.x * pixel,
                other.Stored(y) + window.x * pixel, window.width * pixel);
    return pasted_.data();
  }

  // Row `y` in float32, until the next call with another one.
  const float* Floats(size_t y) {
    if (made_ == y + 1) return values_.data();
    made_ = y + 1;
    const Finisher& floats = mixer_.floats_;
    values_.resize(width_ * floats.spec().channels);
    floats.FloatRow(Stored(y), static_cast<size_t>(mixer_.config_.height),
                    width_, y, scratch_.data(), values_.data());
    if (!Erased(y)) return values_.data();
    const Window& window = erasure_.window;
    erased_.resize(values_.size());
    FillErased(mixer_.config_.erasing, erasure_,
               static_cast<uint32_t>(y - window.y), floats.spec().channels,
               erased_.data());
    // A row is an image by itself.
    floats.Put(erased_.data(), 1, width_, 0, window.x, window.width,
               values_.data());
    return values_.data();
  }

  uint8_t* scratch() { return scratch_.data(); }

 private:
  const BatchMixer& mixer_;
  const size_t width_;
  const size_t row_bytes_;
  const uint8_t* const image_;
  const Erasure& erasure_;
  std::vector<uint8_t> scratch_;
  std::vector<uint8_t> pasted_;
  std::vector<float> values_;
  std::vector<float> erased_;
  size_t made_ = 0;  // 1 + the row that `values_` is of
};

Status BatchMixer::Create(MixerConfig config, BatchMixer* mixer) {
  mixer->config_ = std::move(config);
  if (!mixer->mixes_here()) return OkStatus();
  FinishSpec spec = mixer->config_.finish;
  LIQUID_RETURN_IF_ERROR(Finisher::Create(spec, &mixer->finisher_));
  spec.type = PixelType::kFloat32;
  LIQUID_RETURN_IF_ERROR(Finisher::Create(spec, &mixer->floats_));
  return mixer->floats_.CheckSize(static_cast<size_t>(mixer->config_.height),
                                  static_cast<size_t>(mixer->config_.width));
}

// Within each dataset, the first with the last.
std::vector<Blend> BatchMixer::Pairs(const PendingBatch& batch) const {
  const std::vector<uint32_t>& members = config_.step.members;
  std::map<uint32_t, std::vector<uint32_t>> places;
  const size_t samples = batch.slots.size() * config_.views;
  for (size_t i = 0; i < samples; ++i) {
    const uint32_t format = batch.slots[i / config_.views].item->format;
    const uint32_t member = format < members.size() ? members[format] : 0;
    places[member].push_back(static_cast<uint32_t>(i));
  }
  std::vector<Blend> blends(samples);
  for (const auto& [member, own] : places) {
    for (size_t i = 0; i < own.size(); ++i) {
      blends[own[i]].partner = mixes() ? own[own.size() - 1 - i] : own[i];
    }
  }
  return blends;
}

Status BatchMixer::Begin(BatchAllocator* allocator, PendingBatch* batch,
                         std::vector<uint32_t>* items) const {
  items->clear();
  std::vector<Blend> blends = Pairs(*batch);
  auto height = static_cast<uint32_t>(config_.height);
  auto width = static_cast<uint32_t>(config_.width);
  if (mixes_here()) {
    std::vector<int64_t> shape = {static_cast<int64_t>(batch->slots.size())};
    if (config_.views > 1) shape.push_back(static_cast<int64_t>(config_.views));
    shape.insert(shape.end(), config_.shape.begin(), config_.shape.end());
    LIQUID_RETURN_IF_ERROR(
        allocator->Allocate(config_.dtype, std::move(shape), &batch->mixed));
    for (uint32_t i = 0; i < blends.size(); ++i) {
      if (blends[i].partner >= i) items->push_back(i);
    }
  } else if (!batch->slots.empty()) {
    const Window& part = batch->slots.front().plan.part;
    height = part.height;
    width = part.width;
  }
  DrawBlends(config_.step, config_.seed, batch->epoch, batch->first_draw,
             config_.views, height, width, &blends);
  batch->blends = std::move(blends);
  return OkStatus();
}

void BatchMixer::Mix(uint32_t item, PendingBatch* batch) const {
  const uint32_t partner = batch->blends[item].partner;
  const size_t views = config_.views;
  const bool pair = partner != item;
  Rows own(*this, *batch, item), theirs(*this, *batch, partner);
  for (size_t y = 0; y < static_cast<size_t>(config_.height); ++y) {
    Write(batch->blends[item], y, &own, pair ? &theirs : &own,
          ImageOf(batch->mixed, item, views));
    if (!pair) continue;
    Write(batch->blends[partner], y, &theirs, &own,
          ImageOf(batch->mixed, partner, views));
  }
}

void BatchMixer::End(PendingBatch* batch) const {
  Array& pixels = batch->pixels[config_.pixel];
  batch->pixel_bytes -= static_cast<int64_t>(pixels.bytes());
  pixels = Array();
}

void BatchMixer::Write(const Blend& blend, size_t y, Rows* own, Rows* other,
                       uint8_t* image) const {
  const FinishSpec& spec = finisher_.spec();
  const auto height = static_cast<size_t>(config_.height);
  const auto width = static_cast<size_t>(config_.width);
  const Window& window = blend.window;
  const bool cut = blend.cut && y >= window.y && y - window.y < window.height;
  // Pixels that stay as they are, are cut while they are small.
  if (!blend.mixed() && !own->Erased(y) && !(cut && other->Erased(y))) {
    const uint8_t* const row =
        cut ? own->Pasted(*other, window, y) : own->Stored(y);
    return finisher_.Row(row, height, width, y, /*mirrored=*/false,
                         own->scratch(), image);
  }
  const float* a = own->Floats(y);
  const float* b = blend.mixed() || cut ? other->Floats(y) : a;
  const size_t bytes = BytesOf(spec.type);
  // What lies together, and how many values a column has in it.
  const size_t runs = spec.channels_first ? spec.channels : 1;
  const size_t column = spec.channels_first ? 1 : spec.channels;
  const size_t n = width * column;
  for (size_t run = 0; run < runs; ++run, a += n, b += n) {
    uint8_t* const out = image + (run * height + y) * n * bytes;
    if (blend.mixed()) {
      finisher_.Mix(a, b, blend.share, blend.rest, n, out);
    } else if (cut) {
      const size_t begin = window.x * column;
      const size_t end = begin + window.width * column;
      finisher_.Round(a, begin, out);
      finisher_.Round(b + begin, end - begin, out + begin * bytes);
      finisher_.Round(a + end, n - end, out + end * bytes);
    } else {
      finisher_.Round(a, n, out);
    }
  }
}

}  // namespace liquid
