// How the interleave's iterator tells its sources what to read.
//
// A resource in a private ResourceMgr that the interleave puts into the
// IteratorContext of its inputs: it passes through map and prefetch, and two
// iterators of one dataset never see each other's.
#ifndef LIQUID_OPS_DATASET_SOURCE_PLAN_CONTEXT_H_
#define LIQUID_OPS_DATASET_SOURCE_PLAN_CONTEXT_H_

#include <string>
#include <utility>

#include "ops/engine/format_plan.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace liquid {

// Filled before the first GetNext of the source, constant afterwards.
class PlanContext : public tensorflow::ResourceBase {
 public:
  static constexpr char kName[] = "plan";

  FormatPlan plan;

  std::string DebugString() const override { return "liquid::PlanContext"; }
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
