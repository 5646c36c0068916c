// Batches of records on their way to a device.
#include "ops/gpu/plan/device_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace liquid::device_batch_test {
namespace {

TEST(DeviceBatchTest, AnImageOfAnotherSizeIsNamed) {
  const DeviceSteps steps;
  std::vector<std::string> files(2);
  std::vector<SamplePlan> plans(2);
  DeviceBatch batch;
  for (uint32_t i = 0; i < 2; ++i) {
    const ImageInfo info = {20 + i, 30, 3, 8};
    const std::vector<uint8_t> pixels(info.PixelBytes());
    ASSERT_TRUE(Encode(Format::kRaw, {}, info, pixels.data(), &files[i]).ok());
    ASSERT_TRUE(PlanSample(steps.recipe, 0, i, info.height, info.width, 1,
                           steps.limits.max_pixels, &plans[i])
                    .ok());
    plans[i].mirrored = true;
    batch.files.push_back(
        {ByteSpan(files[i].data(), files[i].size()), {}, 7 + i});
    batch.inputs.push_back({&plans[i], info.height, info.width});
    batch.rows.push_back(info);
  }
  const Status status = PlanDeviceBatch(steps, nullptr, &batch);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "image 1 (sample 8) becomes one of 30x21, and image 0 (sample 7) "
            "one of 30x20: all images of a batch for a GPU must become of one "
            "size, so crop or resize them");
}

TEST(DeviceBatchTest, StepsThatImagesDoNotFitAreRefused) {
  Recipe colours, bytes, erased;
  colours.grayscale = 1;
  bytes.blur.chance = 1;
  erased.erase = 1;
  erased.erasing.values = {1, 2, 3};
  for (const Recipe* recipe : {&colours, &bytes, &erased}) {
    DeviceSteps steps;
    steps.recipe = *recipe;
    const ImageInfo info = {20, 30, 4, 8};
    const std::vector<uint8_t> pixels(info.PixelBytes());
    std::string file;
    ASSERT_TRUE(Encode(Format::kRaw, {}, info, pixels.data(), &file).ok());
    SamplePlan plan;
    ASSERT_TRUE(PlanSample(Recipe(), 0, 0, info.height, info.width, 1,
                           steps.limits.max_pixels, &plan)
                    .ok());
    plan.mirrored = true;
    DeviceBatch batch;
    batch.files.push_back({ByteSpan(file.data(), file.size()), {}, 7});
    batch.inputs.push_back({&plan, info.height, info.width});
    batch.rows.push_back(info);
    const Status status = PlanDeviceBatch(steps, nullptr, &batch);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(status.message(),
              "image 0 (sample 7) has 4 channels of 8 bits, which the steps do "
              "not take: it is none that the dataset's manifest describes");
  }
}

}  // namespace
}  // namespace liquid::device_batch_test
