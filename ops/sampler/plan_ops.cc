// Ops that show the planner to Python: for tests, simulations and sharding.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/kernel/tf_status.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/shards.h"
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
using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Liquid>PlanEpoch")
    .Input("file_counts: int64")
    .Input("files_per_format: int64")
    .Input("record_samples: int64")
    .Input("sized_records: int64")
    .Input("cached: int64")
    .Input("fill: int64")
    .Input("seed: int64")
    .Input("batch_size: int64")
    .Input("first_epoch: int64")
    .Input("epoch: int64")
    .Attr("shuffle: bool = true")
    .Output("format: int32")
    .Output("sample: int64")
    .Output("load: int64")
    .Output("keep: bool")
    .Output("loads_before: int64")
    .SetShapeFn([](InferenceContext* c) -> absl::Status {
      ShapeHandle shape;
      DimensionHandle formats;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &shape));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &shape));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 1, &shape));
      for (int i = 3; i < 6; ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &shape));
        TF_RETURN_IF_ERROR(
            c->Merge(c->Dim(shape, 0), c->Dim(c->input(1), 0), &formats));
      }
      for (int i = 6; i < 10; ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &shape));
      }
      const ShapeHandle draws = c->Vector(InferenceContext::kUnknownDim);
      for (int i = 0; i < 5; ++i) c->set_output(i, draws);
      return absl::OkStatus();
    })
    .Doc(R"doc(
The order of samples of one epoch, as `docs/determinism.md` promises it.

The epochs from `first_epoch` on are replayed; memory held nothing before it.

file_counts: Records in each file, format after format, in stored order.
files_per_format: How many of `file_counts` belong to each format: [F].
record_samples: Samples of each record, of the formats whose records have many.
sized_records: How many of `record_samples` belong to each format; 0 where a
  record is a sample: [F].
cached: Records of each format that are kept between epochs: [F].
fill: Samples of each format in memory before the first draw of an epoch that
  starts with none, and the fewest to shuffle in: [F].
seed: Any number.
batch_size: At least 1; may be larger than the epoch.
first_epoch: The first epoch that was planned, at least 0.
epoch: The epoch to plan, at least `first_epoch`.
shuffle: False for stored order.
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

// The scalar input `name`.
absl::Status Scalar(OpKernelContext* ctx, const char* name, int64_t* value) {
  const Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(ctx->input(name, &tensor));
  if (tensor->dims() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a scalar, not of shape ",
                     tensor->shape().DebugString()));
  }
  *value = tensor->scalar<int64_t>()();
  return absl::OkStatus();
}

// The vector input `name` of numbers that are not negative.
absl::Status Counts(OpKernelContext* ctx, const char* name,
                    std::vector<uint64_t>* counts) {
  const Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(ctx->input(name, &tensor));
  if (tensor->dims() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a vector, not of shape ",
                     tensor->shape().DebugString()));
  }
  const auto values = tensor->vec<int64_t>();
  for (int64_t i = 0; i < values.size(); ++i) {
    if (values(i) < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, "[", i, "] (", values(i), ") must not be negative"));
    }
    counts->push_back(static_cast<uint64_t>(values(i)));
  }
  return absl::OkStatus();
}

