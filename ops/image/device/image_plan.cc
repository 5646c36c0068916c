#include "ops/image/device/image_plan.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ops/image/device/operation_plan.h"
#include "ops/image/orient.h"

namespace liquid {
namespace {

// Appends the numbers of one axis to the tables.
class AxisWriter {
 public:
  explicit AxisWriter(std::vector<uint32_t>* tables) : tables_(tables) {}

  // Of 8 bits: the weights lie in two halves each, pair by pair.
  void WriteFilter(const FilterTaps& taps, bool same, bool exact,
                   ImageDeviceAxis* axis) {
    axis->taps = same ? 1 : taps.taps;
    // Doubles begin at a multiple of two words.
    if (exact) tables_->resize(tables_->size() + tables_->size() % 2);
    axis->table = tables_->size();
    for (uint32_t i = 0; i < axis->count; ++i) {
      tables_->push_back(same ? i : taps.first[i]);
    }
    if (exact) tables_->resize(tables_->size() + tables_->size() % 2);
    for (uint32_t t = 0; t < axis->taps; ++t) {
      for (uint32_t i = 0; i < axis->count; ++i) {
        if (exact) {
          PushDouble(same ? 1 : taps.ExactOf(i)[t]);
        } else if (same) {
          tables_->push_back(1 << kFixedBits);
        } else {
          const int16_t* const low = taps.FixedOf(i) + t / 2 * 4 + t % 2;
          tables_->push_back(
              static_cast<uint32_t>(low[2] * (1 << kFixedLowBits) + low[0]));
        }
      }
    }
  }

  void WriteLerp(const std::vector<LerpTap>& taps, ImageDeviceAxis* axis) {
    axis->table = tables_->size();
    for (const LerpTap& tap : taps) tables_->push_back(tap.lower);
    for (const LerpTap& tap : taps) tables_->push_back(tap.upper);
    for (const LerpTap& tap : taps) {
      uint32_t bits;
      std::memcpy(&bits, &tap.part, sizeof(bits));
      tables_->push_back(bits);
    }
  }

  void WritePick(const std::vector<uint32_t>& taps, ImageDeviceAxis* axis) {
    axis->table = tables_->size();
    tables_->insert(tables_->end(), taps.begin(), taps.end());
  }

 private:
  void PushDouble(double value) {
    uint32_t words[2];
    std::memcpy(words, &value, sizeof(words));
    tables_->insert(tables_->end(), words, words + 2);
  }

