#include "ops/http/hedge_policy.h"

#include <algorithm>

namespace liquid {
namespace {

constexpr double kLeavesAnAnswer = 1. / 50;
constexpr double kMostLeaves = 4;
// Of the answers, which all but one in sixteen beat.
constexpr size_t kSlow = HedgePolicy::kAnswers - HedgePolicy::kAnswers / 16;
// Times that is, and seconds at least: below, a second request gains little.
constexpr double kTimes = 2;
constexpr double kLeast = .05;

}  // namespace

void HedgePolicy::Answered(double seconds) {
  leaves_ = std::min(kMostLeaves, leaves_ + kLeavesAnAnswer);
  answers_.push_back(seconds);
  if (answers_.size() < kAnswers) return;
  std::sort(answers_.begin(), answers_.end());
  limit_ = std::max(kLeast, kTimes * answers_[kSlow]);
  answers_.clear();
}

bool HedgePolicy::Take() {
  if (leaves_ < 1) return false;
  leaves_ -= 1;
  return true;
}

}  // namespace liquid
