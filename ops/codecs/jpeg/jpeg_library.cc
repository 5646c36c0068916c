#include "ops/codecs/jpeg/jpeg_library.h"

namespace liquid {

bool IsExactJpeg(const jpeg_decompress_struct& decoder) {
  if (!decoder.progressive_mode || decoder.coef_bits == nullptr) return true;
  for (int i = 0; i < decoder.num_components; ++i) {
    for (int k = 0; k < DCTSIZE2; ++k) {
      if (decoder.coef_bits[i][k] != 0) return false;
    }
  }
  return true;
}

}  // namespace liquid
