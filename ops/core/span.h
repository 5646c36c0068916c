// A view of bytes that somebody else owns.
#ifndef LIQUID_OPS_CORE_SPAN_H_
#define LIQUID_OPS_CORE_SPAN_H_

#include <cstddef>
#include <cstdint>

namespace liquid {

struct ByteSpan {
  const uint8_t* data = nullptr;
  size_t size = 0;

  ByteSpan() = default;
  ByteSpan(const void* bytes, size_t length)
      : data(static_cast<const uint8_t*>(bytes)), size(length) {}
};

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_SPAN_H_
