#include "tests/ops/codecs/l3_mutations.h"

#include <algorithm>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_compact_tables.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/core/crc32c.h"

namespace liquid {
namespace {

constexpr size_t kProfileAt = 15;
constexpr size_t kChannelsAt = 12;
// Of a compact patch: the checksum, and the two bytes that tell its kind.
constexpr size_t kPatchHeader = 6;

uint8_t* At(std::string* file, size_t at) {
  return reinterpret_cast<uint8_t*>(&(*file)[0]) + at;
}

uint32_t Little32(const std::string& file, size_t at) {
  return LoadLittle32(reinterpret_cast<const uint8_t*>(file.data()) + at);
}

uint32_t Little16(const std::string& file, size_t at) {
  return LoadLittle16(reinterpret_cast<const uint8_t*>(file.data()) + at);
}

void SetLittle16(std::string* file, size_t at, uint32_t value) {
  At(file, at)[0] = static_cast<uint8_t>(value);
  At(file, at)[1] = static_cast<uint8_t>(value >> 8);
}

uint64_t Patches(const std::string& file) {
  return L3PatchesAcross(Little32(file, 4), kL3V2Patch) *
         L3PatchesAcross(Little32(file, 8), kL3V2Patch);
}

uint64_t DataAt(uint64_t patches) {
  return kL3V2HeaderBytes + 4 * (patches + 1);
}

bool IsRice(const std::string& file, const L3PatchBytes& patch) {
  const uint32_t channels = static_cast<uint8_t>(file[kChannelsAt]);
  return file[kProfileAt] == 1 && channels >= 1 && channels <= kL3MaxChannels &&
         patch.end - patch.begin >= 4 + kL3ChannelHeader * channels &&
         (file[patch.begin + 5] & 0x80) == 0;
}

// Where the header of the channel is whose segment holds `at`, or 0.
size_t SegmentHeaderOf(const std::string& file, const L3PatchBytes& patch,
                       size_t at) {
  if (!IsRice(file, patch)) return 0;
  const uint32_t channels = static_cast<uint8_t>(file[kChannelsAt]);
  size_t end = patch.begin + 4 + kL3ChannelHeader * channels;
  if (at < end) return 0;
  for (uint32_t c = 0; c < channels; ++c) {
    const size_t header = patch.begin + 4 + kL3ChannelHeader * c;
    end += Little16(file, header);
    if (at < end || c + 1 == channels) return header;
  }
  return 0;
}

// Puts `bytes` in place of [at, at + count) of a patch; table and segment
// follow.
void Replace(const L3PatchBytes& patch, size_t at, size_t count,
             const std::string& bytes, std::string* file) {
  const uint32_t more = static_cast<uint32_t>(bytes.size() - count);
  for (uint64_t i = patch.number + 1; i <= Patches(*file); ++i) {
    uint8_t* const entry = At(file, kL3V2HeaderBytes + 4 * i);
    StoreLittle32(LoadLittle32(entry) + more, entry);
  }
  const size_t header = SegmentHeaderOf(*file, patch, at);
  if (header != 0) SetLittle16(file, header, Little16(*file, header) + more);
  file->replace(at, count, bytes);
}

void ChangeHeader(Noise* noise, std::string* file) {
  // The low bytes of the sides, channels, bits and, less often, all else.
  constexpr size_t kMost[] = {4, 4, 8, 8, 12, 13};
  const size_t at = noise->Below(8) == 0
                        ? noise->Below(kL3V2HeaderBytes)
                        : kMost[noise->Below(sizeof(kMost) / sizeof(*kMost))];
  *At(file, at) ^= static_cast<uint8_t>(at == 13 ? 24 : 1u << noise->Below(7));
}

void ChangeTable(Noise* noise, std::string* file) {
  const uint64_t entries = std::min<uint64_t>(
      Patches(*file) + 1, (file->size() - kL3V2HeaderBytes) / 4);
  uint8_t* const entry =
      At(file,
         kL3V2HeaderBytes + 4 * noise->Below(static_cast<uint32_t>(entries)));
  StoreLittle32(LoadLittle32(entry) + noise->Below(65) - 32, entry);
}

// Bytes for a stream: long runs of one bit make long codes.
std::string SomeBytes(const std::string& other, size_t count, Noise* noise) {
  switch (noise->Below(4)) {
    case 0:
      return std::string(count, '\0');
    case 1:
      return std::string(count, '\xFF');
    case 2:
      if (other.size() > count) {
        return other.substr(
            noise->Below(static_cast<uint32_t>(other.size() - count)), count);
      }
      [[fallthrough]];
    default: {
      std::string bytes(count, '\0');
      for (char& byte : bytes) byte = static_cast<char>(noise->Next());
      return bytes;
    }
  }
}

void ChangePatch(const std::string& other, Noise* noise, std::string* file) {
  const std::vector<L3PatchBytes> patches = L3PatchesIn(*file);
  if (patches.empty()) return;
  const L3PatchBytes& patch =
      patches[noise->Below(static_cast<uint32_t>(patches.size()))];
  const auto size = static_cast<uint32_t>(patch.end - patch.begin);
  // Half of the damage keeps to the headers of the patch and its channels.
  const uint32_t reach =
      noise->Below(2) == 0
          ? std::min<uint32_t>(size, 4 + kL3ChannelHeader * kL3MaxChannels)
          : size;
  if (reach <= 4) return;
  const size_t at = patch.begin + 4 + noise->Below(reach - 4);
  const size_t count =
      std::min<size_t>(patch.end - at, 1 + noise->Below(1u << noise->Below(6)));
  switch (noise->Below(5)) {
    case 0:
      *At(file, at) ^= static_cast<uint8_t>(1u << noise->Below(8));
      return;
    case 1:
      *At(file, at) = static_cast<uint8_t>(noise->Next());
      return;
    case 2:
      return Replace(patch, at, count, SomeBytes(other, count, noise), file);
    case 3:
      return Replace(patch, at, count, "", file);
    default:
      return Replace(patch, at, 0, SomeBytes(other, count, noise), file);
  }
}

}  // namespace

std::vector<L3PatchBytes> L3PatchesIn(const std::string& file) {
  std::vector<L3PatchBytes> places;
  const size_t size = file.size();
  if (size < kL3V2HeaderBytes + 8) return places;
  const uint64_t patches = Patches(file);
  const uint64_t data_at = DataAt(patches);
  if (patches > size || data_at > size) return places;
  for (size_t i = 0; i < patches; ++i) {
    const size_t entry = kL3V2HeaderBytes + 4 * i;
    const uint64_t begin = data_at + Little32(file, entry);
    const uint64_t end = data_at + Little32(file, entry + 4);
    if (begin + 4 <= end && end <= size) places.push_back({i, begin, end});
  }
  return places;
}

void MendL3(std::string* file) {
  if (file->size() < kL3V2HeaderBytes) return;
  StoreLittle32(Crc32c(ByteSpan(file->data(), 16)), At(file, 16));
  for (const L3PatchBytes& patch : L3PatchesIn(*file)) {
    uint8_t number[4];
    StoreLittle32(static_cast<uint32_t>(patch.number), number);
    const ByteSpan rest(file->data() + patch.begin + 4,
                        patch.end - patch.begin - 4);
    StoreLittle32(ExtendCrc32c(Crc32c(ByteSpan(number, 4)), rest),
                  At(file, patch.begin));
  }
}

void MendL3Sizes(std::string* file) {
  if (file->size() < kL3V2HeaderBytes + 8) return;
  const uint64_t patches = Patches(*file);
  const uint64_t data_at = DataAt(patches);
  if (patches == 0 || patches > file->size() || data_at > file->size()) return;
  StoreLittle32(static_cast<uint32_t>(file->size() - data_at),
                At(file, kL3V2HeaderBytes + 4 * patches));
  const std::vector<L3PatchBytes> places = L3PatchesIn(*file);
  if (places.empty() || places.back().number + 1 != patches) return;
  const L3PatchBytes& last = places.back();
  if (last.end - last.begin < kPatchHeader || !IsRice(*file, last)) return;
  const uint32_t channels = static_cast<uint8_t>((*file)[kChannelsAt]);
  size_t begin = last.begin + 4 + kL3ChannelHeader * channels;
  for (uint32_t c = 0; c + 1 < channels; ++c) {
    begin += Little16(*file, last.begin + 4 + kL3ChannelHeader * c);
  }
  if (begin > last.end) return;
  SetLittle16(file, last.begin + 4 + kL3ChannelHeader * (channels - 1),
              static_cast<uint32_t>(last.end - begin));
}

std::string MutateL3(std::string file, const std::string& other, Noise* noise) {
  const uint32_t changes = 1 + noise->Below(4);
  for (uint32_t i = 0; i < changes; ++i) {
    if (file.size() < kL3V2HeaderBytes + 8) break;
    switch (noise->Below(16)) {
      case 0:
        ChangeHeader(noise, &file);
        break;
      case 1:
        ChangeTable(noise, &file);
        break;
      default:
        ChangePatch(other, noise, &file);
    }
  }
  MendL3(&file);
  return file;
}

std::string ShortenL3(const std::string& file, size_t patch, size_t bytes) {
  std::string shorter = file;
  const L3PatchBytes place = L3PatchesIn(file)[patch];
  Replace(place, place.end - bytes, bytes, "", &shorter);
  MendL3(&shorter);
  return shorter;
}

}  // namespace liquid
