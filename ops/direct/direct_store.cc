#include "ops/direct/direct_store.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/containers/pcr/pcr_messages.h"
#include "ops/direct/problem.h"
#include "ops/engine/example.h"

namespace liquid {
namespace {

Status PeekAny(ByteSpan file, LiquidImage* image) {
  Format format;
  LIQUID_RETURN_IF_ERROR(SniffFormat(file, &format));
  DecodeLimits limits;
  limits.max_pixels = image->max_pixels;
  limits.max_scans = image->max_scans;
  ImageInfo info;
  LIQUID_RETURN_IF_ERROR(Peek(format, file, limits, &info));
  image->format = static_cast<int32_t>(format);
  image->height = info.height;
  image->width = info.width;
  image->channels = info.channels;
  image->bits = info.bits;
  return OkStatus();
}

// Appends to an array that may not be there; returns where it ends.
template <typename From, typename To>
uint64_t Append(const From& from, To* to, uint64_t end) {
  if (to != nullptr) std::copy(from.begin(), from.end(), to + end);
  return end + from.size();
}

Status ReadPcrIndex(ByteSpan contents, LiquidPcrIndex* index) {
  std::vector<PcrEntry> entries;
  LIQUID_RETURN_IF_ERROR(ParsePcrIndex(contents, &entries));
  index->records = entries.size();
  index->name_bytes = index->parts = index->checksums = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const PcrEntry& entry = entries[i];
    index->name_bytes = Append(entry.name, index->names, index->name_bytes);
    index->parts = Append(entry.lengths, index->lengths, index->parts);
    index->checksums = Append(entry.crc32cs, index->crc32cs, index->checksums);
    if (index->name_ends == nullptr) continue;
    index->name_ends[i] = index->name_bytes;
    index->part_ends[i] = index->parts;
    index->checksum_ends[i] = index->checksums;
  }
  return OkStatus();
}

static_assert(static_cast<int32_t>(ExampleFeature::Kind::kNone) == kLiquidNone);
static_assert(static_cast<int32_t>(ExampleFeature::Kind::kBytes) ==
              kLiquidByteStrings);
static_assert(static_cast<int32_t>(ExampleFeature::Kind::kFloats) ==
              kLiquidFloats);
static_assert(static_cast<int32_t>(ExampleFeature::Kind::kInt64s) ==
              kLiquidInt64s);

Status ReadExamples(LiquidFeature* feature, uint64_t* wrong) {
  const std::string name(reinterpret_cast<const char*>(feature->name.data),
                         feature->name.size);
  const uint8_t* const bytes = feature->bytes.data;
  uint64_t values = 0;
  for (uint64_t i = 0; i < feature->examples; ++i) {
    *wrong = i;
    const uint64_t begin = feature->offsets[i], end = feature->offsets[i + 1];
    if (end < begin || end > feature->bytes.size) {
      return InvalidArgument("offsets must ascend to the bytes' size");
    }
    ExampleReader reader;
    ExampleFeature found;
    LIQUID_RETURN_IF_ERROR(reader.Open(ByteSpan(bytes + begin, end - begin)));
    LIQUID_RETURN_IF_ERROR(reader.Find(name, &found));
    feature->kinds[i] = static_cast<int32_t>(found.kind);
    feature->counts[i] = found.size();
    Append(found.floats, feature->floats, values);
    Append(found.int64s, feature->int64s, values);
    if (feature->places != nullptr) {
      uint64_t* place = feature->places + 2 * values;
      for (const ByteSpan& text : found.bytes) {
        *place++ = text.size == 0 ? 0 : text.data - bytes;
        *place++ = text.size;
      }
    }
    values += found.size();
  }
  return OkStatus();
}

}  // namespace
}  // namespace liquid

bool liquid_direct_peek(LiquidBytes file, LiquidImage* image,
                        LiquidProblem problem) {
  const auto peek = [&] {
    return liquid::PeekAny(liquid::ByteSpan(file.data, file.size), image);
  };
  return liquid::Guarded(problem, peek) == liquid::StatusCode::kOk;
}

bool liquid_direct_pcr_index(LiquidBytes contents, LiquidPcrIndex* index,
                             LiquidProblem problem) {
  const auto read = [&] {
    return liquid::ReadPcrIndex(liquid::ByteSpan(contents.data, contents.size),
                                index);
  };
  return liquid::Guarded(problem, read) == liquid::StatusCode::kOk;
}

bool liquid_direct_examples(LiquidFeature* feature, uint64_t* wrong,
                            LiquidProblem problem) {
  const auto read = [&] { return liquid::ReadExamples(feature, wrong); };
  return liquid::Guarded(problem, read) == liquid::StatusCode::kOk;
}
