// What every batch of an epoch is made of: samples and kept samples per format.
//
// An epoch of N samples has floor(N/B) full batches and a partial one of N mod
// B at its end. Over the full batches, each format's samples drawn, kept and
// evicted (drawn and not kept) are in every batch the floor or the ceiling of
// their means, and so are all kept and all evicted samples together; every
// batch sums to B and the epoch to its exact totals. Running totals of a format
// stay within two of t times their means after t batches, those of all formats
// within one. Integers only: the table is the same everywhere.
//
// How. The partial batch is fixed first, so that the full ones have exact
// totals, and means of x drawn, y kept and z = x - y evicted over n batches.
// Every format gets floor(y) and floor(z) in each batch. What remains is a
// table of zeros and ones: with fractional parts fx, fy and fz, a format has
// one more to keep in fy of n batches, one more to evict in fz, and rests,
// having floor(x) samples, in 1 - fx. These three sum to one, where fy + fz =
// fx, or to two, where fy + fz = fx + 1. Fair slots of such a table are what
// FairTable gives.
// Rounding the mix and then, separately, what is kept of it would let the
// number of evicted samples, which is what the disk must load, take three
// values; rounding each format by itself, that of all formats many more.
#ifndef LIQUID_OPS_SAMPLER_MIXTURE_H_
#define LIQUID_OPS_SAMPLER_MIXTURE_H_

#include <cstdint>
#include <vector>

#include "ops/sampler/fair_table.h"

namespace liquid {

// One format's part of a batch.
struct BatchPart {
  uint64_t drawn = 0;
  uint64_t kept = 0;  // of those drawn
};

// floor and ceiling of a * b / c, exact. Require c > 0 and a result that fits.
uint64_t MulDivFloor(uint64_t a, uint64_t b, uint64_t c);
uint64_t MulDivCeil(uint64_t a, uint64_t b, uint64_t c);

// Thread-compatible; O(formats) memory, and time per batch as of FairTable.
class BatchTable {
 public:
  // Format f has samples[f] samples, of which kept[f] <= samples[f] are kept.
  // Requires batch_size >= 1, and a sum of samples below 2^48.
  BatchTable(const std::vector<uint64_t>& samples,
             const std::vector<uint64_t>& kept, uint64_t batch_size);

  uint64_t full_batches() const { return full_batches_; }
  // What the partial batch holds; all zero where there is none.
  const std::vector<BatchPart>& last() const { return last_; }

  // Sets `batch` to the next batch, the partial one last. False when the epoch
  // is over.
  bool Next(std::vector<BatchPart>* batch);

 private:
  // What every full batch has of a format.
  struct Least {
    uint64_t kept = 0, evicted = 0;
  };

  void FixLast(const std::vector<uint64_t>& samples,
               const std::vector<uint64_t>& kept, uint64_t total,
               uint64_t remainder);

  uint64_t full_batches_ = 0;
  uint64_t made_ = 0;
  bool partial_ = false;
  std::vector<BatchPart> last_;
  std::vector<Least> least_;
  FairTable extra_;  // kept, evicted, rests
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_MIXTURE_H_