  std::vector<uint32_t>* const tables_;
};

// The way through stored pixels, `pitch` of them a row, of whoever goes through
// the upright image: EXIF's orientations, see orient.h.
void Turn(int orientation, const Window& stored, uint32_t pitch,
          ImageDeviceSample* sample) {
  const int64_t row = pitch;
  const int64_t last_row = row * (int64_t{stored.height} - 1);
  const int64_t last_column = int64_t{stored.width} - 1;
  const bool across_rows = orientation >= 5 && orientation <= 8;
  const bool from_bottom = orientation == 3 || orientation == 4 ||
                           orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 ||
                          orientation == 7 || orientation == 8;
  const int64_t rows = from_bottom ? -row : row;
  const int64_t columns = from_right ? -1 : 1;
  sample->first +=
      (from_bottom ? last_row : 0) + (from_right ? last_column : 0);
  sample->down = across_rows ? columns : rows;
  sample->across = across_rows ? rows : columns;
}

// The smallest window that holds both.
Window Bound(const Window& a, const Window& b) {
  Window bound = {std::min(a.y, b.y), std::min(a.x, b.x), 0, 0};
  bound.height = std::max(a.y + a.height, b.y + b.height) - bound.y;
  bound.width = std::max(a.x + a.width, b.x + b.width) - bound.x;
  return bound;
}

// Images that lie in scratch memory at once are as many as go into it, each
// with `beside` bytes beside its pixels.
std::vector<ImageDeviceChunk> MakeChunks(const std::vector<Window>& windows,
                                         uint64_t pixel_bytes,
                                         uint64_t beside) {
  std::vector<ImageDeviceChunk> chunks;
  for (uint32_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    if (!chunks.empty()) {
      ImageDeviceChunk& chunk = chunks.back();
      const uint32_t height = std::max(chunk.height, window.height);
      const uint32_t width = std::max(chunk.width, window.width);
      const uint64_t place = uint64_t{height} * width * pixel_bytes + beside;
      if (place <= kImageScratchBytes / (chunk.count + 1)) {
        chunk.height = height;
        chunk.width = width;
        ++chunk.count;
        continue;
      }
    }
    chunks.push_back({i, 1, window.height, window.width});
  }
  return chunks;
}

uint64_t Aligned(uint64_t size) { return (size + 255) / 256 * 256; }

// Behind the images of a chunk.
void PlaceSums(ImageDeviceBatch* batch) {
  if (std::none_of(batch->samples.begin(), batch->samples.end(),
                   [](const ImageDeviceSample& sample) {
                     return NeedsMean(sample.colours);
                   })) {
    return;
  }
  batch->luma = Aligned(batch->scratch_bytes);
  const uint64_t tiles = ImageTiles(batch->height, batch->width);
  for (const ImageDeviceChunk& chunk : batch->chunks) {
    for (uint32_t i = 0; i < chunk.count; ++i) {
      batch->samples[chunk.first + i].luma =
          batch->luma + i * tiles * sizeof(uint32_t);
    }
    batch->scratch_bytes =
        std::max(batch->scratch_bytes,
                 batch->luma + chunk.count * tiles * sizeof(uint32_t));
  }
}

// Lays out the canvases of each chunk, two of an image and one after the other,
// and the rounds of its images' operations. `numbers` are those of the images
// in the result.
void PlaceCanvases(
    const std::vector<std::vector<ImageDeviceOperation>>& operations,
    const std::vector<uint32_t>& numbers, uint64_t pixel_bytes,
    ImageDeviceBatch* batch) {
  const uint64_t canvas = uint64_t{batch->height} * batch->width;
  uint32_t most = 0;
  for (ImageDeviceChunk& chunk : batch->chunks) {
    most = std::max(most, chunk.count);
    chunk.operations = static_cast<uint32_t>(batch->operations.size());
    for (uint32_t i = 0; i < chunk.count; ++i) {
      const auto of_image =
          static_cast<uint32_t>(operations[chunk.first + i].size());
      chunk.rounds = std::max(chunk.rounds, of_image);
      batch->samples[chunk.first + i].image = i;
      ImageDeviceSample finished = {};
      finished.first =
          static_cast<int64_t>(canvas * (of_image % 2 * chunk.count + i));
      finished.down = batch->width;
      finished.across = 1;
      finished.rows.count = batch->height;
      finished.columns.count = batch->width;
      finished.image = numbers[chunk.first + i];
      batch->finished.push_back(finished);
    }
    for (uint32_t round = 0; round < chunk.rounds; ++round) {
      for (uint32_t i = 0; i < chunk.count; ++i) {
        const auto& of_image = operations[chunk.first + i];
        batch->operations.emplace_back();
        if (round >= of_image.size()) continue;
        ImageDeviceOperation& operation = batch->operations.back();
        operation = of_image[round];
        operation.from = canvas * (round % 2 * chunk.count + i);
        operation.to = canvas * ((round + 1) % 2 * chunk.count + i);
      }
    }
  }
  batch->canvases = Aligned(batch->scratch_bytes);
  batch->found = Aligned(batch->canvases + 2 * most * canvas * pixel_bytes);
  batch->scratch_bytes = batch->found + uint64_t{most} * kImageFoundBytes;
}

ImageDeviceErasure ErasureOf(const Recipe& recipe, const SamplePlan& plan,
                             uint32_t image, uint32_t channels) {
  const Window& window = plan.erasure.window;
  ImageDeviceErasure erasure = {};
  erasure.image = image;
  erasure.y = window.y;
  erasure.x = window.x;
  erasure.height = window.height;
  erasure.width = window.width;
  erasure.noise = recipe.erasing.noise;
  std::copy_n(plan.erasure.key.data(), 2, erasure.key);
  const std::vector<float>& values = recipe.erasing.values;
  for (uint32_t c = 0; c < channels && !recipe.erasing.noise; ++c) {
    erasure.values[c] = values[values.size() == 1 ? 0 : c];
  }
  return erasure;
}

// A view on its way to its batch.
struct ViewPlan {
  explicit ViewPlan(const Recipe& of_view) : recipe(of_view) {}
  const Recipe& recipe;
  std::vector<ImageDeviceInput> inputs;
  std::vector<uint32_t> numbers;  // of the images in the result
  bool has_canvases = false;
  std::vector<std::vector<ImageDeviceOperation>> operations;
  ImageDeviceBatch batch;  // its windows are those that the view needs
};

// Finds what becomes of the images of a view, and the window of each that it
// needs.
Status PlanView(uint32_t channels, uint32_t bits, ViewPlan* view) {
  const Recipe& recipe = view->recipe;
  const std::vector<ImageDeviceInput>& inputs = view->inputs;
  ImageDeviceBatch* const batch = &view->batch;
  batch->height = inputs[0].plan->part.height;
  batch->width = inputs[0].plan->part.width;
  AxisWriter writer(&batch->tables);
  Resampler resampler;
  view->has_canvases = std::any_of(
      inputs.begin(), inputs.end(),
      [](const ImageDeviceInput& input) { return NeedsCanvas(*input.plan); });
  view->operations.resize(inputs.size());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const SamplePlan& plan = *inputs[i].plan;
    const Window content = plan.Content();
    ImageDeviceSample sample = {};
    sample.image = view->numbers[i];
    sample.mirrored = plan.mirrored;
    sample.flipped = plan.flipped;
    sample.fill = recipe.pad.value;
    if (view->has_canvases) {
      LIQUID_RETURN_IF_ERROR(PlanOperations(
          recipe, plan, channels, bits, &batch->tables, &view->operations[i]));
    } else {
      sample.colours = ColoursOf(plan);
    }
    if (plan.erasure.any()) {
      batch->erasures.push_back(
          ErasureOf(recipe, plan, view->numbers[i], channels));
    }
    sample.rows.count = content.height;
    sample.columns.count = content.width;
    Window needed = content;
    if (content.height == 0) {
      needed = {0, 0, 1, 1};  // nothing of it is used
    } else {
      sample.rows.begin = plan.top + content.y - plan.part.y;
      sample.columns.begin = plan.left + content.x - plan.part.x;
    }
    if (plan.resized() && content.height > 0) {
      const ResampleSpec spec =
          ResizeOf(recipe.resize, plan, plan.window, content, bits);
      LIQUID_RETURN_IF_ERROR(resampler.Reset(spec));
      needed = resampler.needed();
      const Resampler::Weights weights = resampler.weights();
      const bool exact = bits == 16;
      sample.rows.size = needed.height;
      sample.columns.size = needed.width;
      sample.rows_first = weights.rows_first;
      if (spec.interpolation == Interpolation::kNearest) {
        sample.method = ImageDeviceMethod::kPick;
        writer.WritePick(weights.nearest_rows, &sample.rows);
        writer.WritePick(weights.nearest_columns, &sample.columns);
      } else if (!spec.antialias) {
        sample.method = ImageDeviceMethod::kLerp;
        writer.WriteLerp(weights.lerp_rows, &sample.rows);
        writer.WriteLerp(weights.lerp_columns, &sample.columns);
      } else {
        sample.method = ImageDeviceMethod::kFilter;
        writer.WriteFilter(weights.rows, weights.same_height, exact,
                           &sample.rows);
        writer.WriteFilter(weights.columns, weights.same_width, exact,
                           &sample.columns);
      }
    }
    needed.y += plan.window.y;
    needed.x += plan.window.x;
    batch->windows.push_back(StoredWindow(plan.orientation, needed,
                                          inputs[i].height, inputs[i].width));
    batch->samples.push_back(sample);
  }
  return OkStatus();
}

// Has a view begin with these windows of the images, in these chunks.
void PlaceView(const std::vector<Window>& windows,
               const std::vector<ImageDeviceChunk>& chunks,
               uint64_t pixel_bytes, ViewPlan* view) {
  ImageDeviceBatch* const batch = &view->batch;
  const std::vector<Window> own = std::move(batch->windows);
  batch->windows = windows;
  batch->chunks = chunks;
  for (const ImageDeviceChunk& chunk : chunks) {
    const uint64_t bytes =
        uint64_t{chunk.height} * chunk.width * chunk.count * pixel_bytes;
    batch->scratch_bytes = std::max(batch->scratch_bytes, bytes);
  }
  if (view->has_canvases) {
    PlaceCanvases(view->operations, view->numbers, pixel_bytes, batch);
  } else {
    PlaceSums(batch);
  }
  for (const ImageDeviceChunk& chunk : chunks) {
    for (uint32_t i = chunk.first; i < chunk.first + chunk.count; ++i) {
      ImageDeviceSample& sample = batch->samples[i];
      const int64_t place =
          int64_t{chunk.height} * chunk.width * (i - chunk.first);
      sample.first = place + int64_t{own[i].y - windows[i].y} * chunk.width +
                     (own[i].x - windows[i].x);
      Turn(view->inputs[i].plan->orientation, own[i], chunk.width, &sample);
    }
  }
}

}  // namespace

