// The operations of augmentation policies.
#ifndef LIQUID_OPS_IMAGE_OPERATIONS_H_
#define LIQUID_OPS_IMAGE_OPERATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/image/resample.h"

namespace liquid {

// What is done to the pixels of a canvas of 8 bits, as Pillow does it.
enum class OperationKind : uint8_t {
  kAffine,  // Image.transform(size, AFFINE, matrix, resample, fillcolor)
  kTurn90,  // counter-clockwise; of squares, as kTurn270
  kTurn180,
  kTurn270,
  kFlip,        // top to bottom
  kBrightness,  // ImageEnhance, as the three below; `amount` is the factor
  kColor,
  kContrast,
  kSharpness,
  kPosterize,    // `amount` bits stay, 0 to 8
  kSolarize,     // values at `amount` and above are inverted
  kSolarizeAdd,  // `amount`, 0 to 255, is added to values below 128
  kAutoContrast,
  kEqualize,
  kInvert,
  kGray,  // convert("L"), in as many channels
  kBlur,  // ImageFilter.GaussianBlur(amount); at least 0
};

struct Operation {
  OperationKind kind = OperationKind::kInvert;
  Interpolation interpolation = Interpolation::kNearest;  // of kAffine
  std::array<uint8_t, 3> fill = {};                       // of kAffine
  double amount = 0;
  // Of kAffine, in Pillow's order: pixel (x, y) of the result is found at
  // (m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]).
  std::array<double, 6> matrix = {};
};

// Does the operations one after the other. `canvas` (height x width x channels,
// 1 or 3, without gaps) and `other`, of the same size, are both written;
// `*result` is the one that holds what comes out. Equal to the bit to what
// Pillow 13.0.0 makes of such an image, on every machine. Numbers are finite.
// Pure and thread-safe; O(pixels) an operation.
void ApplyOperations(const Operation* operations, size_t count, size_t height,
                     size_t width, size_t channels, uint8_t* canvas,
                     uint8_t* other, uint8_t** result);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_OPERATIONS_H_
