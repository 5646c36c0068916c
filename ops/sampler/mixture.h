// What every batch of an epoch is made of: samples and kept samples per format.
//
// An epoch of N samples has floor(N/B) full batches and a partial one of N mod
// B at its end. Over the full batches, each format's samples drawn, kept and
// evicted (drawn and not kept) are in every batch the floor or the ceiling of
// their means; every batch sums to B and the epoch to its exact totals; the
// samples of a format after t batches are within one of t times their mean, the
// kept and the evicted within two. Integers only: the table is the same
// everywhere.
//
// How. The partial batch is fixed first, so that the full ones have exact
// totals N', C' and means x = N'/n, y = C'/n of kept and z = x - y of evicted
// samples over n batches.
//  1. Samples: every format gets floor(x) in each batch, and the places that
//  are
//     left go out by Pfair scheduling with the fractional parts as weights.
//  2. Kept: with fractional parts fx, fy, fz either fy + fz = fx, and batches
//  of
//     floor(x) samples must keep floor(y) while those of ceil(x) have one
//     sample that may be kept or evicted; or fy + fz = fx + 1, and batches of
//     ceil(x) must keep ceil(y) while those of floor(x) have the choice. Either
//     way the number of batches with a choice and the number that keep are
//     known, and the choices are spread evenly among them as Bresenham spreads
//     the steps of a line.
// Rounding the mix and then, separately, what is kept of it would let the
// number of evicted samples, which is what the disk must load, take three
// values.
#ifndef LIQUID_OPS_SAMPLER_MIXTURE_H_
#define LIQUID_OPS_SAMPLER_MIXTURE_H_

#include <cstdint>
#include <vector>

#include "ops/sampler/pfair.h"

namespace liquid {

// One format's part of a batch.
struct BatchPart {
  uint64_t drawn = 0;
  uint64_t kept = 0;  // of those drawn
};

// floor and ceiling of a * b / c, exact. Require c > 0 and a result that fits.
uint64_t MulDivFloor(uint64_t a, uint64_t b, uint64_t c);
uint64_t MulDivCeil(uint64_t a, uint64_t b, uint64_t c);

// Thread-compatible; O(formats) memory, and time per batch.
class BatchTable {
 public:
  // Format f has samples[f] samples, of which kept[f] <= samples[f] are kept.
  // Requires batch_size >= 1 and a sum of samples below 2^63.
  BatchTable(const std::vector<uint64_t>& samples,
             const std::vector<uint64_t>& kept, uint64_t batch_size);

  uint64_t full_batches() const { return full_batches_; }
  // What the partial batch holds; all zero where there is none.
  const std::vector<BatchPart>& last() const { return last_; }

  // Sets `batch` to the next batch, the partial one last. False when the epoch
  // is over.
  bool Next(std::vector<BatchPart>* batch);

 private:
  struct Format {
    uint64_t drawn_floor = 0;
    uint64_t kept_floor = 0;
    bool choice_in_larger = true;  // batches of ceil(x) have the choice
    uint64_t keeps = 0;            // of the batches with a choice
    uint64_t choices = 0;          // batches with a choice
    uint64_t steps = 0;            // Bresenham's error term, < choices
  };

  void FixLast(const std::vector<uint64_t>& samples,
               const std::vector<uint64_t>& kept, uint64_t total,
               uint64_t remainder);

  uint64_t full_batches_ = 0;
  uint64_t made_ = 0;
  bool partial_ = false;
  std::vector<BatchPart> last_;
  std::vector<Format> formats_;
  PfairSchedule extra_;
  std::vector<uint32_t> running_;  // scratch
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_MIXTURE_H_
