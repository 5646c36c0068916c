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

TEST(DeviceBatchTest, AnImageThatADeviceDoesNotMakeIsNamed) {
  const DeviceSteps steps;
  const ImageInfo info = {20, 30, 3, 8};
  const std::vector<uint8_t> pixels(info.PixelBytes());
  std::string file;
  ASSERT_TRUE(Encode(Format::kRaw, {}, info, pixels.data(), &file).ok());
  std::vector<SamplePlan> plans(2);
  DeviceBatch batch;
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(PlanSample(steps.recipe, 0, i, info.height, info.width, 1,
                           steps.limits.max_pixels, &plans[i])
                    .ok());
    batch.files.push_back({ByteSpan(file.data(), file.size()), {}, 7 + i});
    batch.inputs.push_back({&plans[i], info.height, info.width});
    batch.rows.push_back(info);
  }
  Operation operation;
  operation.kind = OperationKind::kAffine;
  operation.matrix = {1, .1, 40000, 0, 1, 0};
  plans[1].policy = {operation};
  const Status status = PlanDeviceBatch(steps, nullptr, &batch);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message().find("image 1 (sample 8): a device moves no "), 0u)
      << status.message();
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
              "not take: it is none that the dataset's manifest describes; "
              "liquid_tf.verify(path) lists all that is damaged");
  }
}

TEST(DeviceBatchTest, AMeanImageThatImagesDoNotFitIsRefused) {
  const ImageInfo info = {20, 30, 3, 8};
  const std::vector<uint8_t> pixels(info.PixelBytes());
  std::string file;
  ASSERT_TRUE(Encode(Format::kRaw, {}, info, pixels.data(), &file).ok());
  SamplePlan plan;
  ASSERT_TRUE(PlanSample(Recipe(), 0, 0, info.height, info.width, 1,
                         uint64_t{1} << 20, &plan)
                  .ok());
  // No byte of it is read where images are planned.
  const struct {
    DeviceMean mean;
    PixelType type;
    const char* message;
  } cases[] = {
      {{256, 20, 30, 3}, PixelType::kFloat32, ""},
      {{256, 20, 31, 3},
       PixelType::kFloat32,
       "Normalize: mean_image has 20x31 pixels, the image 20x30: resize or "
       "crop images to its size"},
      {{256, 20, 30, 1},
       PixelType::kFloat32,
       "mean_image must have 3 channels, as the images have; it has 1"},
      {{256, 20, 30, 3},
       PixelType::kUint8,
       "dtype (uint8) must be float, half or bfloat16 where a mean image is "
       "subtracted"},
  };
  for (const auto& one : cases) {
    DeviceSteps steps;
    steps.mean_image = one.mean;
    steps.type = one.type;
    DeviceBatch batch;
    batch.files.push_back({ByteSpan(file.data(), file.size()), {}, 7});
    batch.inputs.push_back({&plan, info.height, info.width});
    batch.rows.push_back(info);
    const Status status = PlanDeviceBatch(steps, nullptr, &batch);
    EXPECT_EQ(status.message(), one.message);
    if (!status.ok()) continue;
    ASSERT_EQ(batch.images.size(), 1u);
    EXPECT_EQ(batch.outputs[0].mean_image, 256u);
  }
}

TEST(DeviceBatchTest, ViewsHaveArraysOfTheirOwnUnlessStacked) {
  const ImageInfo info = {20, 30, 3, 8};
  const std::vector<uint8_t> pixels(info.PixelBytes());
  std::string file;
  ASSERT_TRUE(Encode(Format::kRaw, {}, info, pixels.data(), &file).ok());
  std::vector<SamplePlan> plans(4);
  for (const bool stacked : {false, true}) {
    DeviceSteps steps;
    steps.type = PixelType::kFloat32;
    steps.more_views.resize(1);
    steps.more_views[0].type =
        stacked ? PixelType::kFloat32 : PixelType::kUint8;
    steps.stacked = stacked;
    DeviceBatch batch;
    for (size_t i = 0; i < plans.size(); ++i) {
      ASSERT_TRUE(PlanSample(steps.recipe, 0, i, info.height, info.width, 1,
                             steps.limits.max_pixels, &plans[i])
                      .ok());
      batch.inputs.push_back({&plans[i], info.height, info.width});
    }
    for (int64_t i = 0; i < 2; ++i) {
      batch.files.push_back({ByteSpan(file.data(), file.size()), {}, i});
      batch.rows.push_back(info);
    }
    const Status status = PlanDeviceBatch(steps, nullptr, &batch);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(batch.outputs.size(), 2u);
    EXPECT_EQ(batch.types, std::vector<std::string>(
                               {"u8_f32", stacked ? "u8_f32" : "u8_u8"}));
    ASSERT_EQ(batch.arrays.size(), stacked ? 1u : 2u);
    EXPECT_EQ(batch.arrays[0].shape,
              std::vector<int64_t>({stacked ? 4 : 2, 20, 30, 3}));
    EXPECT_EQ(batch.arrays.back().bytes(), stacked ? 4u * 1800 * 4 : 2u * 1800);
  }
}

TEST(DeviceBatchTest, WhatIsMixedIsOfOneArrayOfFloats) {
  const ImageInfo info = {20, 30, 3, 8};
  const std::vector<uint8_t> pixels(info.PixelBytes());
  std::string file;
  ASSERT_TRUE(Encode(Format::kRaw, {}, info, pixels.data(), &file).ok());
  for (const PixelType type : {PixelType::kFloat32, PixelType::kUint8}) {
    DeviceSteps steps;
    steps.type = type;
    std::vector<SamplePlan> plans(2);
    DeviceBatch batch;
    for (size_t i = 0; i < plans.size(); ++i) {
      ASSERT_TRUE(PlanSample(steps.recipe, 0, i, info.height, info.width, 1,
                             steps.limits.max_pixels, &plans[i])
                      .ok());
      batch.inputs.push_back({&plans[i], info.height, info.width});
      batch.files.push_back(
          {ByteSpan(file.data(), file.size()), {}, static_cast<int64_t>(i)});
      batch.rows.push_back(info);
    }
    batch.blends.resize(2);
    batch.blends[0] = {1, .25f, .75f, false, {}};
    batch.blends[1] = {0, .5f, .5f, true, {1, 2, 3, 4}};
    const Status status = PlanDeviceBatch(steps, nullptr, &batch);
    if (type == PixelType::kUint8) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<ImageDeviceBlend>& blends = batch.images[0].blends;
    ASSERT_EQ(blends.size(), 2u);
    EXPECT_EQ(blends[0].kind, ImageBlend::kMix);
    EXPECT_EQ(blends[0].partner, 1u);
    EXPECT_EQ(blends[0].rest, .75f);
    EXPECT_EQ(blends[1].kind, ImageBlend::kCut);
    EXPECT_EQ(blends[1].width, 4u);
  }
}

}  // namespace
}  // namespace liquid::device_batch_test
