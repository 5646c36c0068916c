// What can be planned: sizes, sets and their limits.
#include "ops/sampler/plan_spec.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "ops/sampler/mixture.h"
#include "ops/sampler/weighted_source.h"

namespace liquid {
namespace {

uint64_t SetBits(uint64_t word) {
  uint64_t count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
}

std::string InFormat(size_t format, const char* field, uint64_t value) {
  return "formats[" + std::to_string(format) + "]." + field + " (" +
         std::to_string(value) + ")";
}

// Whether `set` has exactly its first `count` samples.
bool IsPrefix(const SampleSet& set, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!set.contains(i)) return false;
  }
  return set.count() == count;
}

bool IsSection(const FormatSpec& format) {
  return format.count != FormatSpec::kWhole;
}

// Samples of its files, drawn or not.
uint64_t StoredSamples(const FormatSpec& format) {
  if (format.record_samples.empty()) return StoredCount(format);
  return std::accumulate(format.record_samples.begin(),
                         format.record_samples.end(), uint64_t{0});
}

// How many records are before a sample; false where it is inside of one.
bool RecordsBefore(const FormatSpec& format, uint64_t sample,
                   uint64_t* records) {
  if (format.record_samples.empty()) {
    *records = sample;
    return true;
  }
  *records = 0;
  uint64_t before = 0;
  for (const uint32_t in_record : format.record_samples) {
    if (before >= sample) break;
    before += in_record;
    ++*records;
  }
  return before == sample;
}

// Members of `set` in the section of `format`.
uint64_t CountIn(const SampleSet& set, const FormatSpec& format) {
  const uint64_t stored = StoredCount(format);
  uint64_t count = 0;
  for (uint64_t i = 0; i < format.count; ++i) {
    count += set.contains(RecordAt(format, i, stored));
  }
  return count;
}

// Error: a section of format `f` that has `stored` samples which cannot be.
Status ValidatePart(const PlanSpec& spec, size_t f, uint64_t stored) {
  const FormatSpec& format = spec.formats[f];
  if (!IsSection(format)) return OkStatus();
  if (format.first > stored || format.count > stored) {
    return InvalidArgument(InFormat(f, "count", format.count) + " from " +
                           std::to_string(format.first) +
                           " on must lie within the format's samples, " +
                           std::to_string(stored));
  }
  if (!spec.shuffle || spec.policy != CachePolicy::kLiquid) {
    return InvalidArgument(InFormat(f, "count", format.count) +
                           " must be all of them where shuffle is off, and "
                           "where the policy is not Liquid's");
  }
  return OkStatus();
}

// Error: where records hold many samples, one that cannot be.
Status ValidateRecords(const FormatSpec& format, size_t f) {
  if (format.record_samples.empty()) return OkStatus();
  const uint64_t records = StoredCount(format);
  if (format.record_samples.size() != records) {
    return InvalidArgument(
        InFormat(f, "record_samples", format.record_samples.size()) +
        " must have a value for each of the " + std::to_string(records) +
        " records");
  }
  uint64_t samples = 0;
  for (uint32_t in_record : format.record_samples) {
    if (in_record < 1 || in_record > kMaxFormatSamples - samples) {
      return InvalidArgument("formats[" + std::to_string(f) +
                             "].record_samples must be at least 1 each and " +
                             "sum to at most " +
                             std::to_string(kMaxFormatSamples));
    }
    samples += in_record;
  }
  return OkStatus();
}

