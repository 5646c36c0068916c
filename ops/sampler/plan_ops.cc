// Ops that show the planner to Python: for tests, simulations and parts of
// workers.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/kernel/tf_status.h"
#include "ops/kernel/values.h"
#include "ops/message/messages.h"
#include "ops/sampler/plan_message.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/worker_part.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace liquid {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Liquid>PlanEpoch")
    .Input("plan: string")
    .Input("first_epoch: int64")
    .Input("epoch: int64")
    .Output("format: int32")
    .Output("sample: int64")
    .Output("load: int64")
    .Output("keep: bool")
    .Output("loads_before: int64")
    .SetShapeFn([](InferenceContext* c) -> absl::Status {
      ShapeHandle shape;
      for (int i = 0; i < 3; ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &shape));
      }
      const ShapeHandle draws = c->Vector(InferenceContext::kUnknownDim);
      for (int i = 0; i < 5; ++i) c->set_output(i, draws);
      return absl::OkStatus();
    })
    .Doc(R"doc(
The order of samples of one epoch, as `docs/determinism.md` promises it.

The epochs from `first_epoch` on are replayed; memory held nothing before it.

plan: A PlanMessage, see ops/message/messages.h.
first_epoch: The first epoch that was planned, at least 0.
epoch: The epoch to plan, at least `first_epoch`.
format: Format of each draw: [N].
sample: Sample of each draw, in its format's stored order: [N].
load: Which load of the format in this epoch brought its record, or -1 where it
  was held when the epoch began: [N].
keep: Whether its record is kept for the next epoch: [N].
loads_before: Loads of the format that came before the draw: [N].
)doc");

REGISTER_OP("Liquid>ShardRanges")
    .Input("samples: int64")
    .Input("index: int64")
    .Input("count: int64")
    .Attr("policy: {'pad', 'drop', 'uneven'} = 'pad'")
    .Output("start: int64")
    .Output("length: int64")
    .Output("repeated: int64")
    .Output("dropped: int64")
    .Output("repeated_in_all: int64")
    .Output("dropped_in_all: int64")
    .SetShapeFn([](InferenceContext* c) -> absl::Status {
      ShapeHandle samples, scalar;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &samples));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &scalar));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 0, &scalar));
      c->set_output(0, samples);
      c->set_output(1, samples);
      for (int i = 2; i < 6; ++i) c->set_output(i, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
One worker's part of a dataset in data-parallel training.

samples: Samples of each format: [F].
index: This worker, at least 0 and below `count`.
count: Workers.
policy: "pad": all parts have as many samples, the shorter repeat one; "drop": the
  longer leave one out; "uneven": they may differ by one sample.
start: First sample of each format's range, in stored order: [F].
length: Samples of the range: [F]. Sample i of it is sample
  (start + i) mod samples of the format.
repeated: Samples of this part that another one has too.
dropped: Samples left out of this part.
repeated_in_all: The same over all parts.
dropped_in_all: The same over all parts.
)doc");

class PlanEpochOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    ByteSpan plan_bytes;
    int64_t first_epoch, epoch;
    OP_REQUIRES_OK(ctx, Scalar(ctx, "plan", &plan_bytes));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "first_epoch", &first_epoch));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "epoch", &epoch));
    PlanMessage message;
    OP_REQUIRES_OK(ctx, ToTf(ParseMessage(plan_bytes, &message)));
    auto spec = std::make_shared<PlanSpec>();
    OP_REQUIRES_OK(ctx, ToTf(MakeSpec(message, spec.get())));
    OP_REQUIRES_OK(ctx, ToTf(Validate(*spec)));

    HeldSets held;
    OP_REQUIRES_OK(
        ctx, ToTf(HeldAt(spec, first_epoch, NothingHeld(*spec), epoch, &held)));
    std::unique_ptr<EpochPlan> plan;
    OP_REQUIRES_OK(
        ctx, ToTf(EpochPlan::Create(spec, epoch, std::move(held), &plan)));
    Write(ctx, plan.get());
  }

 private:
  static void Write(OpKernelContext* ctx, EpochPlan* plan) {
    const TensorShape shape({static_cast<int64_t>(plan->size())});
    Tensor *format, *sample, *load, *keep, *loads_before;
    OP_REQUIRES_OK(ctx, ctx->allocate_output("format", shape, &format));
    OP_REQUIRES_OK(ctx, ctx->allocate_output("sample", shape, &sample));
    OP_REQUIRES_OK(ctx, ctx->allocate_output("load", shape, &load));
    OP_REQUIRES_OK(ctx, ctx->allocate_output("keep", shape, &keep));
    OP_REQUIRES_OK(ctx,
                   ctx->allocate_output("loads_before", shape, &loads_before));
    for (int64_t i = 0; plan->position() < plan->size(); ++i) {
      loads_before->vec<int64_t>()(i) =
          static_cast<int64_t>(plan->loads(plan->PeekFormat()));
      const Draw draw = plan->Next();
      format->vec<int32_t>()(i) = static_cast<int32_t>(draw.format);
      sample->vec<int64_t>()(i) = static_cast<int64_t>(draw.sample);
      load->vec<int64_t>()(i) = draw.load;
      keep->vec<bool>()(i) = draw.keep;
    }
  }
};

class ShardRangesOp : public OpKernel {
 public:
  explicit ShardRangesOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::string policy;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("policy", &policy));
    if (policy == "drop") {
      policy_ = PartPolicy::kDrop;
    } else if (policy == "uneven") {
      policy_ = PartPolicy::kUneven;
    }
  }

  void Compute(OpKernelContext* ctx) override {
    std::vector<uint64_t> samples;
    int64_t index, count;
    OP_REQUIRES_OK(ctx, Counts(ctx, "samples", &samples));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "index", &index));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "count", &count));
    OP_REQUIRES(ctx, index >= 0 && count >= 1,
                absl::InvalidArgumentError(
                    absl::StrCat("index (", index, ") must be at least 0 and ",
                                 "count (", count, ") at least 1")));
    WorkerPart part;
    OP_REQUIRES_OK(ctx, ToTf(MakeWorkerPart(
                            samples, static_cast<uint64_t>(index),
                            static_cast<uint64_t>(count), policy_, &part)));
    const TensorShape shape({static_cast<int64_t>(samples.size())});
    Tensor *start, *length;
    OP_REQUIRES_OK(ctx, ctx->allocate_output("start", shape, &start));
    OP_REQUIRES_OK(ctx, ctx->allocate_output("length", shape, &length));
    for (size_t f = 0; f < samples.size(); ++f) {
      start->vec<int64_t>()(f) = static_cast<int64_t>(part.formats[f].start);
      length->vec<int64_t>()(f) = static_cast<int64_t>(part.formats[f].length);
    }
    const std::pair<const char*, uint64_t> totals[] = {
        {"repeated", part.repeated},
        {"dropped", part.dropped},
        {"repeated_in_all", part.repeated_in_all},
        {"dropped_in_all", part.dropped_in_all}};
    for (const auto& [name, value] : totals) {
      Tensor* total = nullptr;
      OP_REQUIRES_OK(ctx, ctx->allocate_output(name, TensorShape({}), &total));
      total->scalar<int64_t>()() = static_cast<int64_t>(value);
    }
  }

 private:
  PartPolicy policy_ = PartPolicy::kPad;
};

REGISTER_KERNEL_BUILDER(Name("Liquid>PlanEpoch").Device(tensorflow::DEVICE_CPU),
                        PlanEpochOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>ShardRanges").Device(tensorflow::DEVICE_CPU), ShardRangesOp);

}  // namespace
}  // namespace liquid