bool NeedsDeviceRecipe(const SamplePlan& plan) {
  return plan.orientation != 1 || plan.resized() || plan.padded() ||
         plan.mirrored || plan.flipped || plan.jittered || plan.gray ||
         !plan.last.empty() || plan.erasure.any() || NeedsCanvas(plan);
}

Status PlanImageDevice(const std::vector<const Recipe*>& views, bool stacked,
                       const std::vector<ImageDeviceInput>& inputs,
                       uint32_t channels, uint32_t bits,
                       std::vector<ImageDeviceBatch>* batches, size_t* failed) {
  batches->clear();
  std::vector<ViewPlan> plans;
  for (size_t v = 0; v < views.size(); ++v) {
    plans.emplace_back(*views[v]);
    for (size_t i = v; i < inputs.size(); i += views.size()) {
      plans.back().inputs.push_back(inputs[i]);
      plans.back().numbers.push_back(
          static_cast<uint32_t>(stacked ? i : i / views.size()));
    }
    const Status planned = PlanView(channels, bits, &plans.back());
    if (!planned.ok()) {
      // Each that is planned has a sample.
      *failed = plans.back().batch.samples.size();
      return planned;
    }
  }
  std::vector<Window> windows = plans[0].batch.windows;
  for (size_t v = 1; v < plans.size(); ++v) {
    for (size_t i = 0; i < windows.size(); ++i) {
      windows[i] = Bound(windows[i], plans[v].batch.windows[i]);
    }
  }
  const uint64_t pixel_bytes = uint64_t{channels} * bits / 8;
  uint64_t beside = 0;
  for (const ViewPlan& plan : plans) {
    const uint64_t canvas =
        uint64_t{plan.batch.height} * plan.batch.width * pixel_bytes;
    if (plan.has_canvases) {
      beside = std::max(beside, 2 * canvas + kImageFoundBytes);
    }
  }
  const std::vector<ImageDeviceChunk> chunks =
      MakeChunks(windows, pixel_bytes, beside);
  for (ViewPlan& plan : plans) {
    PlaceView(windows, chunks, pixel_bytes, &plan);
    batches->push_back(std::move(plan.batch));
  }
  return OkStatus();
}

}  // namespace liquid
