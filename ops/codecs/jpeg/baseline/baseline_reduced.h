// Inverse DCTs that make fewer samples than a block has: the plain code.
//
// Each takes the lowest frequencies alone, as libjpeg-turbo's own do. As with
// the whole one, coefficients that no encoder writes make what they make there
// on x86-64.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_REDUCED_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_REDUCED_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

// As BaselineFunctions::invert, for blocks of 1 x 1, 2 x 2 and 4 x 4 samples.
bool InvertTo1(const int16_t* blocks, const uint16_t* quantization,
               size_t count, uint8_t* out, size_t stride);
bool InvertTo2(const int16_t* blocks, const uint16_t* quantization,
               size_t count, uint8_t* out, size_t stride);
bool InvertTo4(const int16_t* blocks, const uint16_t* quantization,
               size_t count, uint8_t* out, size_t stride);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_REDUCED_H_
