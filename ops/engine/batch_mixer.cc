#include "ops/engine/batch_mixer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace liquid {

// Makes rows of images as float32, before they are rounded.
class BatchMixer::Row {
 public:
  explicit Row(const BatchMixer& mixer)
      : mixer_(mixer),
        width_(static_cast<size_t>(mixer.config_.width)),
        values_(width_ * mixer.config_.finish.channels),
        erased_(values_.size()),
        scratch_(mixer.floats_.ScratchBytes(width_)) {}

  const float* Make(const uint8_t* image, const Erasure& erasure, size_t y) {
    const Finisher& floats = mixer_.floats_;
    const auto height = static_cast<size_t>(mixer_.config_.height);
    floats.FloatRow(image + y * width_ * floats.PixelBytes(), height, width_, y,
                    scratch_.data(), values_.data());
    const Window& window = erasure.window;
    if (y >= window.y && y - window.y < window.height && window.width > 0) {
      FillErased(mixer_.config_.erasing, erasure,
                 static_cast<uint32_t>(y - window.y), floats.spec().channels,
                 erased_.data());
      // A row is an image by itself.
      floats.Put(erased_.data(), 1, width_, 0, window.x, window.width,
                 values_.data());
    }
    return values_.data();
  }

 private:
  const BatchMixer& mixer_;
  const size_t width_;
  std::vector<float> values_;
  std::vector<float> erased_;
  std::vector<uint8_t> scratch_;
};

Status BatchMixer::Create(MixerConfig config, BatchMixer* mixer) {
  mixer->config_ = std::move(config);
  if (!mixer->mixes()) return OkStatus();
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
  if (mixes()) {
    std::vector<int64_t> shape = {static_cast<int64_t>(batch->slots.size())};
    if (config_.views > 1) shape.push_back(static_cast<int64_t>(config_.views));
    shape.insert(shape.end(), config_.shape.begin(), config_.shape.end());
    LIQUID_RETURN_IF_ERROR(
        allocator->Allocate(config_.dtype, std::move(shape), &batch->mixed));
    DrawBlends(config_.step, config_.seed, batch->epoch, batch->first_draw,
               config_.views, static_cast<uint32_t>(config_.height),
               static_cast<uint32_t>(config_.width), &blends);
    for (uint32_t i = 0; i < blends.size(); ++i) {
      if (blends[i].partner >= i) items->push_back(i);
    }
  }
  batch->blends = std::move(blends);
  return OkStatus();
}

void BatchMixer::Mix(uint32_t item, PendingBatch* batch) const {
  const uint32_t partner = batch->blends[item].partner;
  const Array& pixels = batch->pixels[config_.pixel];
  const size_t views = config_.views;
  const auto image = [views](const Array& array, size_t i) {
    return array.data() + i * (array.row_bytes() / views);
  };
  const auto erasure = [views, batch](size_t i) -> const Erasure& {
    return batch->slots[i / views].PlanOf(i % views).erasure;
  };
  Row one(*this), other(*this);
  for (size_t y = 0; y < static_cast<size_t>(config_.height); ++y) {
    const float* const own = one.Make(image(pixels, item), erasure(item), y);
    if (partner == item) {
      Write(batch->blends[item], own, own, y, image(batch->mixed, item));
      continue;
    }
    const float* const theirs =
        other.Make(image(pixels, partner), erasure(partner), y);
    Write(batch->blends[item], own, theirs, y, image(batch->mixed, item));
    Write(batch->blends[partner], theirs, own, y, image(batch->mixed, partner));
  }
}

void BatchMixer::End(PendingBatch* batch) const {
  Array& pixels = batch->pixels[config_.pixel];
  batch->pixel_bytes -= static_cast<int64_t>(pixels.bytes());
  pixels = Array();
}

void BatchMixer::Write(const Blend& blend, const float* own, const float* other,
                       size_t y, uint8_t* image) const {
  const FinishSpec& spec = finisher_.spec();
  const auto height = static_cast<size_t>(config_.height);
  const auto width = static_cast<size_t>(config_.width);
  const size_t bytes = BytesOf(spec.type);
  // What lies together, and how many values a column has in it.
  const size_t runs = spec.channels_first ? spec.channels : 1;
  const size_t column = spec.channels_first ? 1 : spec.channels;
  const size_t n = width * column;
  const Window& window = blend.window;
  const bool cut = blend.cut && y >= window.y && y - window.y < window.height;
  for (size_t run = 0; run < runs; ++run, own += n, other += n) {
    uint8_t* const out = image + (run * height + y) * n * bytes;
    if (blend.mixed()) {
      finisher_.Mix(own, other, blend.share, blend.rest, n, out);
    } else if (cut) {
      const size_t begin = window.x * column;
      const size_t end = begin + window.width * column;
      finisher_.Round(own, begin, out);
      finisher_.Round(other + begin, end - begin, out + begin * bytes);
      finisher_.Round(own + end, n - end, out + end * bytes);
    } else {
      finisher_.Round(own, n, out);
    }
  }
}

}  // namespace liquid
