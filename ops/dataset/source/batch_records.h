// The records of a batch, by reference, on their way to a kernel that decodes
// them.
#ifndef LIQUID_OPS_DATASET_SOURCE_BATCH_RECORDS_H_
#define LIQUID_OPS_DATASET_SOURCE_BATCH_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/engine/epoch_run.h"
#include "ops/engine/record_block.h"
#include "ops/image/mix.h"
#include "ops/image/recipe.h"
#include "ops/reader/record.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace liquid {

// A scalar variant. As long as it is there, the stored bytes of its records
// stay where they were read to.
struct BatchRecords {
  std::vector<RecordPtr> records;  // of the samples, in their order
  // What is to become of their images: of each, one view after the other.
  std::vector<SamplePlan> plans;
  std::vector<Blend> blends;      // and then of all images; mostly none
  std::vector<uint32_t> formats;  // as the plan of the dataset numbers them
  std::vector<std::shared_ptr<DeviceMove>> moves;  // of each; null for most
  CountDecode count_decode;  // of those that no device decodes; may be null

  std::string TypeName() const { return "liquid::BatchRecords"; }
  std::string DebugString() const { return TypeName(); }
  // It lasts no longer than the process.
  void Encode(tensorflow::VariantTensorData* /*data*/) const {}
  bool Decode(const tensorflow::VariantTensorData& /*data*/) { return false; }
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_SOURCE_BATCH_RECORDS_H_
