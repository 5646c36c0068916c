// Undoes PNG's row filters, the half of decoding that is not inflating.
#ifndef LIQUID_OPS_CODECS_PNG_PNG_DEFILTER_H_
#define LIQUID_OPS_CODECS_PNG_PNG_DEFILTER_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/status.h"

namespace liquid {

// Rows that are defiltered together; the last group of an image may be smaller.
constexpr size_t kPngRowGroup = 4;

// Bytes that may be read, never written, past the last row of the buffer.
constexpr size_t kPngRowPadding = 16;

// Defilters `rows` rows in place. `first` points at the filter byte of the
// first; each row is 1 + row_bytes long and the next follows directly. `above`
// is the defiltered row above (all zeros for the top of the image), row_bytes
// plus kPngRowPadding readable bytes. `pixel_bytes` is 1, 2, 3, 4, 6 or 8.
// Error: DataLoss for an unknown filter. Thread-safe.
Status DefilterPngRows(uint8_t* first, size_t rows, size_t row_bytes,
                       size_t pixel_bytes, const uint8_t* above);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_PNG_PNG_DEFILTER_H_
