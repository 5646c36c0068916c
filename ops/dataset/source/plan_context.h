// How the interleave's iterator tells its sources what to read.
//
// A resource in a private ResourceMgr that the interleave puts into the
// IteratorContext of its inputs: it passes through map and prefetch, and two
// iterators of one dataset never see each other's.
#ifndef LIQUID_OPS_DATASET_SOURCE_PLAN_CONTEXT_H_
#define LIQUID_OPS_DATASET_SOURCE_PLAN_CONTEXT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/status.h"
#include "ops/reader/read_group.h"
#include "ops/reader/read_order.h"
#include "ops/reader/tier.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace liquid {

// Filled before the first GetNext of the source, constant afterwards.
class PlanContext : public tensorflow::ResourceBase {
 public:
  static constexpr char kName[] = "plan";

  // `tell_method` is called by the source with what it reads with; it may come
  // after the interleave is gone. `reads`: those of all its sources.
  PlanContext(uint32_t format,
              std::function<void(const std::string&)> tell_method,
              std::shared_ptr<ReadGroup> reads)
      : format_(format),
        tell_method_(std::move(tell_method)),
        reads_(std::move(reads)) {}

  const std::function<void(const std::string&)>& tell_method() const {
    return tell_method_;
  }
  const std::shared_ptr<ReadGroup>& reads() const { return reads_; }

  void Set(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
           uint64_t position, HeldSets held, AtHand at_hand,
           const MemoryLimits& limits, Fidelity fidelity, uint64_t end,
           std::shared_ptr<Tier> tier) {
    spec_ = std::move(spec);
    epoch_ = epoch;
    position_ = position;
    held_ = std::move(held);
    at_hand_ = std::move(at_hand);
    limits_ = limits;
    fidelity_ = std::move(fidelity);
    end_ = end;
    tier_ = std::move(tier);
  }

  const FormatSpec& format() const { return spec_->formats[format_]; }
  // Position of the format in the plan.
  uint32_t number() const { return format_; }
  // Where records are read that lie there; null where there is none.
  const std::shared_ptr<Tier>& tier() const { return tier_; }

  // `groups`: see ReadOrder.
  Status MakeReadOrder(std::vector<uint32_t> groups,
                       std::unique_ptr<ReadOrder>* order) const {
    std::unique_ptr<EpochPlan> plan;
    ReadRange range;
    LIQUID_RETURN_IF_ERROR(MakePlan(&plan));
    if (end_ < plan->size()) {
      range = FindRange(plan.get(), format_, end_);
      LIQUID_RETURN_IF_ERROR(MakePlan(&plan));
    }
    *order = std::make_unique<ReadOrder>(std::move(plan), format_, at_hand_,
                                         limits_, fidelity_, std::move(groups),
                                         std::move(range));
    return OkStatus();
  }

  std::string DebugString() const override { return "liquid::PlanContext"; }

 private:
  Status MakePlan(std::unique_ptr<EpochPlan>* plan) const {
    LIQUID_RETURN_IF_ERROR(EpochPlan::Create(spec_, epoch_, held_, plan));
    (*plan)->Skip(position_);
    return OkStatus();
  }

  const uint32_t format_;
  const std::function<void(const std::string&)> tell_method_;
  const std::shared_ptr<ReadGroup> reads_;
  std::shared_ptr<const PlanSpec> spec_;
  int64_t epoch_ = 0;
  uint64_t position_ = 0;
  HeldSets held_;
  AtHand at_hand_;
  MemoryLimits limits_;
  Fidelity fidelity_;
  uint64_t end_ = UINT64_MAX;
  std::shared_ptr<Tier> tier_;
};

// The number of the epoch, for what gives the fidelity of its batches.
class EpochContext : public tensorflow::ResourceBase {
 public:
  static constexpr char kName[] = "epoch";

  explicit EpochContext(int64_t epoch) : epoch_(epoch) {}
  int64_t epoch() const { return epoch_; }
  std::string DebugString() const override { return "liquid::EpochContext"; }

 private:
  const int64_t epoch_;
};

// `ctx` with resources of its own.
inline tensorflow::data::IteratorContext WithResources(
    tensorflow::data::IteratorContext* ctx,
    tensorflow::ResourceMgr* resources) {
  tensorflow::data::IteratorContext::Params params(ctx);
  params.resource_mgr = resources;
  return tensorflow::data::IteratorContext(std::move(params));
}

// Makes one of these the resource that FindContext finds; takes the reference.
template <typename Context>
absl::Status PutContext(Context* context, tensorflow::ResourceMgr* resources) {
  return resources->Create("liquid", Context::kName, context);
}

// Error: NotFound where there is none.
template <typename Context>
absl::Status FindContext(tensorflow::data::IteratorContext* ctx,
                         tensorflow::core::RefCountPtr<Context>* found) {
  if (ctx->resource_mgr() == nullptr) {
    return absl::NotFoundError("no resources");
  }
  Context* context = nullptr;
  TF_RETURN_IF_ERROR(
      ctx->resource_mgr()->Lookup("liquid", Context::kName, &context));
  found->reset(context);
  return absl::OkStatus();
}

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_PLAN_CONTEXT_H_
