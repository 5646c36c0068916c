#include "ops/reader/read_group.h"

#include <algorithm>

namespace liquid {

void ReadGroup::Join(Member* member, int depth) {
  members_.push_back(member);
  if (tuner_ != nullptr) return;
  depth_ = depth;
  tuner_ = std::make_unique<DepthTuner>(depth);
}

void ReadGroup::Leave(Member* member) {
  members_.erase(std::remove(members_.begin(), members_.end(), member),
                 members_.end());
  WakeOthers(member);
}

void ReadGroup::ReadFar() {
  if (far_) return;
  far_ = true;
  tuner_ = std::make_unique<DepthTuner>(depth_, depth_);
}

bool ReadGroup::IsFirst(const Member* member, uint64_t turn) {
  for (Member* const other : members_) {
    if (other == member) continue;
    const std::optional<uint64_t> next = other->NextTurn();
    if (!next || *next >= turn) continue;
    other->Wake();
    return false;
  }
  return true;
}

void ReadGroup::Begin(const Member* member) {
  ++under_way_;
  clock_.Begin();
  if (HasRoom()) WakeOthers(member);
}

void ReadGroup::CameBack(uint64_t bytes, double seconds) {
  tuner_->Ended(bytes, seconds, !HasRoom());
}

void ReadGroup::End(const Member* member, uint64_t bytes) {
  --under_way_;
  clock_.End(bytes);
  WakeOthers(member);
}

void ReadGroup::WakeOthers(const Member* member) {
  for (Member* const other : members_) {
    if (other != member) other->Wake();
  }
}

}  // namespace liquid
