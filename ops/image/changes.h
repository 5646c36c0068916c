// What a conversion changes of a decoded image before it is stored.
#ifndef LIQUID_OPS_IMAGE_CHANGES_H_
#define LIQUID_OPS_IMAGE_CHANGES_H_

#include <cstdint>

#include "ops/codecs/codec.h"
#include "ops/codecs/pixels.h"
#include "ops/core/status.h"
#include "ops/image/resize_size.h"

namespace liquid {

struct Changes {
  int channels = 0;         // as in ChangeChannels
  int bits = 0;             // as in ChangeBits
  uint8_t orientation = 1;  // that is undone, 1 to 8; 1: none
  ResizeStep resize;        // of the turned image; without draft
};

// Turns the image, resizes it, and changes channels and then depth. What an
// image has already costs nothing. Pixels are resized at the depth and channels
// that they were decoded to. Errors: those of ResizedSize, ChangeChannels and
// ChangeBits; InvalidArgument for another orientation; ResourceExhausted where
// the result has more than limits.max_pixels or there is no memory.
Status ApplyChanges(const Changes& changes, const DecodeLimits& limits,
                    Image* image);

// Whether an image of that shape would keep its pixels' places: it is neither
// turned nor gets another size.
bool KeepsPlaces(const Changes& changes, const ImageInfo& info);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_CHANGES_H_
