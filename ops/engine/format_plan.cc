#include "ops/engine/format_plan.h"

#include <utility>

namespace liquid {
namespace {

Status MakePlan(const FormatPlan& of, std::unique_ptr<EpochPlan>* plan) {
  LIQUID_RETURN_IF_ERROR(EpochPlan::Create(of.spec, of.epoch, of.held, plan));
  (*plan)->Skip(of.position);
  return OkStatus();
}

}  // namespace

Status FormatPlan::MakeReadOrder(std::vector<uint32_t> groups,
                                 std::unique_ptr<ReadOrder>* order) const {
  std::unique_ptr<EpochPlan> plan;
  ReadRange range;
  LIQUID_RETURN_IF_ERROR(MakePlan(*this, &plan));
  if (end < plan->size()) {
    range = FindRange(plan.get(), number, end);
    LIQUID_RETURN_IF_ERROR(MakePlan(*this, &plan));
  }
  *order = std::make_unique<ReadOrder>(std::move(plan), number, at_hand, limits,
                                       fidelity, std::move(groups),
                                       std::move(range));
  return OkStatus();
}

}  // namespace liquid
