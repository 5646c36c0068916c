// The planner: which sample comes next, from where, and whether it is kept.
//
// A pure function of (spec, epoch, held): no TensorFlow, no I/O, no clock, no
// platform-dependent library. Threads, disk speed and prefetching can therefore
// change how fast an epoch runs, never what it yields.
// (Liquid, APSys '23, section 4.2; docs/determinism.md.)
//
// What is loaded, kept and evicted is a *record*: in most formats a sample, in
// some (PCR) many samples, which are then drawn singly: record_window.h. Of
// these read "sample" as "record" below.
//
// Every format has a *region* of samples in memory. When an epoch begins it is
// the set that the last epoch kept. Each draw takes a uniformly random sample
// of the current region; it is either kept for the next epoch or evicted, and
// then the next sample in disk order that was not held when the epoch began is
// loaded in its place.
//
// In memory. A kept sample frees no place, so a region has room for more than
// the cached samples: for a slack of S_f, the format's part of a batch or what
// `fill` asks beyond C_f, whichever is more. With H_f samples held at the start
// (none or C_f; or, of a part, any number up to C_f: see CarryOver):
//  - Before the first draw, samples are loaded until C_f + S_f are in memory;
//    in an epoch that starts with less than C_f held, only until `fill` or a
//    batch's part is. Waiting for the whole cache would delay the
//    first batch.
//  - After each draw, up to two samples are loaded while there is room. Once
//    the region is full that is one for each evicted draw; before, it is a
//    ramp.
// So a region is never empty while draws of its format remain. In memory are
// u undrawn and k kept samples, with k <= C_f. If the disk has more, either
// memory is full, and u = C_f + S_f - k >= S_f >= 1; or it is not yet, and then
// every draw so far has brought two samples for the one that it took, so that u
// has not fallen since the start, where it was at least S_f. If the disk has no
// more, the undrawn samples are all in memory.
//
// With shuffle off, draw j of a format is its sample j; inside a batch the
// formats follow one another; the first C_f samples of each format are kept.
// How many samples of a batch are kept is then not constant.
//
// That is the policy of Liquid. Two others are there to be compared with it,
// in batches of the same composition; see CachePolicy.
//
// Thread-compatible. Samples of a format are numbered 0..N_f-1 in stored order.
#ifndef LIQUID_OPS_SAMPLER_PLANNER_H_
#define LIQUID_OPS_SAMPLER_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/sampler/mixture.h"

namespace liquid {

// Raised with every change of what a valid spec gives: a checkpoint of another
// version stands in another order.
constexpr int kPlanVersion = 2;

// Samples of one format, at most: a region spends 8 bytes on a member.
constexpr uint64_t kMaxFormatSamples = (uint64_t{1} << 32) - 2;
constexpr size_t kMaxFormats = 255;

struct FormatSpec {
  std::vector<uint64_t> files;  // records in each shard file, stored order
  uint64_t cached = 0;          // C_f: records kept between epochs, <= N_f
  uint64_t fill = 0;            // samples in memory before epoch 0 draws, and
                                // the fewest to shuffle among
  // Samples of each record in stored order; empty: a record is a sample.
  std::vector<uint32_t> record_samples = {};
  // Only `count` samples from `first` on are drawn, under their numbers; N_f is
  // `count` then. Where formats share samples, and each epoch another mix.
  static constexpr uint64_t kWhole = UINT64_MAX;
  uint64_t first = 0;
  uint64_t count = kWhole;

