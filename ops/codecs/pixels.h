// Decoded pixels in memory: other channels, other depth, a whole file at once.
#ifndef LIQUID_OPS_CODECS_PIXELS_H_
#define LIQUID_OPS_CODECS_PIXELS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"

namespace liquid {

// A dense HWC image that owns its pixels.
struct Image {
  ImageInfo info;
  std::unique_ptr<uint8_t[]> pixels;
};

// Gives the image `channels` channels: 0 leaves them, 1 to 4 convert without
// loss. Gray becomes RGB by repetition and an added alpha is opaque. Alpha is
// dropped only where every pixel is opaque, and RGB becomes gray only where
// every pixel is gray: else InvalidArgument, which names the first pixel in the
// way. O(pixels).
Status ChangeChannels(int channels, Image* image);

// Gives the image 8 or 16 bits. 8 bits are multiplied by 257, so that white
// stays white; of 16 bits the upper 8 are kept, as tf.io.decode_png does.
Status ChangeBits(int bits, Image* image);

// What to decode of a file, and as what.
struct DecodeRequest {
  Window window;     // height 0: the whole image
  int channels = 0;  // 0: as stored
  int bits = 0;      // 0: as stored
  DecodeLimits limits;
};

struct DecodePlan {
  ImageInfo stored;  // of the whole image in the file
  Window window;
  ImageInfo output;  // what DecodeAs writes
};

// Peeks at the file and resolves the request. Errors: those of Peek, and
// InvalidArgument for a wrong request.
Status PlanDecode(Format format, ByteSpan file, const DecodeRequest& request,
                  DecodePlan* plan);

// Decodes to `out`, plan.output.PixelBytes() of dense pixels. Without change of
// channels or bits it decodes in place.
Status DecodeAs(Format format, ByteSpan file, const DecodeLimits& limits,
                const DecodePlan& plan, uint8_t* out);

// Decodes all of a file as it is stored.
Status DecodeWhole(Format format, ByteSpan file, const DecodeLimits& limits,
                   Image* image);

// Checks that a file holds an image like `info`, and decodes it to `*pixels`,
// whose hash must be `hash`, unless that is 0: then it is not known. Errors:
// DataLoss, those of Peek and Decode.
Status CheckPixels(Format format, ByteSpan file, const DecodeLimits& limits,
                   const ImageInfo& info, uint64_t hash,
                   std::vector<uint8_t>* pixels);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_PIXELS_H_
