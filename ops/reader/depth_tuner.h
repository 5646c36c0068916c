// How many reads to have under way at once.
#ifndef LIQUID_OPS_READER_DEPTH_TUNER_H_
#define LIQUID_OPS_READER_DEPTH_TUNER_H_

#include <cstdint>

namespace liquid {

// Climbs to the depth at which the disk is fastest: tries one more, or one
// less, for a while, and stays there where that was faster. Where it was not,
// it goes back, and waits longer before each further trial.
//
// Thread-compatible, O(1). It has no clock; the times are the caller's.
class DepthTuner {
 public:
  // Depths are 1 to `most`; the first one is a guess, or `start`.
  explicit DepthTuner(int most);
  DepthTuner(int most, int start);

  int depth() const { return depth_; }
  // A read of `bytes` ended at `seconds`. `saturated`: as many reads as depth()
  // were under way until then. Where there were not, the disk waited for us,
  // and its speed says nothing of the depth.
  void Ended(uint64_t bytes, double seconds, bool saturated);

 private:
  void Measured(double rate);

  int most_;
  int depth_;
  int step_ = 1;             // direction of the next trial
  bool trying_ = false;      // depth_ is a trial
  double settled_rate_ = 0;  // bytes per second before the trial
  int wait_ = 1;             // periods between trials
  int waited_ = 0;

  // The period that is being measured.
  bool open_ = false;
  double begin_ = 0;
  uint64_t bytes_ = 0;
  int reads_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_DEPTH_TUNER_H_
