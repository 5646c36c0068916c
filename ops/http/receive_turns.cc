#include "ops/http/receive_turns.h"

#include <algorithm>
#include <utility>

namespace liquid {
namespace {

bool WaitsLonger(const std::pair<const uint64_t, double>& one,
                 const std::pair<const uint64_t, double>& other) {
  return one.second < other.second;
}

}  // namespace

bool ReceiveTurns::Begin(uint64_t number, double now) {
  if (received_.count(number) > 0) return true;
  if (received_.size() >= kMost) {
    waiting_.emplace(number, now);
    return false;
  }
  received_.insert(number);
  return true;
}

void ReceiveTurns::End(uint64_t number) {
  received_.erase(number);
  waiting_.erase(number);
}

std::optional<uint64_t> ReceiveTurns::Next(double now) {
  if (waiting_.empty()) return std::nullopt;
  auto chosen = waiting_.begin();
  if (received_.size() >= kMost) {
    chosen = std::min_element(waiting_.begin(), waiting_.end(), WaitsLonger);
    if (now < chosen->second + kLongest) return std::nullopt;
  }
  const uint64_t number = chosen->first;
  waiting_.erase(chosen);
  received_.insert(number);
  return number;
}

std::optional<double> ReceiveTurns::wait(double now) const {
  if (waiting_.empty()) return std::nullopt;
  const auto longest =
      std::min_element(waiting_.begin(), waiting_.end(), WaitsLonger);
  return std::max(0., longest->second + kLongest - now);
}

}  // namespace liquid
