#include "ops/image/image_maker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "ops/image/colour.h"
#include "ops/image/operations.h"
#include "ops/image/orient.h"
#include "ops/image/rotate.h"

namespace liquid {
namespace {

uint32_t Quotient(uint32_t side, uint32_t draft) {
  return (side - 1) / draft + 1;
}

Window Drafted(const Window& window, uint32_t draft) {
  Window drafted = {window.y / draft, window.x / draft, 0, 0};
  drafted.height = Quotient(window.y + window.height, draft) - drafted.y;
  drafted.width = Quotient(window.x + window.width, draft) - drafted.x;
  return drafted;
}

// Of one axis: pixels of the input, from `*from` on, that a filter of `count`
// of the result from `begin` on may reach, and a few more. A filter reaches two
// pixels of the coarser one to either side.
void Touched(uint32_t in, uint32_t out, uint32_t begin, uint32_t count,
             uint32_t* from, uint32_t* length) {
  const double scale = static_cast<double>(in) / out;
  const double margin = 2 * std::max(scale, 1.0) + 2;
  const double first = std::max(begin * scale - margin, 0.0);
  const double end =
      std::min((static_cast<double>(begin) + count) * scale + margin,
               static_cast<double>(in));
  *from = static_cast<uint32_t>(first);
  *length = static_cast<uint32_t>(std::ceil(end)) - *from;
}

}  // namespace

Status MakerScratch::Get(Use use, size_t bytes, uint8_t** data) {
  Part& part = parts_[use];
  if (part.size < bytes) {
    part.data.reset(new (std::nothrow) uint8_t[bytes]);
    part.size = part.data == nullptr ? 0 : bytes;
    if (part.data == nullptr) {
      return Unavailable("no memory for " + std::to_string(bytes) +
                         " bytes of an image on its way");
    }
  }
  *data = part.data.get();
  return OkStatus();
}

size_t MakerScratch::bytes() const {
  size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.size;
  return bytes;
}

// Puts rows of the resized image on the canvas, and canvas rows into the
// result, or into memory for steps that need all of them.
template <typename T>
class ImageMaker::Rows : public RowWriter<T> {
 public:
  Rows(const SamplePlan& plan, const Finisher& finisher, const Window& content,
       uint16_t fill)
      : plan_(plan),
        finisher_(finisher),
        channels_(finisher.spec().channels),
        content_(content),
        above_(content.height == 0 ? plan.part.height
                                   : plan.top + content.y - plan.part.y),
        before_(content.width == 0 ? 0 : plan.left + content.x - plan.part.x),
        fill_(static_cast<T>(fill)) {}

  // `canvas`: null to finish rows at once.
  Status Begin(MakerScratch* scratch, T* canvas, uint8_t* out) {
    canvas_ = canvas;
    out_ = out;
    const size_t values = plan_.part.width * channels_;
    uint8_t* row;
    uint8_t* finish;
    LIQUID_RETURN_IF_ERROR(
        scratch->Get(MakerScratch::kRow, values * sizeof(T), &row));
    LIQUID_RETURN_IF_ERROR(
        scratch->Get(MakerScratch::kFinish,
                     finisher_.ScratchBytes(plan_.part.width), &finish));
    finish_ = finish;
    row_ = reinterpret_cast<T*>(row);
    if (plan_.padded()) std::fill_n(row_, values, fill_);
    for (size_t y = 0; y < above_; ++y) Emit(y, row_);
    return OkStatus();
  }

  void Row(uint32_t y, const T* row) override {
    if (content_.width < plan_.part.width) {
      std::copy_n(row, content_.width * channels_, row_ + before_ * channels_);
      row = row_;
    }
    Emit(above_ + y, row);
  }

  void End() {
    const size_t below = above_ + content_.height;
    if (below >= plan_.part.height) return;
    std::fill_n(row_, plan_.part.width * channels_, fill_);
    for (size_t y = below; y < plan_.part.height; ++y) Emit(y, row_);
  }

 private:
  void Emit(size_t y, const T* row) {
    const Window& part = plan_.part;
    if (plan_.flipped) y = part.height - 1 - y;
    if (canvas_ == nullptr) {
      return finisher_.Row(row, part.height, part.width, y, plan_.mirrored,
                           finish_, out_);
    }
    T* const to = canvas_ + y * part.width * channels_;
    if (plan_.mirrored) {
      MirrorRow(reinterpret_cast<const uint8_t*>(row), part.width,
                finisher_.PixelBytes(), reinterpret_cast<uint8_t*>(to));
    } else {
      std::copy_n(row, part.width * channels_, to);
    }
  }