// Error: weights of other samples, or beside what goes with none.
Status ValidateWeights(const PlanSpec& spec) {
  if (spec.weights == nullptr) return OkStatus();
  if (!spec.shuffle || spec.policy != CachePolicy::kLiquid) {
    return InvalidArgument(
        "weights must not be given where shuffle is off, or the policy is not "
        "Liquid's");
  }
  if (spec.weights->sources() != spec.formats.size()) {
    return InvalidArgument("weights (" +
                           std::to_string(spec.weights->sources()) +
                           " sources) must have one for each of the " +
                           std::to_string(spec.formats.size()) + " formats");
  }
  for (size_t f = 0; f < spec.formats.size(); ++f) {
    const FormatSpec& format = spec.formats[f];
    if (IsSection(format) || !format.record_samples.empty()) {
      return InvalidArgument(
          "weights must not be given of sections, or of records of many "
          "samples, "
          "as format " +
          std::to_string(f) + " has them");
    }
    if (spec.weights->samples(f) != StoredCount(format)) {
      return InvalidArgument(
          "weights (" + std::to_string(spec.weights->samples(f)) +
          " samples of format " + std::to_string(f) +
          ") must be of its samples, " + std::to_string(StoredCount(format)));
    }
  }
  return OkStatus();
}

}  // namespace

uint64_t SampleSet::count() const {
  uint64_t count = 0;
  for (uint64_t word : words_) count += SetBits(word);
  return count;
}

uint64_t StoredCount(const FormatSpec& format) {
  uint64_t records = 0;
  for (uint64_t in_file : format.files) records += in_file;
  return records;
}

uint64_t RecordCount(const FormatSpec& format) {
  return IsSection(format) ? format.count : StoredCount(format);
}

uint64_t SampleCount(const FormatSpec& format) {
  if (format.record_samples.empty()) return RecordCount(format);
  const uint64_t stored = format.record_samples.size();
  const uint64_t records = RecordCount(format);
  uint64_t samples = 0;
  for (uint64_t i = 0; i < records; ++i) {
    samples += format.record_samples[RecordAt(format, i, stored)];
  }
  return samples;
}

uint64_t EpochSize(const PlanSpec& spec) {
  if (spec.weights != nullptr) return spec.weights->epoch_size();
  uint64_t samples = 0;
  for (const FormatSpec& format : spec.formats) samples += SampleCount(format);
  return samples;
}

HeldSets NothingHeld(const PlanSpec& spec) {
  HeldSets held;
  for (const FormatSpec& f : spec.formats) held.emplace_back(StoredCount(f));
  return held;
}

Status CutSections(const std::vector<int64_t>& samples, PlanSpec* spec) {
  if (samples.empty()) return OkStatus();
  const uint64_t shared = StoredSamples(spec->formats[0]);
  uint64_t first = 0;
  for (size_t f = 0; f < samples.size(); ++f) {
    FormatSpec& format = spec->formats[f];
    const std::string section = "a section (" + std::to_string(samples[f]) +
                                " samples of format " + std::to_string(f) + ")";
    const auto count = static_cast<uint64_t>(samples[f]);
    if (samples[f] < 0 || count > shared - first) {
      return InvalidArgument(section + " must be at least 0, and all sum to " +
                             std::to_string(shared));
    }
    uint64_t end = 0;
    const bool begins = RecordsBefore(format, first, &format.first);
    const bool ends = RecordsBefore(format, first + count, &end);
    if (count > 0 && !(begins && ends)) {
      return InvalidArgument(
          section + " must be of whole records: from sample " +
          std::to_string(first) + " on, it begins or ends inside of one");
    }
    format.count = end - format.first;
    first += count;
  }
  if (first != shared) {
    return InvalidArgument("sections (" + std::to_string(first) +
                           " samples) must be all that formats share, " +
                           std::to_string(shared));
  }
  return OkStatus();
}

HeldSets CarryOver(const PlanSpec& next, HeldSets kept) {
  for (size_t f = 0; f < kept.size(); ++f) {
    const FormatSpec& format = next.formats[f];
    if (!IsSection(format)) continue;
    std::vector<uint64_t> left;
    const uint64_t stored = StoredCount(format);
    for (uint64_t i = 0; i < format.count; ++i) {
      const uint64_t record = RecordAt(format, i, stored);
      if (kept[f].contains(record)) left.push_back(record);
    }
    const uint64_t room = std::min<uint64_t>(format.cached, left.size());
    kept[f] = SampleSet(StoredCount(format));
    for (uint64_t i = 0; i < room; ++i) {
      kept[f].insert(left[MulDivFloor(i, left.size(), room)]);
    }
  }
  return kept;
}

