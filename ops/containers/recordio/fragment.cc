#include "ops/containers/recordio/fragment.h"

#include <cstring>

#include "ops/containers/recordio/little_endian.h"
#include "ops/containers/recordio/recordio.h"

namespace liquid {
namespace {

typedef uint32_t Words __attribute__((vector_size(16)));

constexpr size_t kBlock = 128;
constexpr size_t kAhead = 4096;

}  // namespace

std::string AtOffset(uint64_t offset) {
  return " at offset " + std::to_string(offset);
}

Status ParseFragment(ByteSpan bytes, size_t position, uint64_t base,
                     bool inside, Fragment* fragment) {
  if (bytes.size - position < kFragmentHeader) {
    return DataLoss("record ends inside a fragment's 8-byte header" +
                    AtOffset(base + position));
  }
  const uint8_t* header = bytes.data + position;
  if (LoadLittleEndian<uint32_t>(header) != kRecordIOMagic) {
    return DataLoss("no RecordIO magic" + AtOffset(base + position));
  }
  const uint32_t word = LoadLittleEndian<uint32_t>(header + 4);
  const uint32_t flag = word >> 29;
  const bool continues = flag == kMiddle || flag == kLast;
  if (flag > kLast || continues != inside) {
    return DataLoss("fragment flag " + std::to_string(flag) +
                    (inside ? " inside" : " at the start of") + " a record" +
                    AtOffset(base + position + 4));
  }
  fragment->flag = static_cast<FragmentFlag>(flag);
  fragment->size = word & kRecordIOMaxSize;
  fragment->framed = kFragmentHeader + (fragment->size + 3) / 4 * 4;
  return OkStatus();
}

size_t FindMagic(ByteSpan bytes) {
  // In memory's own order, as vectors, sixteen bytes at a time.
  constexpr uint8_t kMagic[4] = {0x0a, 0x23, 0xd7, 0xce};
  uint32_t magic;
  std::memcpy(&magic, kMagic, 4);
  size_t position = 0;
  for (; bytes.size - position >= kBlock; position += kBlock) {
    const uint8_t* block = bytes.data + position;
    // Measured: a quarter faster than with what the processor fetches itself.
    if (bytes.size - position >= kAhead + kBlock) {
      for (size_t line = 0; line < kBlock; line += 64) {
        __builtin_prefetch(block + kAhead + line);
      }
    }
    Words found = {};
    for (size_t i = 0; i < kBlock; i += sizeof(Words)) {
      Words words;
      std::memcpy(&words, block + i, sizeof(words));
      found |= reinterpret_cast<Words>(words == magic);
    }
    uint64_t halves[2];
    std::memcpy(halves, &found, sizeof(halves));
    if ((halves[0] | halves[1]) != 0) break;
  }
  for (; bytes.size - position >= 4; position += 4) {
    if (std::memcmp(bytes.data + position, kMagic, 4) == 0) return position;
  }
  return bytes.size;
}

size_t FindHead(ByteSpan bytes) {
  size_t position = 0;
  while (true) {
    const ByteSpan rest(bytes.data + position, bytes.size - position);
    const size_t magic = FindMagic(rest);
    if (magic == rest.size) return bytes.size / 4 * 4;
    position += magic;
    Fragment fragment;
    if (bytes.size - position < kFragmentHeader ||
        ParseFragment(bytes, position, 0, false, &fragment).ok()) {
      return position;
    }
    position += 4;
  }
}

}  // namespace liquid