  const SamplePlan& plan_;
  const Finisher& finisher_;
  const size_t channels_;
  const Window content_;
  const size_t above_;   // rows of padding
  const size_t before_;  // columns of it
  const T fill_;
  T* canvas_ = nullptr;
  uint8_t* out_ = nullptr;
  uint8_t* finish_ = nullptr;
  T* row_ = nullptr;
};

Status ImageMaker::Make(const SamplePlan& plan, StoredImage* image,
                        MakerScratch* scratch, uint8_t* out) const {
  const FinishSpec& spec = finisher_.spec();
  LIQUID_RETURN_IF_ERROR(
      finisher_.CheckSize(plan.part.height, plan.part.width));
  const bool direct = !plan.resized() && !plan.padded() &&
                      plan.orientation == 1 && !plan.flipped &&
                      !Changes(plan) && finisher_.copies();
  if (direct) return MakeDirectly(plan, image, scratch, out);
  LIQUID_RETURN_IF_ERROR(spec.stored == PixelType::kUint16
                             ? MakeOf<uint16_t>(plan, image, scratch, out)
                             : MakeOf<uint8_t>(plan, image, scratch, out));
  if (mask_ || finisher_.copies() || !plan.erasure.any()) return OkStatus();
  return Erase(plan, scratch, out);
}

Status ImageMaker::MakeDirectly(const SamplePlan& plan, StoredImage* image,
                                MakerScratch* scratch, uint8_t* out) const {
  Window window = plan.part;
  window.y += plan.window.y;
  window.x += plan.window.x;
  const size_t stride = finisher_.ImageBytes(1, window.width);
  LIQUID_RETURN_IF_ERROR(image->Decode(1, window, out, stride));
  if (!plan.mirrored) return OkStatus();
  uint8_t* row;
  LIQUID_RETURN_IF_ERROR(scratch->Get(MakerScratch::kRow, stride, &row));
  for (size_t y = 0; y < window.height; ++y) {
    std::memcpy(row, out + y * stride, stride);
    finisher_.Row(row, window.height, window.width, y, true, nullptr, out);
  }
  return OkStatus();
}

uint32_t ImageMaker::DraftOf(const SamplePlan& plan,
                             const StoredImage& image) const {
  uint32_t draft = recipe_.resize.draft && !mask_ ? 8 : 1;
  while (draft > 1 && (plan.window.height / draft < plan.height ||
                       plan.window.width / draft < plan.width)) {
    draft /= 2;
  }
  return image.Draft(draft);
}

Window ImageMaker::NeededOf(const SamplePlan& plan, const ImageInfo& info,
                            uint32_t draft) const {
  const Window content = plan.Content();
  if (content.height == 0) return Window();
  const Window window = Drafted(plan.window, draft);
  Window needed = content;
  if (plan.resized()) {
    Touched(window.height, plan.height, content.y, content.height, &needed.y,
            &needed.height);
    Touched(window.width, plan.width, content.x, content.width, &needed.x,
            &needed.width);
  }
  needed.y += window.y;
  needed.x += window.x;
  return StoredWindow(plan.orientation, needed, Quotient(info.height, draft),
                      Quotient(info.width, draft));
}

Status ImageMaker::DecodeTurned(uint8_t orientation, uint32_t draft,
                                const Window& wanted, StoredImage* image,
                                MakerScratch* scratch, const uint8_t** pixels,
                                size_t* stride) const {
  const ImageInfo& info = image->info();
  const size_t pixel = info.BytesPerPixel();
  const size_t bytes = size_t{wanted.height} * wanted.width * pixel;
  const Window stored =
      StoredWindow(orientation, wanted, Quotient(info.height, draft),
                   Quotient(info.width, draft));
  *pixels = image->Find(stored, stride);
  if (*pixels == nullptr) {
    uint8_t* decoded;
    LIQUID_RETURN_IF_ERROR(
        scratch->Get(MakerScratch::kDecoded, bytes, &decoded));
    *stride = stored.width * pixel;
    LIQUID_RETURN_IF_ERROR(image->Decode(draft, stored, decoded, *stride));
    *pixels = decoded;
  }
  if (orientation == 1) return OkStatus();
  uint8_t* turned;
  LIQUID_RETURN_IF_ERROR(scratch->Get(MakerScratch::kTurned, bytes, &turned));
  Orient(*pixels, *stride, stored.height, stored.width, pixel, orientation,
         turned);
  *pixels = turned;
  *stride = wanted.width * pixel;
  return OkStatus();
}

template <typename T>
Status ImageMaker::MakeOf(const SamplePlan& plan, StoredImage* image,
                          MakerScratch* scratch, uint8_t* out) const {
  const size_t channels = finisher_.spec().channels;
  const Window content = plan.Content();
  uint8_t* canvas = nullptr;
  if (Changes(plan)) {
    const size_t bytes =
        size_t{plan.part.height} * plan.part.width * channels * sizeof(T);
    LIQUID_RETURN_IF_ERROR(scratch->Get(MakerScratch::kCanvas, bytes, &canvas));
  }
  // The crop, or the pixels of the draft that it touches.
  const uint32_t draft = DraftOf(plan, *image);
  const Window window = Drafted(plan.window, draft);
  Window needed = content;
  const bool resample = plan.resized() && content.height > 0;
  if (resample) {
    ResampleSpec spec =
        ResizeOf(recipe_.resize, plan, window, content, 8 * sizeof(T));
    if (mask_) spec.interpolation = Interpolation::kNearest;
    LIQUID_RETURN_IF_ERROR(scratch->resampler.Reset(spec));
    needed = scratch->resampler.needed();
  }
  Rows<T> rows(plan, finisher_, content,
               mask_ ? recipe_.pad.mask_value : recipe_.pad.value);
  const uint8_t* pixels = nullptr;
  size_t stride = 0;
  if (content.height > 0) {
    needed.y += window.y;
    needed.x += window.x;
    LIQUID_RETURN_IF_ERROR(DecodeTurned(plan.orientation, draft, needed, image,
                                        scratch, &pixels, &stride));
  }
  LIQUID_RETURN_IF_ERROR(
      rows.Begin(scratch, reinterpret_cast<T*>(canvas), out));
  if (resample) {
    scratch->resampler.Run<T>(reinterpret_cast<const T*>(pixels),
                              stride / sizeof(T), channels, &rows,
                              &scratch->resample);
  } else {
    for (uint32_t y = 0; y < content.height; ++y) {
      rows.Row(y, reinterpret_cast<const T*>(pixels + y * stride));
    }
  }
  rows.End();
  if (canvas == nullptr) return OkStatus();
  return ChangeCanvas(plan, scratch, reinterpret_cast<T*>(canvas), out);
}

template <typename T>
Status ImageMaker::ChangeCanvas(const SamplePlan& plan, MakerScratch* scratch,
                                T* canvas, uint8_t* out) const {
  const size_t channels = finisher_.spec().channels;
  const size_t height = plan.part.height, width = plan.part.width;
  const size_t row = width * channels;
  T* other = nullptr;
  if (plan.rotated || (!mask_ && !(plan.policy.empty() && plan.last.empty()))) {
    uint8_t* more;
    LIQUID_RETURN_IF_ERROR(
        scratch->Get(MakerScratch::kOther, height * row * sizeof(T), &more));
    other = reinterpret_cast<T*>(more);
  }
  if (plan.rotated) {
    if (mask_) {
      RotateNearest(canvas, height, width, channels, plan.degrees,
                    static_cast<T>(recipe_.rotate.mask_value), other);
    } else {
      RotateBilinear(canvas, height, width, channels, plan.degrees,
                     static_cast<T>(recipe_.rotate.value), other);
    }
    std::swap(canvas, other);
  }
  if constexpr (sizeof(T) == 1) {
    const auto apply = [&](const std::vector<Operation>& operations) {
      if (operations.empty()) return;
      uint8_t* result;
      ApplyOperations(operations.data(), operations.size(), height, width,
                      channels, canvas, other, &result);
      if (result != canvas) std::swap(canvas, other);
    };
    if (!mask_) {
      apply(plan.policy);
      if (plan.jittered) ApplyJitter(plan.jitter, canvas, height, width);
      if (plan.gray) MakeGray(canvas, height, width);
      apply(plan.last);
    }
  }
  uint8_t* finish;
  LIQUID_RETURN_IF_ERROR(scratch->Get(MakerScratch::kFinish,
                                      finisher_.ScratchBytes(width), &finish));
  for (size_t y = 0; y < height; ++y) {
    finisher_.Row(canvas + y * row, height, width, y, /*mirrored=*/false,
                  finish, out);
  }
  return OkStatus();
}

Status ImageMaker::Erase(const SamplePlan& plan, MakerScratch* scratch,
                         uint8_t* out) const {
  const Window& window = plan.erasure.window;
  const size_t channels = finisher_.spec().channels;
  uint8_t* bytes;
  LIQUID_RETURN_IF_ERROR(scratch->Get(
      MakerScratch::kErased, window.width * channels * sizeof(float), &bytes));
  float* const row = reinterpret_cast<float*>(bytes);
  for (uint32_t y = 0; y < window.height; ++y) {
    FillErased(recipe_.erasing, plan.erasure, y, channels, row);
    finisher_.Put(row, plan.part.height, plan.part.width, window.y + y,
                  window.x, window.width, out);
  }
  return OkStatus();
}

}  // namespace liquid
