// Kernels of the ops on a snapshot.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/interleave/interleave_dataset.h"
#include "ops/dataset/snapshot_resource.h"
#include "ops/engine/snapshot.h"
#include "ops/kernel/tf_status.h"
#include "ops/kernel/values.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::tstring;

absl::Status Find(OpKernelContext* ctx, std::shared_ptr<Snapshot>* snapshot) {
  std::string name;
  TF_RETURN_IF_ERROR(Scalar(ctx, "snapshot", &name));
  return SnapshotResource::Find(ctx, name, false, snapshot);
}

class SnapshotStatsOp : public tensorflow::OpKernel {
 public:
  explicit SnapshotStatsOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("batches", &batches_));
  }
  void Compute(OpKernelContext* ctx) override {
    std::shared_ptr<Snapshot> snapshot;
    OP_REQUIRES_OK(ctx, Find(ctx, &snapshot));
    OP_REQUIRES_OK(ctx,
                   SetScalar<tstring>(ctx, 0, snapshot->StatsJson(batches_)));
  }

 private:
  bool batches_;
};

// The dataset of an input `rest`, or null where there is none.
absl::Status FindRest(OpKernelContext* ctx,
                      std::shared_ptr<const DrawSource>* rest) {
  tensorflow::OpInputList list;
  TF_RETURN_IF_ERROR(ctx->input_list("rest", &list));
  if (list.size() == 0) return absl::OkStatus();
  tensorflow::data::DatasetBase* dataset;
  TF_RETURN_IF_ERROR(
      tensorflow::data::GetDatasetFromVariantTensor(list[0], &dataset));
  const auto* found = dynamic_cast<const InterleaveDataset*>(dataset);
  if (list.size() > 1 || found == nullptr) {
    return absl::InvalidArgumentError(
        "rest must be one dataset that interleave() made, or none");
  }
  found->Ref();
  *rest = std::shared_ptr<const InterleaveDataset>(
      found, [](const InterleaveDataset* owned) { owned->Unref(); });
  return absl::OkStatus();
}

class SeekSnapshotOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    std::shared_ptr<Snapshot> snapshot;
    OP_REQUIRES_OK(ctx, Find(ctx, &snapshot));
    int64_t epoch, step;
    OP_REQUIRES_OK(ctx, Scalar(ctx, "epoch", &epoch));
    OP_REQUIRES_OK(ctx, Scalar(ctx, "step", &step));
    OP_REQUIRES(
        ctx, epoch >= 0 && step >= 0,
        absl::InvalidArgumentError(absl::StrCat(
            "epoch (", epoch, ") and step (", step, ") must be at least 0")));
    std::vector<int64_t> cached, mixes;
    OP_REQUIRES_OK(ctx, Vector(ctx, "cached", &cached));
    OP_REQUIRES_OK(ctx, Vector(ctx, "mixes", &mixes));
    Snapshot::Place place = {epoch, static_cast<uint64_t>(step)};
    OP_REQUIRES_OK(ctx, FindRest(ctx, &place.rest));
    OP_REQUIRES_OK(
        ctx, ToTf(snapshot->Seek(
                 std::move(place),
                 std::vector<uint64_t>(cached.begin(), cached.end()), mixes)));
  }
};

class DeleteSnapshotOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    std::string name;
    OP_REQUIRES_OK(ctx, Scalar(ctx, "snapshot", &name));
    std::shared_ptr<Snapshot> snapshot;
    const absl::Status found =
        SnapshotResource::Find(ctx, name, false, &snapshot);
    if (found.ok()) snapshot->Forget();
    const absl::Status deleted =
        ctx->resource_manager()->Delete<SnapshotResource>(
            ctx->resource_manager()->default_container(), name);
    if (!absl::IsNotFound(deleted)) OP_REQUIRES_OK(ctx, deleted);
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>SnapshotStats").Device(tensorflow::DEVICE_CPU),
    SnapshotStatsOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>SeekSnapshot").Device(tensorflow::DEVICE_CPU), SeekSnapshotOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>DeleteSnapshot").Device(tensorflow::DEVICE_CPU),
    DeleteSnapshotOp);

}  // namespace
}  // namespace liquid
