#include "ops/image/changes.h"

#include <cstring>
#include <string>
#include <utility>

#include "ops/codecs/codec_util.h"
#include "ops/image/orient.h"
#include "ops/image/resample.h"

namespace liquid {
namespace {

// An image like `image`, with room for other pixels.
Status MakeLike(const Image& image, uint32_t height, uint32_t width,
                Image* made) {
  made->info = image.info;
  made->info.height = height;
  made->info.width = width;
  made->pixels = AllocateBuffer(made->info.PixelBytes());
  if (made->pixels == nullptr) {
    return OutOfMemory("resize", made->info.PixelBytes());
  }
  return OkStatus();
}

Status Turn(int orientation, Image* image) {
  if (orientation < 1 || orientation > 8) {
    return InvalidArgument("orientation (" + std::to_string(orientation) +
                           ") must be 1 to 8");
  }
  if (orientation == 1) return OkStatus();
  const ImageInfo& info = image->info;
  uint32_t height = info.height;
  uint32_t width = info.width;
  OrientedSize(orientation, &height, &width);
  Image turned;
  LIQUID_RETURN_IF_ERROR(MakeLike(*image, height, width, &turned));
  Orient(image->pixels.get(), info.RowBytes(), info.height, info.width,
         info.BytesPerPixel(), orientation, turned.pixels.get());
  *image = std::move(turned);
  return OkStatus();
}

template <typename T>
class Rows : public RowWriter<T> {
 public:
  explicit Rows(Image* image) : image_(image) {}

  void Row(uint32_t y, const T* row) override {
    const size_t bytes = image_->info.RowBytes();
    std::memcpy(image_->pixels.get() + y * bytes, row, bytes);
  }

 private:
  Image* const image_;
};

// Resamples what `resampler` was set to.
template <typename T>
void Resample(const Image& image, const Resampler& resampler, Image* made) {
  const ImageInfo& info = image.info;
  const Window& needed = resampler.needed();
  const uint8_t* const first = image.pixels.get() + needed.y * info.RowBytes() +
                               needed.x * info.BytesPerPixel();
  Rows<T> rows(made);
  ResampleScratch scratch;
  resampler.Run<T>(reinterpret_cast<const T*>(first),
                   info.RowBytes() / sizeof(T), info.channels, &rows, &scratch);
}

Status Resize(const ResizeStep& resize, const DecodeLimits& limits,
              Image* image) {
  uint32_t height, width;
  LIQUID_RETURN_IF_ERROR(ResizedSize(resize, image->info.height,
                                     image->info.width, &height, &width));
  if (height == image->info.height && width == image->info.width) {
    return OkStatus();
  }
  LIQUID_RETURN_IF_ERROR(CheckImageSize("resize", height, width, limits));
  ResampleSpec spec;
  spec.in_height = image->info.height;
  spec.in_width = image->info.width;
  spec.out_height = height;
  spec.out_width = width;
  spec.interpolation = resize.interpolation;
  spec.antialias = resize.antialias;
  spec.part = {0, 0, height, width};
  spec.bits = image->info.bits;
  Resampler resampler;
  LIQUID_RETURN_IF_ERROR(resampler.Reset(spec));
  Image made;
  LIQUID_RETURN_IF_ERROR(MakeLike(*image, height, width, &made));
  if (image->info.bits == 16) {
    Resample<uint16_t>(*image, resampler, &made);
  } else {
    Resample<uint8_t>(*image, resampler, &made);
  }
  *image = std::move(made);
  return OkStatus();
}

}  // namespace

Status ApplyChanges(const Changes& changes, const DecodeLimits& limits,
                    Image* image) {
  LIQUID_RETURN_IF_ERROR(Turn(changes.orientation, image));
  LIQUID_RETURN_IF_ERROR(Resize(changes.resize, limits, image));
  LIQUID_RETURN_IF_ERROR(ChangeChannels(changes.channels, image));
  return ChangeBits(changes.bits, image);
}

bool KeepsPlaces(const Changes& changes, const ImageInfo& info) {
  uint32_t height, width;
  return changes.orientation == 1 &&
         ResizedSize(changes.resize, info.height, info.width, &height, &width)
             .ok() &&
         height == info.height && width == info.width;
}

}  // namespace liquid