class PlanEpochOp : public OpKernel {
 public:
  explicit PlanEpochOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("shuffle", &shuffle_));
  }

  void Compute(OpKernelContext* ctx) override {
    auto spec = std::make_shared<PlanSpec>();
    spec->shuffle = shuffle_;
    OP_REQUIRES_OK(ctx, Formats(ctx, spec.get()));
    int64_t seed, batch_size, first_epoch, epoch;
    OP_REQUIRES_OK(ctx, Scalar(ctx, "seed", &seed));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "batch_size", &batch_size));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "first_epoch", &first_epoch));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "epoch", &epoch));
    OP_REQUIRES(ctx, batch_size >= 1,
                absl::InvalidArgumentError(absl::StrCat(
                    "batch_size (", batch_size, ") must be at least 1")));
    spec->seed = static_cast<uint64_t>(seed);
    spec->batch_size = static_cast<uint64_t>(batch_size);
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
  static absl::Status Formats(OpKernelContext* ctx, PlanSpec* spec) {
    std::vector<uint64_t> files, files_per_format, cached, fill;
    std::vector<uint64_t> record_samples, sized_records;
    TF_RETURN_IF_ERROR(Counts(ctx, "file_counts", &files));
    TF_RETURN_IF_ERROR(Counts(ctx, "files_per_format", &files_per_format));
    TF_RETURN_IF_ERROR(Counts(ctx, "record_samples", &record_samples));
    TF_RETURN_IF_ERROR(Counts(ctx, "sized_records", &sized_records));
    TF_RETURN_IF_ERROR(Counts(ctx, "cached", &cached));
    TF_RETURN_IF_ERROR(Counts(ctx, "fill", &fill));
    const size_t formats = files_per_format.size();
    if (cached.size() != formats || fill.size() != formats ||
        sized_records.size() != formats) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cached (", cached.size(), " values), fill (", fill.size(),
          " values) and sized_records (", sized_records.size(),
          " values) must have one value for "
          "each of the ",
          formats, " formats of files_per_format"));
    }
    size_t next = 0;
    size_t next_record = 0;
    for (size_t f = 0; f < formats; ++f) {
      if (files_per_format[f] > files.size() - next) {
        return absl::InvalidArgumentError(
            absl::StrCat("files_per_format must sum to the ", files.size(),
                         " values of file_counts; it is more at format ", f));
      }
      FormatSpec format;
      format.files.assign(files.begin() + next,
                          files.begin() + next + files_per_format[f]);
      if (sized_records[f] > record_samples.size() - next_record) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sized_records must sum to the ", record_samples.size(),
            " values of record_samples; it is more at format ", f));
      }
      for (uint64_t i = 0; i < sized_records[f]; ++i) {
        // What is too much is none: the planner says so.
        const uint64_t samples = record_samples[next_record++];
        format.record_samples.push_back(
            samples > UINT32_MAX ? 0 : static_cast<uint32_t>(samples));
      }
      format.cached = cached[f];
      format.fill = fill[f];
      spec->formats.push_back(std::move(format));
      next += files_per_format[f];
    }
    if (next != files.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("files_per_format must sum to the ", files.size(),
                       " values of file_counts, not to ", next));
    }
    return absl::OkStatus();
  }

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

  bool shuffle_ = true;
};

class ShardRangesOp : public OpKernel {
 public:
  explicit ShardRangesOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::string policy;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("policy", &policy));
    if (policy == "drop") {
      policy_ = ShardPolicy::kDrop;
    } else if (policy == "uneven") {
      policy_ = ShardPolicy::kUneven;
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
    Shard shard;
    OP_REQUIRES_OK(
        ctx, ToTf(MakeShard(samples, static_cast<uint64_t>(index),
                            static_cast<uint64_t>(count), policy_, &shard)));
    const TensorShape shape({static_cast<int64_t>(samples.size())});
    Tensor *start, *length;
    OP_REQUIRES_OK(ctx, ctx->allocate_output("start", shape, &start));
    OP_REQUIRES_OK(ctx, ctx->allocate_output("length", shape, &length));
    for (size_t f = 0; f < samples.size(); ++f) {
      start->vec<int64_t>()(f) = static_cast<int64_t>(shard.formats[f].start);
      length->vec<int64_t>()(f) = static_cast<int64_t>(shard.formats[f].length);
    }
    const std::pair<const char*, uint64_t> totals[] = {
        {"repeated", shard.repeated},
        {"dropped", shard.dropped},
        {"repeated_in_all", shard.repeated_in_all},
        {"dropped_in_all", shard.dropped_in_all}};
    for (const auto& [name, value] : totals) {
      Tensor* total = nullptr;
      OP_REQUIRES_OK(ctx, ctx->allocate_output(name, TensorShape({}), &total));
      total->scalar<int64_t>()() = static_cast<int64_t>(value);
    }
  }

 private:
  ShardPolicy policy_ = ShardPolicy::kPad;
};

REGISTER_KERNEL_BUILDER(Name("Liquid>PlanEpoch").Device(tensorflow::DEVICE_CPU),
                        PlanEpochOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>ShardRanges").Device(tensorflow::DEVICE_CPU), ShardRangesOp);

}  // namespace
}  // namespace liquid
