#include "ops/sampler/worker_part.h"

#include <algorithm>
#include <string>

#include "ops/sampler/plan_spec.h"

namespace liquid {
namespace {

Status ValidateArguments(const std::vector<uint64_t>& samples, uint64_t index,
                         uint64_t count) {
  // Bounded like the samples, so that no sum below can overflow.
  if (count < 1 || count > kMaxFormatSamples) {
    return InvalidArgument("count (" + std::to_string(count) +
                           ") must be between 1 and " +
                           std::to_string(kMaxFormatSamples));
  }
  if (index >= count) {
    return InvalidArgument("index (" + std::to_string(index) +
                           ") must be below count, " + std::to_string(count));
  }
  for (size_t f = 0; f < samples.size(); ++f) {
    if (samples[f] > kMaxFormatSamples) {
      return InvalidArgument("samples[" + std::to_string(f) + "] (" +
                             std::to_string(samples[f]) + ") must be at most " +
                             std::to_string(kMaxFormatSamples));
    }
  }
  return OkStatus();
}

}  // namespace

Status MakeWorkerPart(const std::vector<uint64_t>& samples, uint64_t index,
                      uint64_t count, PartPolicy policy, WorkerPart* part) {
  LIQUID_RETURN_IF_ERROR(ValidateArguments(samples, index, count));
  *part = WorkerPart();
  part->formats.resize(samples.size());
  // The odd samples of the formats in one row, dealt to parts 0, 1, ... in
  // turn: `dealt` is the part whose turn it is.
  uint64_t dealt = 0;
  // The largest formats with an odd sample that this part received, or not.
  const size_t none = samples.size();
  size_t with_odd = none;
  size_t without_odd = none;
  for (size_t f = 0; f < samples.size(); ++f) {
    const uint64_t odd = samples[f] % count;
    // Parts dealt .. dealt + odd - 1, modulo count, receive one each; those
    // below `index` push this part's range up.
    const uint64_t wrapped = dealt + odd > count ? dealt + odd - count : 0;
    const uint64_t end = std::min(dealt + odd, count);
    const uint64_t below =
        std::min(index, wrapped) + std::clamp(index, dealt, end) - dealt;
    const bool receives = index < wrapped || (index >= dealt && index < end);
    PartRange& range = part->formats[f];
    range.start = index * (samples[f] / count) + below;
    range.length = samples[f] / count + receives;
    if (odd > 0) {
      size_t& largest = receives ? with_odd : without_odd;
      if (largest == none || samples[f] > samples[largest]) largest = f;
    }
    dealt = (dealt + odd) % count;
  }
  // Parts below `dealt` have one sample more than the others, if it is not 0.
  if (dealt == 0 || policy == PartPolicy::kUneven) return OkStatus();
  if (policy == PartPolicy::kDrop) {
    part->dropped_in_all = dealt;
    if (index < dealt) {
      // It has more than others, so some format's odd sample is its own.
      --part->formats[with_odd].length;
      part->dropped = 1;
    }
    return OkStatus();
  }
  part->repeated_in_all = count - dealt;
  if (index >= dealt) {
    // Another part has more, so there is an odd sample that is not its own.
    // The largest format is changed least by a repeat.
    PartRange& range = part->formats[without_odd];
    // With fewer samples than parts, the repeats are spread over all samples.
    if (range.length == 0) range.start = index % samples[without_odd];
    ++range.length;
    part->repeated = 1;
  }
  return OkStatus();
}

std::vector<FilePiece> PiecesOf(const std::vector<uint64_t>& files,
                                const PartRange& range) {
  uint64_t samples = 0;
  for (uint64_t in_file : files) samples += in_file;
  std::vector<FilePiece> pieces;
  uint64_t start = samples == 0 ? 0 : range.start % samples;
  uint64_t left = samples == 0 ? 0 : range.length;
  while (left > 0) {
    for (size_t file = 0; file < files.size() && left > 0; ++file) {
      if (start >= files[file]) {
        start -= files[file];
        continue;
      }
      const uint64_t count = std::min(files[file] - start, left);
      pieces.push_back({file, start, count});
      left -= count;
      start = 0;
    }
  }
  return pieces;
}

}  // namespace liquid
