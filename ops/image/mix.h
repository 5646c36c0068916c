// Samples of a batch that are mixed in pairs, with their labels: mixup (Zhang
// et al., "mixup: beyond empirical risk minimization", ICLR 2018) and CutMix
// (Yun et al., ICCV 2019), by the rules of timm's Mixup.
#ifndef LIQUID_OPS_IMAGE_MIX_H_
#define LIQUID_OPS_IMAGE_MIX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/codecs/codec.h"

namespace liquid {

struct MixStep {
  // What is drawn once: for all, for both of a pair, or for each.
  enum class Mode : uint8_t { kBatch, kPair, kElem };

  bool given = false;
  double mixup = 0;  // alpha, from .01 to 100; 0: none
  double cutmix = 0;
  uint64_t chance = 0;  // of 2^32: that something happens
  uint64_t cut = 0;     // of 2^32: CutMix, where both are given
  double smoothing = 0;
  Mode mode = Mode::kBatch;
  // Of each source, the dataset that its samples are of; empty: one of all.
  std::vector<uint32_t> members;

  bool mixes() const { return chance > 0 && (mixup > 0 || cutmix > 0); }
};

// What becomes of one sample.
struct Blend {
  uint32_t partner = 0;  // its place in the batch
  float share = 1;       // of the label, and where nothing is cut of the pixels
  float rest = 0;        // the partner's
  bool cut = false;
  Window window;  // that is the partner's, where `cut`

  bool mixed() const { return !cut && share != 1; }
};

// A number of the distribution Beta(alpha, alpha), rounded to float32: a pure
// function of the numbers of a draw. For alpha < 1 by Jöhnk's rule, else by
// rejection from the uniform distribution.
float DrawBeta(double alpha, uint64_t seed, int64_t epoch, uint64_t draw);

// Gives every sample whose partner is another one what is drawn for it, of
// images of that size. Sample i of the batch is view i % views of draw
// `first_draw` + i / views.
void DrawBlends(const MixStep& step, uint64_t seed, int64_t epoch,
                uint64_t first_draw, size_t views, uint32_t height,
                uint32_t width, std::vector<Blend>* blends);

// What a class is, as numbers for each class.
struct Smoothed {
  Smoothed() = default;
  Smoothed(double smoothing, size_t classes);

  size_t classes = 0;
  float on = 1;
  float off = 0;
};

// Writes the label of a sample of class `own`, whose partner's is `other`: each
// product and the sum rounded to float32.
void MixLabel(const Smoothed& smoothed, const Blend& blend, size_t own,
              size_t other, float* out);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_MIX_H_
