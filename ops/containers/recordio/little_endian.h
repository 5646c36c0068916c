// Little-endian integers in bytes, on any host.
#ifndef LIQUID_OPS_CONTAINERS_RECORDIO_LITTLE_ENDIAN_H_
#define LIQUID_OPS_CONTAINERS_RECORDIO_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace liquid {

// Reads sizeof(T) bytes at `bytes`. T is an unsigned integer.
template <typename T>
inline T LoadLittleEndian(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(bytes[i]) << (8 * i));
  }
  return value;
}

// Appends sizeof(T) bytes to `*out`. T is an unsigned integer.
template <typename T>
inline void AppendLittleEndian(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_CONTAINERS_RECORDIO_LITTLE_ENDIAN_H_
