// Where the ones of a byte are, for targets that look it up.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_ONES_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_ONES_H_

#include <cstdint>
#include <cstring>

namespace liquid {

struct L3OnesTable {
  uint64_t places[256] = {};  // of its ones, a byte each, upwards
  uint8_t count[256] = {};
};

constexpr L3OnesTable MakeL3OnesTable() {
  L3OnesTable table;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (uint64_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) == 0) continue;
      table.places[byte] |= bit << 8 * table.count[byte];
      ++table.count[byte];
    }
  }
  return table;
}

inline constexpr L3OnesTable kL3OnesTable = MakeL3OnesTable();

constexpr uint32_t kL3OnesBytes = 32;  // that are searched at most
constexpr uint32_t kL3RowBytes = 24;   // that hold nearly every row
constexpr uint32_t kL3OnesRoom = 8 * kL3OnesBytes + 8;

// Finds at least `count` ones from bit `first` (0 to 7) on and writes where
// they are, then where some others are or nothing of sense, up to kL3OnesRoom
// bytes. False: there are not as many in kL3OnesBytes. kUsual bytes are
// searched in any case: how many are needed cannot be foreseen.
template <uint32_t kUsual>
inline bool FindL3Ones(const uint8_t* bytes, uint32_t first, uint32_t count,
                       uint8_t* places) {
  uint8_t* at = places;
  uint32_t byte = bytes[0] & 0xFFu << first;
  const auto next = [&](uint32_t i) {
    const uint64_t found =
        kL3OnesTable.places[byte] + uint64_t{0x0808080808080808} * i;
    std::memcpy(at, &found, 8);
    at += kL3OnesTable.count[byte];
    byte = bytes[i + 1];
  };
  uint32_t i = 0;
  for (; i < kUsual; ++i) next(i);
  for (; i < kL3OnesBytes && at < places + count; ++i) next(i);
  return at >= places + count;
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_ONES_H_
