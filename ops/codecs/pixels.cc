#include "ops/codecs/pixels.h"

#include <cstring>
#include <utility>

#include "ops/codecs/codec_util.h"

namespace liquid {
namespace {

template <typename Sample>
Status ConvertChannels(int to, const Image& image, uint8_t* out) {
  constexpr Sample kOpaque = static_cast<Sample>(~Sample{0});
  const int from = image.info.channels;
  const bool from_alpha = from == 2 || from == 4;
  const bool to_alpha = to == 2 || to == 4;
  const int from_colors = from < 3 ? 1 : 3;
  const int to_colors = to < 3 ? 1 : 3;
  const size_t count = size_t{image.info.height} * image.info.width;
  const uint8_t* in = image.pixels.get();
  Sample source[4], target[4];
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(source, in, from * sizeof(Sample));
    in += from * sizeof(Sample);
    const char* obstacle = nullptr;
    if (from_alpha && !to_alpha && source[from - 1] != kOpaque) {
      obstacle = "is not opaque, and its alpha would be lost";
    }
    if (from_colors > to_colors &&
        (source[0] != source[1] || source[0] != source[2])) {
      obstacle = "is not gray, and its colour would be lost";
    }
    if (obstacle != nullptr) {
      return InvalidArgument(
          "channels (" + std::to_string(to) + ") for an image of " +
          DescribeImage(image.info) + ": the pixel at y " +
          std::to_string(i / image.info.width) + ", x " +
          std::to_string(i % image.info.width) + " " + obstacle);
    }
    for (int c = 0; c < to_colors; ++c) {
      target[c] = source[from_colors == 1 ? 0 : c];
    }
    if (to_alpha) target[to - 1] = from_alpha ? source[from - 1] : kOpaque;
    std::memcpy(out, target, to * sizeof(Sample));
    out += to * sizeof(Sample);
  }
  return OkStatus();
}

Status CheckChannels(int channels) {
  if (channels >= 0 && channels <= 4) return OkStatus();
  return InvalidArgument("channels (" + std::to_string(channels) +
                         ") must be 0 (as stored) to 4");
}

Status CheckBits(int bits) {
  if (bits == 0 || bits == 8 || bits == 16) return OkStatus();
  return InvalidArgument("bits (" + std::to_string(bits) +
                         ") must be 0 (as stored), 8 or 16");
}

}  // namespace

Status ChangeChannels(int channels, Image* image) {
  LIQUID_RETURN_IF_ERROR(CheckChannels(channels));
  if (channels == 0 || channels == image->info.channels) return OkStatus();
  Image converted;
  converted.info = image->info;
  converted.info.channels = static_cast<uint8_t>(channels);
  const size_t size = converted.info.PixelBytes();
  converted.pixels = AllocateBuffer(size);
  if (converted.pixels == nullptr) return OutOfMemory("image", size);
  LIQUID_RETURN_IF_ERROR(
      image->info.bits == 8
          ? ConvertChannels<uint8_t>(channels, *image, converted.pixels.get())
          : ConvertChannels<uint16_t>(channels, *image,
                                      converted.pixels.get()));
  *image = std::move(converted);
  return OkStatus();
}

Status ChangeBits(int bits, Image* image) {
  LIQUID_RETURN_IF_ERROR(CheckBits(bits));
  if (bits == 0 || bits == image->info.bits) return OkStatus();
  Image converted;
  converted.info = image->info;
  converted.info.bits = static_cast<uint8_t>(bits);
  const size_t size = converted.info.PixelBytes();
  converted.pixels = AllocateBuffer(size);
  if (converted.pixels == nullptr) return OutOfMemory("image", size);
  const size_t samples = size / (bits / 8);
  const uint8_t* in = image->pixels.get();
  uint8_t* out = converted.pixels.get();
  for (size_t i = 0; i < samples; ++i) {
    if (bits == 16) {
      const uint16_t value = static_cast<uint16_t>(in[i] * 257);
      std::memcpy(out + 2 * i, &value, 2);
    } else {
      uint16_t value;
      std::memcpy(&value, in + 2 * i, 2);
      out[i] = static_cast<uint8_t>(value >> 8);
    }
  }
  *image = std::move(converted);
  return OkStatus();
}

