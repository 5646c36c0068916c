// One fragment of a RecordIO record, which most records have one of
// (docs/formats/recordio.md). Pure functions, thread-safe, no I/O.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_FRAGMENT_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_FRAGMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

enum FragmentFlag : uint32_t { kWhole = 0, kFirst = 1, kMiddle = 2, kLast = 3 };

constexpr size_t kFragmentHeader = 8;

struct Fragment {
  FragmentFlag flag = kWhole;
  size_t size = 0;    // of the data behind the header
  size_t framed = 0;  // of header, data and padding
};

// " at offset N".
std::string AtOffset(uint64_t offset);

// Reads the header of the fragment at bytes[position]. `base` is the offset of
// bytes[0] in what the caller reads, for messages; `inside` says that fragments
// of the same record stand before it. Error: DataLoss with the offset.
Status ParseFragment(ByteSpan bytes, size_t position, uint64_t base,
                     bool inside, Fragment* fragment);

// The first magic of `bytes` at a multiple of 4, or bytes.size where there is
// none. O(bytes).
size_t FindMagic(ByteSpan bytes);

// The first head (fragment flag 0 or 1) of `bytes` at a multiple of 4, or else
// the first such position whose 8 bytes are not all there: a search in the
// bytes that follow goes on from it. O(bytes).
size_t FindHead(ByteSpan bytes);

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_FRAGMENT_H_
