// Colours times their opacity, so that what is transparent has no weight when
// pixels are mixed. The last of the 2 or 4 channels is the opacity.
#ifndef LIQUID_OPS_IMAGE_ALPHA_H_
#define LIQUID_OPS_IMAGE_ALPHA_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

inline bool HasAlpha(size_t channels) { return channels % 2 == 0; }

// Rounded as Pillow does between RGBA and RGBa, and between LA and La.
void Premultiply(const uint8_t* in, size_t pixels, size_t channels,
                 uint8_t* out);
void Unpremultiply(uint8_t* row, size_t pixels, size_t channels);

#if defined(__x86_64__)
// The same.
void PremultiplyAvx2(const uint8_t* in, size_t pixels, size_t channels,
                     uint8_t* out);
void UnpremultiplyAvx2(uint8_t* row, size_t pixels, size_t channels);
#endif

// Exactly: colours become multiples of the opacity, up to 2^32.
void Premultiply(const uint16_t* in, size_t pixels, size_t channels,
                 double* out);
// Colours are 0 where the opacity rounds to 0 or less.
void Unpremultiply(double* row, size_t pixels, size_t channels);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_ALPHA_H_
