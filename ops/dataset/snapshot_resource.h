// A snapshot under a name, for all iterators and ops of one dataset.
#ifndef LIQUID_OPS_DATASET_SNAPSHOT_RESOURCE_H_
#define LIQUID_OPS_DATASET_SNAPSHOT_RESOURCE_H_

#include <memory>
#include <string>

#include "ops/engine/snapshot.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace liquid {

class SnapshotResource : public tensorflow::ResourceBase {
 public:
  // The snapshot of that name. Error: NotFound, with `create` false.
  static absl::Status Find(tensorflow::OpKernelContext* ctx,
                           const std::string& name, bool create,
                           std::shared_ptr<Snapshot>* snapshot) {
    tensorflow::ResourceMgr* const resources = ctx->resource_manager();
    SnapshotResource* found = nullptr;
    if (create) {
      TF_RETURN_IF_ERROR(resources->LookupOrCreate<SnapshotResource>(
          resources->default_container(), name, &found,
          [](SnapshotResource** made) {
            *made = new SnapshotResource();
            return absl::OkStatus();
          }));
    } else {
      TF_RETURN_IF_ERROR(resources->Lookup<SnapshotResource>(
          resources->default_container(), name, &found));
    }
    const tensorflow::core::ScopedUnref unref(found);
    *snapshot = found->snapshot_;
    return absl::OkStatus();
  }

  std::string DebugString() const override { return "liquid::Snapshot"; }

 private:
  const std::shared_ptr<Snapshot> snapshot_ = std::make_shared<Snapshot>();
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SNAPSHOT_RESOURCE_H_
