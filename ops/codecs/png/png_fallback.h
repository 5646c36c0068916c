// The kinds of PNG that the fast path leaves to libspng.
#ifndef LIQUID_OPS_CODECS_PNG_PNG_FALLBACK_H_
#define LIQUID_OPS_CODECS_PNG_PNG_FALLBACK_H_

#include "ops/codecs/codec.h"
#include "ops/codecs/png/png_layout.h"

namespace liquid {

// Decodes the whole image into `pixels`, layout.Info().PixelBytes() long.
// `layout` was filled by ParsePng. Error: DataLoss.
Status DecodePngWithSpng(const PngLayout& layout, uint8_t* pixels);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_PNG_PNG_FALLBACK_H_