  bool operator==(const FormatSpec& other) const {
    return files == other.files && cached == other.cached &&
           fill == other.fill && record_samples == other.record_samples &&
           first == other.first && count == other.count;
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

struct Draw {
  static constexpr int64_t kHeld = -1;
  uint32_t format = 0;
  uint64_t sample = 0;
  int64_t load =
      kHeld;          // which load of its format brought its record, or kHeld
  bool keep = false;  // its record stays for the next epoch
  uint64_t record = sample;
  bool last = true;  // of its record in this epoch

  bool operator==(const Draw& other) const {
    return format == other.format && sample == other.sample &&
           load == other.load && keep == other.keep && record == other.record &&
           last == other.last;
  }
};

// Numbers of samples and of records of a format that an epoch draws.
uint64_t SampleCount(const FormatSpec& format);
uint64_t RecordCount(const FormatSpec& format);
// Records of its files, drawn or not: what a SampleSet of it has room for.
uint64_t StoredCount(const FormatSpec& format);
// Empty regions.
HeldSets NothingHeld(const PlanSpec& spec);

// An error that names argument, value and constraint, where `spec` is none that
// can be planned. Everything below but Create and HeldAt requires a valid spec.
Status Validate(const PlanSpec& spec);
// Likewise, where a plan of a valid `spec` cannot start with `held`.
Status ValidateHeld(const PlanSpec& spec, const HeldSets& held);
// What an epoch of a valid `next` holds at its start of what the one before it
// has kept: samples that are still in the parts of their formats, and of these
// no more than `cached`, evenly spread. The same sets where no format has a
// part. O(samples).
HeldSets CarryOver(const PlanSpec& next, HeldSets kept);

// Files of a format that are read at the same time, and how many records are
// read of one before it is the next one's turn: part of the order of samples.
constexpr size_t kOpenFiles = 4;
constexpr uint64_t kRecordsPerTurn = 16;

// The order in which one format's records are loaded from disk in one epoch:
// files permuted and several interleaved, each read forward, records of `held`
// left out. With shuffle off, stored order. O(files) memory, O(1) amortised per
// record of the format.
class LoadOrder {
 public:
  // `held` may be null: nothing is held. It must outlive the order.
  LoadOrder(const PlanSpec& spec, uint32_t format, int64_t epoch,
            const SampleSet* held);
  // False at the end.
  bool Next(uint64_t* record);

 private:
  struct Cursor {
    uint64_t next, end;
  };
  void EndTurn();

  const SampleSet* held_;      // not owned
  std::vector<Cursor> files_;  // in this epoch's order
  std::vector<Cursor> open_;   // interleaved
  size_t next_file_ = 0;       // first of files_ that has not been opened
  size_t turn_ = 0;            // whose turn of open_ it is
  uint64_t left_in_turn_ = kRecordsPerTurn;
};

class EpochPlan {
 public:
  // `held` must hold, per format, either nothing or exactly `cached` samples;
  // with shuffle off, these are the first ones. Of a part it may hold any
  // number of its samples up to `cached`. O(samples) bits of memory and 8
  // bytes for each sample of a region, not of its content.
  // Error: InvalidArgument that names argument, value and constraint.
  static Status Create(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
                       HeldSets held, std::unique_ptr<EpochPlan>* plan);
  ~EpochPlan();

  // Draws in the epoch: the sum of all sample counts.
  uint64_t size() const;
  // Draws made so far.
  uint64_t position() const;
  int64_t epoch() const;
  const PlanSpec& spec() const;
  // What the regions held when the epoch began.
  const HeldSets& held() const;
  // Format of the next draw. Requires position() < size().
  uint32_t PeekFormat() const;
  // Loads of `format` that come before the next draw, from the epoch's start.
  uint64_t loads(uint32_t format) const;
  // In a format of records of many samples: those whose turn comes in the batch
  // of the next draw, and which of them are kept. Requires position() < size().
  BatchPart turns(uint32_t format) const;
  // Makes the next draw. Requires position() < size(). O(1) amortised.
  Draw Next();
  // Makes `draws` draws, or all that are left if these are fewer.
  void Skip(uint64_t draws);
  // The sets kept so far; after the last draw, the next epoch's `held`.
  const HeldSets& kept() const;

 private:
  struct State;
  explicit EpochPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What the regions hold when `epoch` begins, every epoch before it having been
// planned from `first_epoch` on, at whose start they held `held`. O(draws), or
// immediate where each format is cached whole or not at all.
Status HeldAt(std::shared_ptr<const PlanSpec> spec, int64_t first_epoch,
              HeldSets held, int64_t epoch, HeldSets* result);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_PLANNER_H_
