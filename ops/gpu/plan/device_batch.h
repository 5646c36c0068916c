// A batch of images on its way to a device: from files, or records and what is
// to become of them, to tasks, types and the shape of the pixels.
#ifndef LIQUID_OPS_GPU_PLAN_DEVICE_BATCH_H_
#define LIQUID_OPS_GPU_PLAN_DEVICE_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"
#include "ops/engine/record_block.h"
#include "ops/gpu/plan/jpeg_files.h"
#include "ops/gpu/plan/l3_plan.h"
#include "ops/gpu/plan/parallel.h"
#include "ops/image/device/image_plan.h"
#include "ops/image/finish.h"
#include "ops/image/mix.h"
#include "ops/image/recipe.h"
#include "ops/reader/record.h"

namespace liquid {

// A mean image in the memory of a device: floats, as MeanInLayout has them.
struct DeviceMean {
  uint64_t address = 0;  // 0: there is none
  uint32_t height = 0, width = 0, channels = 0;
};

// What becomes of a view of the images of every batch.
struct DeviceView {
  Recipe recipe;                       // that the plans of records are made by
  PixelType type = PixelType::kUint8;  // of the pixels
  std::vector<float> mean = {0}, std = {1};  // a number, or one a channel
  DeviceMean mean_image;                     // in place of `mean`
  bool planar = false;                       // channels come before rows
};

// Reads a view of lines as recipe_text.h has them. Error: that of ParseRecipe.
Status ReadDeviceView(const std::vector<std::string>& lines, PixelType type,
                      DeviceView* view);

// What becomes of the images of every batch: of their first view, or the only
// one; and of further ones, which only records have.
struct DeviceSteps : DeviceView {
  std::vector<DeviceView> more_views;
  // Whether all views are of one array, image by image, each view by view. Else
  // each view has its own.
  bool stacked = false;
  DecodeLimits limits;

  size_t views() const { return 1 + more_views.size(); }
  const DeviceView& ViewOf(size_t view) const {
    return view == 0 ? *this : more_views[view - 1];
  }
};

// An array of pixels.
struct DeviceArray {
  PixelType type = PixelType::kUint8;
  std::vector<int64_t> shape;  // [n, height, width, channels], or planar
  size_t bytes() const;
};

struct DeviceBatch {
  std::vector<L3DeviceFile> files;
  // Of records: what is to become of each image, one view after the other. None
  // of files by themselves.
  std::vector<ImageDeviceInput> inputs;
  // What then becomes of the images of the array that all views are of; none
  // where none is mixed with another one.
  std::vector<Blend> blends;
  std::vector<ImageInfo> rows;  // and what their indices say of the files
  JpegDeviceFiles jpeg;         // those of the records that are of JPEG
  // Of records that go to the device with the batch, by their files' numbers.
  struct Moved {
    uint32_t file;
    RecordPtr record;
    std::shared_ptr<DeviceMove> move;
  };
  std::vector<Moved> moved;

  // What PlanDeviceBatch finds.
  L3DeviceBatch tasks;
  std::vector<ImageDeviceBatch> images;  // of each view; none where no more
                                         // becomes of them than `tasks` do
  std::vector<L3DeviceOutput> outputs;   // of each view
  std::vector<std::string> types;        // likewise, as L3KernelName takes them
  std::vector<DeviceArray> arrays;       // of each view, or of all together

  // Of the array that a view is of.
  size_t ArrayOf(size_t view) const { return arrays.size() == 1 ? 0 : view; }
};

// Adds the stored images of records, which must outlast the batch, as must the
// plans, those of all views of each; `moves` are of each, null for most.
void AddRecords(const std::vector<RecordPtr>& records,
                const std::vector<SamplePlan>& plans,
                const std::vector<std::shared_ptr<DeviceMove>>& moves,
                DeviceBatch* batch);

// Of a batch that is done and right: has the records that it moved be kept as
// those that lie on the device. One that no device decodes, or for which there
// is no memory, is not kept.
void EndMoves(DeviceBatch* batch);

// What a dataset tells its user of a batch: of damage also how to find all of
// it. Files by themselves are of no dataset.
Status AdviseOnDamage(const DeviceBatch& batch, const Status& status);

// Plans a batch of at least one file; JPEG files must be records. `parallel`
// decodes those that no device does. Errors: those of PlanImageDevice,
// JpegDeviceFiles::Prepare and PlanL3Device; DataLoss for a file that is not
// what its index says; InvalidArgument for a mean, a mean image, std or type
// that does not fit the images, and where these become of several sizes.
Status PlanDeviceBatch(const DeviceSteps& steps, const L3Parallel& parallel,
                       DeviceBatch* batch);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_DEVICE_BATCH_H_
