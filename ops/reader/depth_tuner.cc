#include "ops/reader/depth_tuner.h"

#include <algorithm>

namespace liquid {
namespace {

constexpr int kStart = 4;
// A period is long enough for its rate to mean something.
constexpr double kPeriodSeconds = 0.05;
constexpr int kPeriodReads = 16;
// What a step has to gain to be worth its memory, in the noise of a disk.
constexpr double kGain = 1.03;
constexpr int kLongestWait = 64;

}  // namespace

DepthTuner::DepthTuner(int most) : DepthTuner(most, kStart) {}

DepthTuner::DepthTuner(int most, int start)
    : most_(std::max(1, most)), depth_(std::min(most_, start)) {}

void DepthTuner::Ended(uint64_t bytes, double seconds, bool saturated) {
  if (!saturated) {
    open_ = false;
    return;
  }
  if (!open_) {
    open_ = true;
    begin_ = seconds;
    bytes_ = 0;
    reads_ = 0;
    return;
  }
  bytes_ += bytes;
  ++reads_;
  if (reads_ < kPeriodReads || seconds - begin_ < kPeriodSeconds) return;
  open_ = false;
  Measured(static_cast<double>(bytes_) / (seconds - begin_));
}

void DepthTuner::Measured(double rate) {
  if (!trying_) {
    settled_rate_ = rate;
    if (++waited_ < wait_) return;
    waited_ = 0;
    if (depth_ + step_ < 1 || depth_ + step_ > most_) step_ = -step_;
    if (depth_ + step_ < 1 || depth_ + step_ > most_) return;
    depth_ += step_;
    trying_ = true;
    return;
  }
  trying_ = false;
  if (rate > settled_rate_ * kGain) {
    settled_rate_ = rate;
    wait_ = 1;
    return;
  }
  depth_ -= step_;
  step_ = -step_;
  wait_ = std::min(2 * wait_, kLongestWait);
}

}  // namespace liquid
