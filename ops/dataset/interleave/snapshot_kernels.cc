// Kernels of the ops on a snapshot.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/interleave/interleave_dataset.h"
#include "ops/dataset/interleave/snapshot.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

absl::Status ScalarString(OpKernelContext* ctx, const char* name,
                          std::string* value) {
  const Tensor* tensor;
  TF_RETURN_IF_ERROR(ctx->input(name, &tensor));
  if (tensor->dims() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a scalar"));
  }
  *value = tensor->scalar<tstring>()();
  return absl::OkStatus();
}

absl::Status Find(OpKernelContext* ctx,
                  tensorflow::core::RefCountPtr<Snapshot>* snapshot) {
  std::string name;
  TF_RETURN_IF_ERROR(ScalarString(ctx, "snapshot", &name));
  Snapshot* found = nullptr;
  TF_RETURN_IF_ERROR(ctx->resource_manager()->Lookup<Snapshot>(
      ctx->resource_manager()->default_container(), name, &found));
  snapshot->reset(found);
  return absl::OkStatus();
}

class SnapshotStatsOp : public tensorflow::OpKernel {
 public:
  explicit SnapshotStatsOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("batches", &batches_));
  }
  void Compute(OpKernelContext* ctx) override {
    tensorflow::core::RefCountPtr<Snapshot> snapshot;
    OP_REQUIRES_OK(ctx, Find(ctx, &snapshot));
    Tensor* json;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, {}, &json));
    json->scalar<tstring>()() = snapshot->StatsJson(batches_);
  }

 private:
  bool batches_;
};

// The dataset of an input `rest`, or null where there is none.
absl::Status FindRest(OpKernelContext* ctx,
                      std::shared_ptr<const InterleaveDataset>* rest) {
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
    tensorflow::core::RefCountPtr<Snapshot> snapshot;
    OP_REQUIRES_OK(ctx, Find(ctx, &snapshot));
    int64_t values[2];
    const char* const names[] = {"epoch", "step"};
    for (int i = 0; i < 2; ++i) {
      const Tensor* tensor;
      OP_REQUIRES_OK(ctx, ctx->input(names[i], &tensor));
      OP_REQUIRES(ctx, tensor->dims() == 0 && tensor->scalar<int64_t>()() >= 0,
                  absl::InvalidArgumentError(absl::StrCat(
                      names[i], " must be a scalar of at least 0")));
      values[i] = tensor->scalar<int64_t>()();
    }
    std::vector<int64_t> vectors[2];
    const char* const vector_names[] = {"cached", "mixes"};
    for (int i = 0; i < 2; ++i) {
      const Tensor* tensor;
      OP_REQUIRES_OK(ctx, ctx->input(vector_names[i], &tensor));
      OP_REQUIRES(ctx, tensor->dims() == 1,
                  absl::InvalidArgumentError(
                      absl::StrCat(vector_names[i], " must be a vector")));
      const auto flat = tensor->vec<int64_t>();
      vectors[i].assign(flat.data(), flat.data() + flat.size());
    }
    Snapshot::Place place = {values[0], static_cast<uint64_t>(values[1])};
    OP_REQUIRES_OK(ctx, FindRest(ctx, &place.rest));
    const Status sought = snapshot->Seek(
        std::move(place),
        std::vector<uint64_t>(vectors[0].begin(), vectors[0].end()),
        vectors[1]);
    OP_REQUIRES_OK(ctx, ToTf(sought));
  }
};

class DeleteSnapshotOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    std::string name;
    OP_REQUIRES_OK(ctx, ScalarString(ctx, "snapshot", &name));
    const absl::Status deleted = ctx->resource_manager()->Delete<Snapshot>(
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
