// Attributes and inputs of Liquid>InterleaveDataset, checked.
#ifndef LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_OPTIONS_H_
#define LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/reader/tier.h"
#include "ops/sampler/plan_spec.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace liquid {

struct InterleaveAttributes {
  bool shuffle = true;
  bool drop_remainder = false;
  std::string policy;
  std::string shard_policy;
  bool keep_pixels = false;
  int64_t mask_bytes = 0;

  absl::Status Read(tensorflow::OpKernelConstruction* ctx);
};

// As given, so that the dataset can be serialized again.
struct InterleaveInputs {
  std::vector<int64_t> file_counts;
  std::vector<int64_t> files_per_format;
  std::vector<int64_t> record_samples;
  std::vector<int64_t> sized_records;
  std::vector<int64_t> cached;
  std::vector<int64_t> fill;
  std::vector<int64_t> resident;
  std::vector<int64_t> kept;
  std::vector<int64_t> parts;
  std::vector<int64_t> scan_groups;
  std::vector<int64_t> shares;
  std::vector<int64_t> first_groups;
  std::vector<int64_t> grouped_samples;
  tensorflow::Tensor groups;
  tensorflow::Tensor record_blocks;  // uint32
  std::vector<tensorflow::tstring> formats;
  int64_t view = 0;  // a hash of which samples are read
  int64_t seed = 0;
  int64_t batch_size = 0;
  int64_t epoch = -1;      // -1: the snapshot counts
  int64_t first_step = 0;  // of `epoch`
  int64_t steps = -1;      // -1: to the epoch's end
  int64_t initial_epoch = 0;
  int64_t initial_step = 0;  // -1: that of a rest, which is sought
  int64_t cache_bytes = 0;
  int64_t spare_bytes = 0;
  int64_t samples_per_epoch = 0;
  int64_t worker = 0;
  int64_t workers = 1;
  int64_t tier_bytes = 0;
  int64_t tier_queue_bytes = 0;
  tensorflow::tstring tier;  // its folder; empty for none
  tensorflow::tstring snapshot;

  // Error: InvalidArgument that names input, value and constraint.
  absl::Status Read(tensorflow::OpKernelContext* ctx);
  // The draw of an epoch of `samples` before which an iterator ends.
  uint64_t EndDraw(uint64_t samples) const;
  // The plan of `datasets` formats. Error: likewise.
  absl::Status MakeSpec(size_t datasets, const InterleaveAttributes& attributes,
                        std::shared_ptr<const PlanSpec>* spec) const;
  // The tier of a plan; without a folder where there is none. Error: likewise.
  absl::Status MakeTier(const PlanSpec& spec, Tier::Options* options) const;

 private:
  absl::Status MakeWeights(const InterleaveAttributes& attributes,
                           PlanSpec* spec) const;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_INTERLEAVE_INTERLEAVE_OPTIONS_H_
