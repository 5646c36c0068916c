// From the bytes of a patch of profile 1 to what its rows are decoded from.
#include <string>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_compact.h"

namespace liquid {
namespace {

// Reads a channel's word. Null if it is valid, otherwise what is wrong.
const char* ParseWord(uint32_t word, uint32_t index, const ImageInfo& image,
                      L3RiceChannel* channel) {
  for (uint32_t band = 0; band < kL3Bands; ++band) {
    const uint32_t predictor = word >> (3 * band) & 7;
    if (predictor >= kL3CompactPredictors) return "a predictor is unknown";
    channel->predictors[band] = static_cast<L3CompactPredictor>(predictor);
  }
  channel->colour = static_cast<L3Colour>(word >> 12 & 3);
  if (!L3ColourAllowed(channel->colour, index, image.channels)) {
    return "its colour transform is unknown";
  }
  channel->map = word >> 14 & 15;
  channel->thresholds = kL3KThresholds[channel->map];
  channel->zero_limit = kL3ZeroLimits[word >> 18 & 3];
  channel->first_k = word >> 20 & 15;
  if (channel->first_k > L3MaxK(image.bits)) {
    return "the first row stores more bits than the sample has";
  }
  channel->base = (word >> 24) << (image.bits - 8);
  return nullptr;
}

class PatchParser {
 public:
  PatchParser(const uint8_t* bytes, size_t size, const ImageInfo& image,
              uint32_t width, uint32_t height)
      : bytes_(bytes),
        size_(size),
        image_(image),
        width_(width),
        height_(height) {}

  bool Parse(L3RicePatch* patch) {
    patch->width = width_;
    patch->height = height_;
    patch->channels = image_.channels;
    patch->bits = image_.bits;
    size_t at = 4 + kL3ChannelHeader * patch->channels;
    if (size_ < at) return Fail(4, "it ends inside its channels' headers");
    for (uint32_t c = 0; c < patch->channels; ++c) {
      L3RiceChannel* const channel = &patch->channel[c];
      const size_t header = 4 + kL3ChannelHeader * c;
      const uint32_t segment = LoadLittle16(bytes_ + header);
      const char* error = segment > kL3MaxSegmentBytes
                              ? "it has more bytes than any channel needs"
                              : ParseWord(LoadLittle32(bytes_ + header + 2), c,
                                          image_, channel);
      if (error == nullptr && size_ - at < segment) {
        error = "it reaches past the patch's end";
      }
      if (error != nullptr) {
        return Fail(header, "channel " + std::to_string(c) + ": " + error);
      }
      channel->begin = bytes_ + at;
      at += segment;
      channel->end = bytes_ + at;
    }
    return at == size_ ||
           Fail(at, "its last channel ends before the patch does");
  }

  bool Parse(L3FlatPatch* patch) {
    patch->width = width_;
    patch->height = height_;
    patch->channels = image_.channels;
    patch->bits = image_.bits;
    const uint32_t word = LoadLittle16(bytes_ + 4);
    patch->colours = (word & 0xFF) + 1;
    if ((word & 0x7F00) != 0) return Fail(4, "bits 8 to 14 must be 0");
    const size_t palette =
        size_t{patch->colours} * patch->channels * (patch->bits / 8);
    if (size_ - 6 < palette) {
      return Fail(6, "its palette reaches past its end");
    }
    patch->palette = bytes_ + 6;
    patch->begin = patch->palette + palette;
    patch->end = bytes_ + size_;
    return true;
  }

  bool Flat() const { return (LoadLittle16(bytes_ + 4) & 0x8000) != 0; }
  const std::string& Error() const { return error_; }
  size_t At() const { return at_; }

 private:
  bool Fail(size_t at, const std::string& error) {
    at_ = at;
    error_ = error;
    return false;
  }

  const uint8_t* const bytes_;
  const size_t size_;
  const ImageInfo& image_;
  const uint32_t width_, height_;
  std::string error_;
  size_t at_ = 0;
};

}  // namespace

bool ParseL3Compact(const uint8_t* bytes, size_t size, const ImageInfo& image,
                    uint32_t width, uint32_t height, L3CompactPatch* patch,
                    std::string* error, size_t* at) {
  PatchParser parser(bytes, size, image, width, height);
  patch->flat = parser.Flat();
  if (patch->flat ? parser.Parse(&patch->colours)
                  : parser.Parse(&patch->rice)) {
    return true;
  }
  *error = parser.Error();
  *at = parser.At();
  return false;
}

}  // namespace liquid