Status PlanDecode(Format format, ByteSpan file, const DecodeRequest& request,
                  DecodePlan* plan) {
  LIQUID_RETURN_IF_ERROR(CheckChannels(request.channels));
  LIQUID_RETURN_IF_ERROR(CheckBits(request.bits));
  LIQUID_RETURN_IF_ERROR(Peek(format, file, request.limits, &plan->stored));
  plan->window = request.window;
  if (request.window.height == 0) {
    plan->window = {0, 0, plan->stored.height, plan->stored.width};
  }
  // Before the caller sizes its memory by the window.
  LIQUID_RETURN_IF_ERROR(CheckRequest(FormatName(format), plan->stored,
                                      plan->stored, plan->window, SIZE_MAX));
  plan->output = plan->stored;
  plan->output.height = plan->window.height;
  plan->output.width = plan->window.width;
  if (request.channels != 0) {
    plan->output.channels = static_cast<uint8_t>(request.channels);
  }
  if (request.bits != 0) plan->output.bits = static_cast<uint8_t>(request.bits);
  return OkStatus();
}

Status DecodeAs(Format format, ByteSpan file, const DecodeLimits& limits,
                const DecodePlan& plan, uint8_t* out) {
  if (plan.output.channels == plan.stored.channels &&
      plan.output.bits == plan.stored.bits) {
    return Decode(format, file, limits, plan.stored, plan.window, out,
                  plan.output.RowBytes());
  }
  Image image;
  image.info = plan.stored;
  image.info.height = plan.window.height;
  image.info.width = plan.window.width;
  image.pixels = AllocateBuffer(image.info.PixelBytes());
  if (image.pixels == nullptr) {
    return OutOfMemory("image", image.info.PixelBytes());
  }
  LIQUID_RETURN_IF_ERROR(Decode(format, file, limits, plan.stored, plan.window,
                                image.pixels.get(), image.info.RowBytes()));
  LIQUID_RETURN_IF_ERROR(ChangeChannels(plan.output.channels, &image));
  LIQUID_RETURN_IF_ERROR(ChangeBits(plan.output.bits, &image));
  std::memcpy(out, image.pixels.get(), image.info.PixelBytes());
  return OkStatus();
}

Status DecodeWhole(Format format, ByteSpan file, const DecodeLimits& limits,
                   Image* image) {
  LIQUID_RETURN_IF_ERROR(Peek(format, file, limits, &image->info));
  const size_t size = image->info.PixelBytes();
  image->pixels = AllocateBuffer(size);
  if (image->pixels == nullptr) return OutOfMemory("image", size);
  const Window whole = {0, 0, image->info.height, image->info.width};
  return Decode(format, file, limits, image->info, whole, image->pixels.get(),
                image->info.RowBytes());
}

Status CheckPixels(Format format, ByteSpan file, const DecodeLimits& limits,
                   const ImageInfo& info, uint64_t hash,
                   std::vector<uint8_t>* pixels) {
  // Sizes the buffer only after the image itself has confirmed the index.
  ImageInfo found;
  LIQUID_RETURN_IF_ERROR(Peek(format, file, limits, &found));
  if (!(found == info)) {
    return DataLoss("the image's size differs from the index's: " +
                    DescribeImage(found) + ", not " + DescribeImage(info));
  }
  pixels->resize(info.PixelBytes());
  LIQUID_RETURN_IF_ERROR(Decode(format, file, limits, info,
                                {0, 0, info.height, info.width}, pixels->data(),
                                info.RowBytes()));
  if (hash == 0 || PixelHash(info, pixels->data()) == hash) return OkStatus();
  return DataLoss("the decoded pixels' hash differs from the index's");
}

}  // namespace liquid
