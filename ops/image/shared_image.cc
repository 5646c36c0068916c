#include "ops/image/shared_image.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace liquid {
namespace {

bool Empty(const Window& window) {
  return window.height == 0 || window.width == 0;
}

// The smallest window that holds both.
Window Bound(const Window& a, const Window& b) {
  if (Empty(a)) return b;
  if (Empty(b)) return a;
  Window bound = {std::min(a.y, b.y), std::min(a.x, b.x), 0, 0};
  bound.height = std::max(a.y + a.height, b.y + b.height) - bound.y;
  bound.width = std::max(a.x + a.width, b.x + b.width) - bound.x;
  return bound;
}

}  // namespace

Status SharedImage::Load(const std::vector<View>& views, uint64_t max_pixels,
                         MakerScratch* scratch) {
  draft_ = 8;
  for (const View& view : views) {
    draft_ = std::min(draft_, view.maker->DraftOf(*view.plan, *image_));
  }
  window_ = Window();
  for (const View& view : views) {
    window_ = Bound(window_, view.maker->NeededOf(*view.plan, info(), draft_));
  }
  if (Empty(window_)) return OkStatus();
  if (window_.height > max_pixels / window_.width) {
    return DataLoss(
        "the views of the image need " + std::to_string(window_.height) + "x" +
        std::to_string(window_.width) + " pixels of it, over the limit of " +
        std::to_string(max_pixels) + ": raise it with limits=Limits(pixels=N)");
  }
  const size_t row = window_.width * info().BytesPerPixel();
  LIQUID_RETURN_IF_ERROR(
      scratch->Get(MakerScratch::kDecoded, window_.height * row, &pixels_));
  return image_->Decode(draft_, window_, pixels_, row);
}

Status SharedImage::Decode(uint32_t draft, const Window& window, uint8_t* out,
                           size_t row_stride) {
  size_t stride;
  const uint8_t* row = Find(window, &stride);
  if (draft != draft_ || row == nullptr) {
    return Internal("a view needs more of its image than was decoded");
  }
  const size_t bytes = window.width * info().BytesPerPixel();
  for (uint32_t y = 0; y < window.height; ++y) {
    std::memcpy(out + y * row_stride, row + y * stride, bytes);
  }
  return OkStatus();
}

const uint8_t* SharedImage::Find(const Window& window,
                                 size_t* row_stride) const {
  if (Empty(window_) || window.y < window_.y || window.x < window_.x ||
      window.y + window.height > window_.y + window_.height ||
      window.x + window.width > window_.x + window_.width) {
    return nullptr;
  }
  const size_t pixel = info().BytesPerPixel();
  *row_stride = window_.width * pixel;
  return pixels_ + (window.y - window_.y) * *row_stride +
         (window.x - window_.x) * pixel;
}

}  // namespace liquid
