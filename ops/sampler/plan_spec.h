// What is planned: formats with their samples, the sets of them in memory, and
// their limits. Thread-compatible; planner.h says what becomes of it.
#ifndef LIQUID_OPS_SAMPLER_PLAN_SPEC_H_
#define LIQUID_OPS_SAMPLER_PLAN_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/sampler/fidelity.h"
#include "ops/sampler/weights.h"

namespace liquid {

// Raised with every change of what a valid spec gives: a checkpoint of another
// version stands in another order.
constexpr int kPlanVersion = 2;

// Samples of one format, at most: a region spends 8 bytes on a member.
constexpr uint64_t kMaxFormatSamples = (uint64_t{1} << 32) - 2;
constexpr size_t kMaxFormats = 255;

struct FormatSpec {
  std::vector<uint64_t> files;  // records in each shard, stored order
  uint64_t cached = 0;          // C_f: records kept between epochs, <= N_f
  uint64_t fill = 0;            // samples in memory before epoch 0 draws, and
                                // the fewest to shuffle among
  // Samples of each record in stored order; empty: a record is a sample.
  std::vector<uint32_t> record_samples = {};
  // Only `count` records from `first` on are drawn, under their numbers; behind
  // the last record the section goes on at the first. N_f is `count` then.
  // Where formats share samples, of which each epoch gives them other ones.
  static constexpr uint64_t kWhole = UINT64_MAX;
  uint64_t first = 0;
  uint64_t count = kWhole;
  // Of records that can be read in part, the scan groups that are read at most:
  // formats may be the same records at several fidelities.
  uint32_t groups = kFullFidelity;

  bool operator==(const FormatSpec& other) const {
    return files == other.files && cached == other.cached &&
           fill == other.fill && record_samples == other.record_samples &&
           first == other.first && count == other.count &&
           groups == other.groups;
  }
};

// What decides which samples stay in memory between epochs.
enum class CachePolicy : uint8_t {
  kLiquid,  // regions, as above
  kMinio,   // those that were drawn first, C_f of each format, for ever
  kPage,    // none of ours: what the kernel's page cache happens to hold
};

struct PlanSpec {
  uint64_t seed = 0;
  uint64_t batch_size = 1;
  bool shuffle = true;
  // With shuffle, kMinio and kPage draw each format in a uniformly random
  // order and load nothing ahead of its draw. Without, the order and what is
  // kept are the same for all.
  CachePolicy policy = CachePolicy::kLiquid;
  std::vector<FormatSpec> formats;  // at most kMaxFormats
  // Null: each sample once an epoch. Else how often each is drawn, of sources
  // that are these formats; `cached` are then pinned: see pass_region.h.
  std::shared_ptr<const Weights> weights = nullptr;
};

// One bit per record of a format.
class SampleSet {
 public:
  SampleSet() = default;
  explicit SampleSet(uint64_t samples) : words_((samples + 63) / 64) {}
  bool contains(uint64_t i) const { return words_[i >> 6] >> (i & 63) & 1; }
  void insert(uint64_t i) { words_[i >> 6] |= uint64_t{1} << (i & 63); }
  void erase(uint64_t i) { words_[i >> 6] &= ~(uint64_t{1} << (i & 63)); }
  uint64_t count() const;
  const std::vector<uint64_t>& words() const { return words_; }
  std::vector<uint64_t>& words() { return words_; }
  bool operator==(const SampleSet& other) const {
    return words_ == other.words_;
  }

 private:
  std::vector<uint64_t> words_;
};

// The records that the regions hold when an epoch begins, one set per format.
using HeldSets = std::vector<SampleSet>;

// Numbers of samples and of records of a format that an epoch draws.
uint64_t SampleCount(const FormatSpec& format);
uint64_t RecordCount(const FormatSpec& format);
// Records of its files, drawn or not: what a SampleSet of it has room for.
uint64_t StoredCount(const FormatSpec& format);
// The i-th record of a format's section, of `stored` ones; all of a format are
// its section where it has none. Requires i < RecordCount(format).
inline uint64_t RecordAt(const FormatSpec& format, uint64_t i,
                         uint64_t stored) {
  const uint64_t record = format.first + i;
  return record < stored ? record : record - stored;
}
// Samples that an epoch draws of all formats.
uint64_t EpochSize(const PlanSpec& spec);
// Empty regions.
HeldSets NothingHeld(const PlanSpec& spec);

// Cuts the samples that all formats have into a section for each of them, one
// behind the other: as many as `samples` says. Requires a number for each
// format. Error: InvalidArgument where they are not all, or where a section of
// records of many samples begins or ends inside of one. O(records).
Status CutSections(const std::vector<int64_t>& samples, PlanSpec* spec);

// An error that names argument, value and constraint, where `spec` is none that
// can be planned. Everything below but Create and HeldAt requires a valid spec.
Status Validate(const PlanSpec& spec);
// Likewise, where a plan of a valid `spec` cannot start with `held`.
Status ValidateHeld(const PlanSpec& spec, const HeldSets& held);
// What an epoch of a valid `next` holds at its start of what the one before it
// has kept: samples that are still in the sections of their formats, and of
// these no more than `cached`, evenly spread. The same sets where no format has
// a section. O(samples).
HeldSets CarryOver(const PlanSpec& next, HeldSets kept);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_PLAN_SPEC_H_
