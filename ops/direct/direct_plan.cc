#include "ops/direct/direct_plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/direct/problem.h"
#include "ops/message/messages.h"
#include "ops/sampler/plan_message.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/worker_part.h"

namespace liquid {
namespace {

Status FindPart(const uint64_t* samples, uint64_t formats,
                const LiquidWorker& worker, LiquidPart* part) {
  if (worker.policy < 0 ||
      worker.policy > static_cast<int32_t>(PartPolicy::kUneven)) {
    return InvalidArgument("policy (" + std::to_string(worker.policy) +
                           ") must be 0 to 2");
  }
  WorkerPart found;
  LIQUID_RETURN_IF_ERROR(MakeWorkerPart(
      std::vector<uint64_t>(samples, samples + formats), worker.index,
      worker.count, static_cast<PartPolicy>(worker.policy), &found));
  for (size_t f = 0; f < found.formats.size(); ++f) {
    part->starts[f] = found.formats[f].start;
    part->lengths[f] = found.formats[f].length;
  }
  part->repeated = found.repeated;
  part->dropped = found.dropped;
  return OkStatus();
}

Status PlanDraws(const LiquidPlannedEpoch& planned, int32_t* formats,
                 int64_t* samples, uint64_t draws) {
  PlanMessage message;
  LIQUID_RETURN_IF_ERROR(
      ParseMessage(ByteSpan(planned.plan.data, planned.plan.size), &message));
  auto spec = std::make_shared<PlanSpec>();
  LIQUID_RETURN_IF_ERROR(MakeSpec(message, spec.get()));
  LIQUID_RETURN_IF_ERROR(Validate(*spec));
  HeldSets held;
  LIQUID_RETURN_IF_ERROR(
      HeldAt(spec, planned.first, NothingHeld(*spec), planned.epoch, &held));
  std::unique_ptr<EpochPlan> plan;
  LIQUID_RETURN_IF_ERROR(
      EpochPlan::Create(spec, planned.epoch, std::move(held), &plan));
  if (plan->size() != draws) {
    return InvalidArgument("draws (" + std::to_string(draws) + ") must be " +
                           std::to_string(plan->size()) + ", the epoch's");
  }
  for (uint64_t i = 0; i < draws; ++i) {
    const Draw draw = plan->Next();
    formats[i] = static_cast<int32_t>(draw.format);
    samples[i] = static_cast<int64_t>(draw.sample);
  }
  return OkStatus();
}

}  // namespace
}  // namespace liquid

bool liquid_direct_worker_part(const uint64_t* samples, uint64_t formats,
                               const LiquidWorker* worker, LiquidPart* part,
                               LiquidProblem problem) {
  const auto find = [&] {
    return liquid::FindPart(samples, formats, *worker, part);
  };
  return liquid::Guarded(problem, find) == liquid::StatusCode::kOk;
}

bool liquid_direct_plan_epoch(const LiquidPlannedEpoch* planned,
                              int32_t* formats, int64_t* samples,
                              uint64_t draws, LiquidProblem problem) {
  const auto plan = [&] {
    return liquid::PlanDraws(*planned, formats, samples, draws);
  };
  return liquid::Guarded(problem, plan) == liquid::StatusCode::kOk;
}
