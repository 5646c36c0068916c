#include "ops/containers/recordio/file_parts.h"

#include <algorithm>
#include <string>
#include <utility>

namespace liquid {
namespace {

Status CheckPart(int64_t part, int64_t parts) {
  if (parts >= 1 && part >= 0 && part < parts) return OkStatus();
  return InvalidArgument("part (" + std::to_string(part) + " of " +
                         std::to_string(parts) +
                         ") must be (i, n) with 0 <= i < n");
}

// The `part`-th of ranges of `step` that cover `total`.
std::pair<uint64_t, uint64_t> Share(uint64_t total, uint64_t step,
                                    uint64_t part) {
  // step * part may pass 2^64; it matters only where it is below `total`.
  const uint64_t begin =
      step != 0 && part > total / step ? total : std::min(total, step * part);
  return {begin, begin + std::min(total - begin, step)};
}

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

Status PartByBytes(const std::vector<uint64_t>& sizes, int64_t part,
                   int64_t parts, std::vector<PartOfFile>* ranges) {
  LIQUID_RETURN_IF_ERROR(CheckPart(part, parts));
  uint64_t total = 0;
  for (const uint64_t size : sizes) total += size / 4 * 4;
  const uint64_t step =
      (CeilDivide(total, static_cast<uint64_t>(parts)) + 3) / 4 * 4;
  const auto [begin, end] = Share(total, step, static_cast<uint64_t>(part));
  ranges->clear();
  uint64_t before = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t size = sizes[i] / 4 * 4;
    PartOfFile piece;
    piece.file = i;
    piece.range.begin = std::clamp(begin, before, before + size) - before;
    piece.range.end = std::clamp(end, before, before + size) - before;
    before += size;
    // A file of less than 4 bytes is damaged, and the first part's.
    const bool tiny = size == 0 && sizes[i] > 0 && part == 0;
    if (piece.range.begin == piece.range.end && !tiny) continue;
    piece.range.begins_at_head = piece.range.begin == 0;
    piece.range.ends_at_head = piece.range.end == size;
    if (piece.range.ends_at_head) piece.range.end = sizes[i];
    ranges->push_back(piece);
  }
  return OkStatus();
}

Status PartByCount(const std::vector<uint64_t>& sizes,
                   std::vector<std::vector<uint64_t>> offsets, int64_t part,
                   int64_t parts, std::vector<PartOfFile>* ranges) {
  LIQUID_RETURN_IF_ERROR(CheckPart(part, parts));
  if (offsets.size() != sizes.size()) {
    return InvalidArgument("there must be an index for each file, not " +
                           std::to_string(offsets.size()) + " for " +
                           std::to_string(sizes.size()));
  }
  uint64_t total = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::sort(offsets[i].begin(), offsets[i].end());
    if (!offsets[i].empty() && offsets[i].back() >= sizes[i]) {
      return InvalidArgument(
          "file " + std::to_string(i) + ": the index has a record at offset " +
          std::to_string(offsets[i].back()) + ", and the file ends at " +
          std::to_string(sizes[i]) +
          ": use the index that was written with it");
    }
    total += offsets[i].size();
  }
  const auto [begin, end] =
      Share(total, CeilDivide(total, static_cast<uint64_t>(parts)),
            static_cast<uint64_t>(part));
  ranges->clear();
  uint64_t before = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t count = offsets[i].size();
    const uint64_t first = std::clamp(begin, before, before + count) - before;
    const uint64_t last = std::clamp(end, before, before + count) - before;
    before += count;
    if (first == last) continue;
    PartOfFile piece;
    piece.file = i;
    piece.range.begin = offsets[i][first];
    piece.range.end = last == count ? sizes[i] : offsets[i][last];
    piece.range.begins_at_head = true;
    piece.range.ends_at_head = true;
    piece.records = static_cast<int64_t>(last - first);
    ranges->push_back(piece);
  }
  return OkStatus();
}

}  // namespace liquid