Status Validate(const PlanSpec& spec) {
  if (spec.batch_size < 1) {
    return InvalidArgument("batch_size (0) must be at least 1");
  }
  if (spec.formats.size() > kMaxFormats) {
    return InvalidArgument("formats (" + std::to_string(spec.formats.size()) +
                           " of them) must be at most " +
                           std::to_string(kMaxFormats));
  }
  for (size_t f = 0; f < spec.formats.size(); ++f) {
    uint64_t samples = 0;
    for (uint64_t in_file : spec.formats[f].files) {
      // Compared before it is added: the sum cannot overflow.
      if (in_file > kMaxFormatSamples - samples) {
        return InvalidArgument("formats[" + std::to_string(f) +
                               "].files must sum to at most " +
                               std::to_string(kMaxFormatSamples) + " samples");
      }
      samples += in_file;
    }
    LIQUID_RETURN_IF_ERROR(ValidatePart(spec, f, samples));
    samples = RecordCount(spec.formats[f]);
    const uint64_t cached = spec.formats[f].cached;
    if (cached > samples) {
      return InvalidArgument(InFormat(f, "cached", cached) +
                             " must be at most the format's samples, " +
                             std::to_string(samples));
    }
    if (spec.policy == CachePolicy::kPage && cached > 0) {
      return InvalidArgument(InFormat(f, "cached", cached) +
                             " must be 0 where the page cache is the cache");
    }
    LIQUID_RETURN_IF_ERROR(ValidateRecords(spec.formats[f], f));
    if (spec.policy != CachePolicy::kLiquid &&
        !spec.formats[f].record_samples.empty()) {
      return InvalidArgument("formats[" + std::to_string(f) +
                             "].record_samples must be empty where the policy "
                             "is not Liquid's: it knows records of one sample");
    }
  }
  return ValidateWeights(spec);
}

Status ValidateHeld(const PlanSpec& spec, const HeldSets& held) {
  if (held.size() != spec.formats.size()) {
    return InvalidArgument("held (" + std::to_string(held.size()) +
                           " sets) must have one set for each of the " +
                           std::to_string(spec.formats.size()) + " formats");
  }
  for (size_t f = 0; f < held.size(); ++f) {
    const std::string name = "held[" + std::to_string(f) + "]";
    const uint64_t samples = StoredCount(spec.formats[f]);
    const std::vector<uint64_t>& words = held[f].words();
    if (words.size() != (samples + 63) / 64 ||
        (samples % 64 > 0 && words.back() >> (samples % 64) != 0)) {
      return InvalidArgument(name + " must be a set of numbers below " +
                             std::to_string(samples) +
                             ", the samples of its format");
    }
    const uint64_t count = held[f].count();
    const uint64_t cached = spec.formats[f].cached;
    if (IsSection(spec.formats[f])) {
      if (count > cached || CountIn(held[f], spec.formats[f]) < count) {
        return InvalidArgument(
            name + " (" + std::to_string(count) +
            " samples) must be of the format's section, and " +
            "no more than are cached of it, " + std::to_string(cached));
      }
      continue;
    }
    if (spec.weights != nullptr) {
      if (count == 0) continue;
      const SampleSet pinned = PinnedSamples(spec, f, cached);
      for (size_t i = 0; i < words.size(); ++i) {
        if ((words[i] & ~pinned.words()[i]) == 0) continue;
        return InvalidArgument(
            name + " (" + std::to_string(count) + " samples) must be of the " +
            std::to_string(pinned.count()) + " that are pinned in its format");
      }
      continue;
    }
    if (count != 0 && count != cached) {
      return InvalidArgument(name + " (" + std::to_string(count) +
                             " samples) must have no samples or as many as " +
                             "are cached of its format, " +
                             std::to_string(cached));
    }
    if (!spec.shuffle && count != 0 && !IsPrefix(held[f], cached)) {
      return InvalidArgument(name + " must be the first " +
                             std::to_string(cached) +
                             " samples of its format where shuffle is off");
    }
  }
  return OkStatus();
}

}  // namespace liquid
