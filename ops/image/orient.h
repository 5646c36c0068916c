// Images turned as EXIF's orientation says, and mirrored rows.
//
// The orientation names how the stored pixels lie: 1 upright, 2 mirrored left
// to right, 3 turned by 180 degrees, 4 mirrored top to bottom, 5 mirrored in
// the falling diagonal, 6 to be turned clockwise by 90 degrees, 7 mirrored in
// the rising diagonal, 8 to be turned counter-clockwise. Results are those of
// Pillow's ImageOps.exif_transpose.
//
// Pixels are opaque here: `pixel` is the size of one in bytes, one to four
// channels of 8 or 16 bits. Any other orientation than 1 to 8 counts as 1. All
// functions are pure and thread-safe.
#ifndef LIQUID_OPS_IMAGE_ORIENT_H_
#define LIQUID_OPS_IMAGE_ORIENT_H_

#include <cstddef>
#include <cstdint>

#include "ops/codecs/codec.h"
#include "ops/image/affine.h"

namespace liquid {

// Turns the sides of a stored image into those of the upright one.
void OrientedSize(int orientation, uint32_t* height, uint32_t* width);

// The part of a stored image of height x width pixels that turns into
// `upright`, which must lie inside the upright image.
Window StoredWindow(int orientation, const Window& upright, uint32_t height,
                    uint32_t width);

// From places in a stored image of height x width pixels to places in the
// upright one.
Affine OrientMap(int orientation, uint32_t height, uint32_t width);

// Turns height x width stored pixels, whose rows are `stride` bytes apart, into
// `out`, without gaps between the rows. The buffers must not overlap. O(bytes).
void Orient(const uint8_t* in, size_t stride, size_t height, size_t width,
            size_t pixel, int orientation, uint8_t* out);

// Writes the pixels of a row in the opposite order. The buffers must not
// overlap.
void MirrorRow(const uint8_t* in, size_t width, size_t pixel, uint8_t* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_ORIENT_H_
