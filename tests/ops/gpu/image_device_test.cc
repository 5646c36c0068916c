// The kernel of recipes, run on the host, gives what ImageMaker does, to the
// bit. LIQUID_TEST_CASES=10000 in the environment (bazel test
// --test_env=LIQUID_TEST_CASES) makes as many recipes.
#include "ops/image/device/image_device.cuh"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "ops/image/device/image_device_change.cuh"
#include "ops/image/device/image_device_erase.cuh"
#include "ops/image/device/image_device_mix.cuh"
#include "ops/image/device/image_plan.h"
#include "ops/image/image_maker.h"
#include "tests/ops/codecs/codec_testing.h"
#include "tests/ops/gpu/host_device.h"

namespace liquid::image_device_test {
namespace {

int Cases() {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  return cases == nullptr ? 200 : std::atoi(cases);
}

// An image in memory.
class Pixels : public StoredImage {
 public:
  Pixels(const ImageInfo& info, Bytes bytes)
      : info_(info), bytes_(std::move(bytes)) {}
  const ImageInfo& info() const override { return info_; }
  uint32_t Draft(uint32_t /*most*/) const override { return 1; }
  Status Decode(uint32_t /*draft*/, const Window& window, uint8_t* out,
                size_t row_stride) override {
    const size_t pixel = info_.BytesPerPixel();
    for (uint32_t y = 0; y < window.height; ++y) {
      std::memcpy(out + y * row_stride,
                  &bytes_[((window.y + y) * info_.width + window.x) * pixel],
                  window.width * pixel);
    }
    return OkStatus();
  }

 private:
  ImageInfo info_;
  Bytes bytes_;
};

// A batch of images whose recipe gives one size.
struct Case {
  Recipe recipe;
  FinishSpec finish;
  std::vector<Pixels> images;
  std::vector<uint8_t> orientations;
  std::vector<SamplePlan> plans;
  uint32_t height = 0, width = 0;
};

// Mostly small, seldom long.
uint32_t Side(Noise* noise) {
  const uint32_t most[] = {500, 120, 40, 9};
  return 1 + noise->Below(most[noise->Below(4)]);
}

Chance Sometimes(Noise* noise) {
  return noise->Below(2) == 0 ? 0 : Chance{1} << 31;
}

// One of all operations that need more than a pixel by itself.
void AddPolicy(Noise* noise, PolicyStep* policy) {
  using Kind = PolicyStep::Kind;
  policy->kind = static_cast<Kind>(1 + noise->Below(5));
  policy->count = 1 + noise->Below(3);
  policy->magnitude = noise->Below(PolicyStep::kRandMagnitudes);
  policy->timm.chance = (Chance{1} << 32) >> noise->Below(2);
  policy->timm.magnitude = noise->Below(11);
  for (int i = 0; i < 5; ++i) {
    std::vector<PolicyStep::Part> parts(1 + noise->Below(2));
    for (PolicyStep::Part& part : parts) {
      part.operation =
          static_cast<PolicyOperation>(noise->Below(kPolicyOperations));
      part.chance = Chance{1} << 31;
      part.magnitude = noise->Below(PolicyStep::kAutoMagnitudes);
    }
    policy->policies.push_back(parts);
  }
}

// Steps for images of 8 bits, of 1 or 3 channels.
void AddColours(Noise* noise, size_t channels, Recipe* recipe) {
  const auto range = [noise] { return noise->Below(3) * .4; };
  if (noise->Below(4) == 0) {
    recipe->blur.least = noise->Below(2) * .1;
    recipe->blur.most = recipe->blur.least + noise->Below(40) * .2;
    recipe->blur.chance = Chance{1} << 31;
  }
  if (noise->Below(3) == 0) AddPolicy(noise, &recipe->policy);
  recipe->solarize.chance = Sometimes(noise);
  recipe->solarize.threshold = static_cast<uint16_t>(noise->Below(257));
  if (channels != 3) return;
  recipe->colour = {range(), range(), range(), noise->Below(3) * .2};
  recipe->jitter = Sometimes(noise);
  recipe->grayscale = Sometimes(noise);
}

Recipe RandomRecipe(Noise* noise, uint32_t* height, uint32_t* width) {
  Recipe recipe;
  recipe.seed = noise->Next();
  recipe.orient = noise->Below(4) == 0;
  *height = Side(noise);
  *width = Side(noise);
  const auto crop = [&](CropStep* step) {
    step->kind =
        noise->Below(2) == 0 ? CropStep::Kind::kFixed : CropStep::Kind::kRandom;
    step->height = *height;
    step->width = *width;
  };
  if (noise->Below(2) == 0) {
    recipe.crop.kind = CropStep::Kind::kRandomSize;
    EXPECT_TRUE(RandomSize::Create(.05, 1, .5, 2, &recipe.crop.size).ok());
  }
  ResizeStep& resize = recipe.resize;
  resize.interpolation = static_cast<Interpolation>(noise->Below(3));
  resize.antialias =
      resize.interpolation == Interpolation::kBicubic || noise->Below(3) > 0;
  switch (noise->Below(5)) {
    case 0:  // no resize, but a crop of padding
      recipe.crop.kind = CropStep::Kind::kNone;
      recipe.pad.height = 500;
      recipe.pad.width = 500;
      crop(&recipe.second_crop);
      break;
    case 1:
      resize.kind = ResizeStep::Kind::kShorter;
      resize.height = std::max(*height, *width) + noise->Below(20);
      crop(&recipe.second_crop);
      break;
    case 2:
      resize.kind = ResizeStep::Kind::kLonger;
      resize.height = std::min(*height, *width);
      recipe.pad.height = *height;
      recipe.pad.width = *width;
      break;
    default:
      resize.kind = ResizeStep::Kind::kExact;
      resize.height = *height;
      resize.width = *width;
  }
  recipe.pad.value = static_cast<uint16_t>(noise->Below(256));
  recipe.mirror = Sometimes(noise);
  recipe.flip = Sometimes(noise);
  return recipe;
}

// Of new images, or another view of those of a case.
template <typename Sample>
Case MakeCase(Noise* noise, PixelType type, const Case* first = nullptr) {
  Case made;
  const size_t channels[] = {3, 3, 3, 1, 2, 4};
  FinishSpec& finish = made.finish;
  finish.channels = channels[noise->Below(6)];
  if (first != nullptr) finish.channels = first->finish.channels;
  finish.stored = sizeof(Sample) == 1 ? PixelType::kUint8 : PixelType::kUint16;
  finish.type = type;
  finish.channels_first = noise->Below(2) == 0;
  if (type != finish.stored && noise->Below(4) > 0) {
    for (size_t c = 0; c < finish.channels; ++c) {
      finish.mean.push_back(static_cast<float>(noise->Below(255000)) / 1000);
      finish.std.push_back(static_cast<float>(1 + noise->Below(90000)) / 1000);
    }
  }
  made.recipe = RandomRecipe(noise, &made.height, &made.width);
  if (type != finish.stored && noise->Below(4) == 0) {
    finish.mean_height = made.height;
    finish.mean_width = made.width;
    finish.mean_image.resize(size_t{made.height} * made.width *
                             finish.channels);
    for (float& mean : finish.mean_image) {
      mean = static_cast<float>(noise->Below(255000)) / 1000;
    }
  }
  if (noise->Below(4) == 0) {
    made.recipe.rotate.degrees = 1 + noise->Below(180);
    made.recipe.rotate.value = static_cast<uint16_t>(noise->Below(256));
  }
  if (type != finish.stored && noise->Below(3) == 0) {
    ErasingStep& erasing = made.recipe.erasing;
    EXPECT_TRUE(RandomSize::Create(.02, .6, .3, 3, &erasing.size).ok());
    made.recipe.erase = Chance{1} << 31;
    erasing.noise = noise->Below(2) == 0;
    const size_t values = noise->Below(2) == 0 ? 1 : finish.channels;
    for (size_t c = 0; c < values; ++c) {
      erasing.values.push_back(static_cast<float>(noise->Below(999)) / 7 - 70);
    }
  }
  if (sizeof(Sample) == 1 && finish.channels % 2 == 1) {
    AddColours(noise, finish.channels, &made.recipe);
  }
  uint32_t n = 1 + noise->Below(3);
  if (first != nullptr) {
    made.images = first->images;
    made.orientations = first->orientations;
    n = static_cast<uint32_t>(made.images.size());
  }
  for (uint32_t i = static_cast<uint32_t>(made.images.size()); i < n; ++i) {
    // One side in eight stays as it is.
    const ImageInfo info =
        Info(noise->Below(8) == 0 ? made.height : Side(noise),
             noise->Below(8) == 0 ? made.width : Side(noise),
             static_cast<int>(finish.channels), 8 * sizeof(Sample));
    Bytes bytes(info.height * info.RowBytes());
    const uint32_t kind = noise->Below(3);
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(kind == 0   ? noise->Next()
                                  : kind == 1 ? noise->Below(2) * 255
                                              : noise->Below(9) * 28);
    }
    made.images.emplace_back(info, std::move(bytes));
    made.orientations.push_back(static_cast<uint8_t>(1 + noise->Below(8)));
  }
  for (uint32_t i = 0; i < n; ++i) {
    const ImageInfo& info = made.images[i].info();
    SamplePlan plan;
    const Status planned =
        PlanSample(made.recipe, 3, i, info.height, info.width,
                   made.orientations[i], 1 << 24, &plan);
    EXPECT_TRUE(planned.ok()) << planned.message();
    // Chance hardly ever gives these.
    if (plan.rotated && noise->Below(4) == 0) {
      plan.degrees = 90.0 * noise->Below(8) - 360;
    }
    made.plans.push_back(plan);
  }
  return made;
}

// One round, of an image.
template <typename Sample>
void Operate(const ImageDeviceOperation& operation,
             const L3DeviceOutput& output, const uint32_t* tables,
             uint8_t* canvases, uint8_t* found, HostOrder order) {
  if (NeedsWhole(operation)) {
    HostBlock block(kImageFindThreads, order);
    const HostMemory memory(kImageFindSharedBytes);
    ImageFind(block, operation, output, canvases, memory.data(), found);
  }
  HostBlock block(kImageThreads, order);
  const uint32_t tiles = ImageTiles(output.height, output.width);
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    ImageOperate(block, operation, tile, output, tables,
                 reinterpret_cast<Sample*>(canvases), found);
  }
}

template <typename Sample, typename Out>
Bytes MakeView(Case* made, const ImageDeviceBatch& batch, HostOrder order);

// Of all images, by the device's kernels, of each view. The stored type of all
// views is one, and so is that of their pixels.
template <typename Sample, typename Out>
std::vector<Bytes> MakeOnDevice(const std::vector<Case*>& views,
                                HostOrder order) {
  std::vector<const Recipe*> recipes;
  std::vector<ImageDeviceInput> inputs;
  for (const Case* view : views) recipes.push_back(&view->recipe);
  for (size_t i = 0; i < views[0]->plans.size(); ++i) {
    const ImageInfo& info = views[0]->images[i].info();
    for (const Case* view : views) {
      inputs.push_back({&view->plans[i], info.height, info.width});
    }
  }
  std::vector<ImageDeviceBatch> batches;
  size_t failed = 0;
  const Status planned =
      PlanImageDevice(recipes, /*stacked=*/false, inputs,
                      static_cast<uint32_t>(views[0]->finish.channels),
                      8 * sizeof(Sample), &batches, &failed);
  EXPECT_TRUE(planned.ok()) << planned.message();
  std::vector<Bytes> pixels;
  for (size_t v = 0; v < batches.size(); ++v) {
    pixels.push_back(MakeView<Sample, Out>(views[v], batches[v], order));
  }
  return pixels;
}

// One view, whose scratch has other bytes wherever no window is.
template <typename Sample, typename Out>
Bytes MakeView(Case* made, const ImageDeviceBatch& batch, HostOrder order) {
  const FinishSpec& finish = made->finish;
  const auto channels = static_cast<uint32_t>(finish.channels);
  const uint32_t bits = 8 * sizeof(Sample);
  EXPECT_EQ(batch.height, made->height);
  EXPECT_EQ(batch.width, made->width);
  L3DeviceOutput output = {
      batch.height, batch.width, channels, finish.channels_first, {}, {}, 0, 0};
  for (size_t c = 0; c < kL3MaxChannels; ++c) {
    output.mean[c] = c < finish.mean.size() ? finish.mean[c] : 0;
    output.std[c] = c < finish.std.size() ? finish.std[c] : 1;
  }
  const std::vector<float> means = MeanInLayout(finish);
  const HostMemory of_means(means.size() * sizeof(float));
  if (!means.empty()) {
    std::memcpy(of_means.data(), means.data(), means.size() * sizeof(float));
    output.mean_image = reinterpret_cast<uint64_t>(of_means.data());
  }
  Bytes pixels(made->plans.size() * batch.height * batch.width * channels *
               sizeof(Out));
  const uint32_t shared = ImageSharedBytes(channels, bits);
  EXPECT_LE(shared, 48u * 1024);
  const HostMemory memory(shared);
  HostMemory tables(batch.tables.size() * sizeof(uint32_t));
  if (!batch.tables.empty()) {
    std::memcpy(tables.data(), batch.tables.data(), tables.size());
  }
  HostBlock block(kImageThreads, order);
  const uint32_t tiles = ImageTiles(batch.height, batch.width);
  L3DeviceOutput of_canvas = output;
  of_canvas.planar = 0;
  of_canvas.mean_image = 0;
  for (const ImageDeviceChunk& chunk : batch.chunks) {
    const size_t pixel = channels * sizeof(Sample);
    const size_t place = size_t{chunk.height} * chunk.width * pixel;
    const HostMemory scratch(
        batch.canvases != 0
            ? batch.scratch_bytes
            : std::max<size_t>(batch.luma + 4 * chunk.count * tiles,
                               place * chunk.count));
    for (uint32_t i = 0; i < chunk.count; ++i) {
      EXPECT_TRUE(made->images[chunk.first + i]
                      .Decode(1, batch.windows[chunk.first + i],
                              scratch.data() + i * place, chunk.width * pixel)
                      .ok());
    }
    const auto* const of_tables =
        reinterpret_cast<const uint32_t*>(tables.data());
    uint8_t* const canvases = scratch.data() + batch.canvases;
    for (uint32_t i = 0; i < chunk.count; ++i) {
      const ImageDeviceSample& sample = batch.samples[chunk.first + i];
      if (batch.canvases != 0) {
        for (uint32_t tile = 0; tile < tiles; ++tile) {
          ImageMakeTile<Sample, Sample>(
              block, sample, tile, of_canvas, of_tables,
              reinterpret_cast<const Sample*>(scratch.data()),
              reinterpret_cast<Sample*>(canvases), memory.data());
        }
        for (uint32_t round = 0; round < chunk.rounds; ++round) {
          Operate<Sample>(
              batch.operations[chunk.operations + round * chunk.count + i],
              of_canvas, of_tables, canvases,
              scratch.data() + batch.found + i * kImageFoundBytes, order);
        }
        for (uint32_t tile = 0; tile < tiles; ++tile) {
          ImageMakeTile<Sample, Out>(
              block, batch.finished[chunk.first + i], tile, output, of_tables,
              reinterpret_cast<const Sample*>(canvases),
              reinterpret_cast<Out*>(pixels.data()), memory.data());
        }
        continue;
      }
      for (uint32_t tile = 0; tile < tiles && NeedsMean(sample.colours);
           ++tile) {
        if constexpr (sizeof(Sample) == 1) {
          ImageMakeTile<Sample, uint8_t>(
              block, sample, tile, output, of_tables, scratch.data(),
              static_cast<uint8_t*>(nullptr), memory.data(),
              reinterpret_cast<uint32_t*>(scratch.data() + sample.luma) + tile);
        }
      }
      for (uint32_t tile = 0; tile < tiles; ++tile) {
        ImageMakeTile<Sample, Out>(
            block, sample, tile, output, of_tables,
            reinterpret_cast<const Sample*>(scratch.data()),
            reinterpret_cast<Out*>(pixels.data()), memory.data());
      }
    }
  }
  if constexpr (!std::is_same_v<Sample, Out>) {
    for (const ImageDeviceErasure& erasure : batch.erasures) {
      for (uint32_t tile = 0; tile < tiles; ++tile) {
        ImageErase(block, erasure, tile, output,
                   reinterpret_cast<Out*>(pixels.data()));
      }
    }
  }
  return pixels;
}

Bytes MakeOnHost(Case* made) {
  Finisher finisher;
  EXPECT_TRUE(Finisher::Create(made->finish, &finisher).ok());
  const size_t size = finisher.ImageBytes(made->height, made->width);
  const ImageMaker maker(made->recipe, finisher, /*mask=*/false);
  Bytes pixels(made->plans.size() * size);
  MakerScratch scratch;
  for (size_t i = 0; i < made->plans.size(); ++i) {
    const Status status = maker.Make(made->plans[i], &made->images[i], &scratch,
                                     pixels.data() + i * size);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return pixels;
}

template <typename Sample, typename Out>
void CheckCase(int number, PixelType type) {
  Noise noise(static_cast<uint64_t>(number) * 16 + sizeof(Sample));
  Case made = MakeCase<Sample>(&noise, type);
  const HostOrder order = static_cast<HostOrder>(number % 3);
  std::vector<Case> views = {std::move(made)};
  // One in four has further views.
  for (int v = number % 4 == 0 ? 1 + number / 4 % 2 : 0; v > 0; --v) {
    views.push_back(MakeCase<Sample>(&noise, type, &views[0]));
  }
  std::vector<Case*> all;
  for (Case& view : views) all.push_back(&view);
  const std::vector<Bytes> found = MakeOnDevice<Sample, Out>(all, order);
  for (size_t v = 0; v < views.size(); ++v) {
    SCOPED_TRACE(v);
    const Bytes wanted = MakeOnHost(&views[v]);
    ASSERT_EQ(found[v].size(), wanted.size());
    ASSERT_TRUE(found[v] == wanted);
  }
}

template <typename Sample>
void CheckCases(PixelType stored) {
  for (int i = 0; i < Cases(); ++i) {
    SCOPED_TRACE(i);
    switch (i % 4) {
      case 0:
        ASSERT_NO_FATAL_FAILURE(
            (CheckCase<Sample, float>(i, PixelType::kFloat32)));
        break;
      case 1:
        ASSERT_NO_FATAL_FAILURE(
            (CheckCase<Sample, L3BFloat16>(i, PixelType::kBfloat16)));
        break;
      case 2:
        ASSERT_NO_FATAL_FAILURE(
            (CheckCase<Sample, ImageHalf>(i, PixelType::kFloat16)));
        break;
      default:
        ASSERT_NO_FATAL_FAILURE((CheckCase<Sample, Sample>(i, stored)));
    }
  }
}

TEST(ImageDeviceTest, RandomRecipesOf8Bits) {
  CheckCases<uint8_t>(PixelType::kUint8);
}

TEST(ImageDeviceTest, RandomRecipesOf16Bits) {
  CheckCases<uint16_t>(PixelType::kUint16);
}

// Of three images: mixed with the last one, as it is, and with a window of the
// first one.
template <typename Out>
void CheckMix(PixelType type, uint32_t channels, bool planar) {
  constexpr uint32_t kHeight = 21, kWidth = 70;
  const size_t values = size_t{kHeight} * kWidth * channels;
  Noise noise(channels);
  std::vector<float> floats(3 * values);
  for (float& value : floats) {
    value = (static_cast<float>(noise.Below(1 << 24)) - (1 << 23)) / 60000;
  }
  const ImageDeviceBlend blends[] = {
      {2, ImageBlend::kMix, .3f, .7f, 0, 0, 0, 0},
      {1, ImageBlend::kNone, 1, 0, 0, 0, 0, 0},
      {0, ImageBlend::kCut, .9f, .1f, 3, 30, 17, 11}};
  L3DeviceOutput output = {};
  output.height = kHeight;
  output.width = kWidth;
  output.channels = channels;
  output.planar = planar;
  std::vector<Out> found(3 * values);
  HostBlock block(kImageThreads, HostOrder::kForward);
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t tile = 0; tile < ImageTiles(kHeight, kWidth); ++tile) {
      ImageMix(block, blends[i], i, tile, output, floats.data(), found.data());
    }
  }
  FinishSpec spec;
  spec.type = type;
  spec.channels = channels;
  spec.channels_first = planar;
  Finisher finisher;
  ASSERT_TRUE(Finisher::Create(spec, &finisher).ok());
  std::vector<Out> wanted(3 * values);
  const auto to = [&](size_t i) {
    return reinterpret_cast<uint8_t*>(wanted.data() + i * values);
  };
  const float* const first = floats.data();
  finisher.Mix(first, first + 2 * values, .3f, .7f, values, to(0));
  finisher.Round(first + values, values, to(1));
  std::vector<float> cut(first + 2 * values, first + 3 * values);
  for (size_t i = 0; i < values; ++i) {
    const size_t pixel = planar ? i % (kHeight * kWidth) : i / channels;
    const size_t y = pixel / kWidth, x = pixel % kWidth;
    if (y >= 3 && y < 20 && x >= 30 && x < 41) cut[i] = floats[i];
  }
  finisher.Round(cut.data(), values, to(2));
  EXPECT_EQ(std::memcmp(found.data(), wanted.data(), 3 * values * sizeof(Out)),
            0);
}

TEST(ImageDeviceTest, MixedImages) {
  for (const uint32_t channels : {1, 2, 3, 4}) {
    for (const bool planar : {false, true}) {
      SCOPED_TRACE(channels);
      CheckMix<float>(PixelType::kFloat32, channels, planar);
      CheckMix<ImageHalf>(PixelType::kFloat16, channels, planar);
      CheckMix<L3BFloat16>(PixelType::kBfloat16, channels, planar);
    }
  }
}

TEST(ImageDeviceTest, ScratchMemoryIsBounded) {
  Recipe recipe;
  recipe.resize.kind = ResizeStep::Kind::kExact;
  recipe.resize.height = recipe.resize.width = 20;
  // Three images of these are 30 MB, and one of the last is more than all may
  // have.
  std::vector<std::pair<uint32_t, uint32_t>> sizes(7, {2000, 1700});
  sizes.push_back({5000, 3000});
  sizes.push_back({10, 10});
  std::vector<SamplePlan> plans(sizes.size());
  std::vector<ImageDeviceInput> inputs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto [height, width] = sizes[i];
    ASSERT_TRUE(
        PlanSample(recipe, 0, i, height, width, 1, 1 << 24, &plans[i]).ok());
    inputs.push_back({&plans[i], height, width});
  }
  std::vector<ImageDeviceBatch> batches;
  size_t failed = 0;
  ASSERT_TRUE(
      PlanImageDevice({&recipe}, false, inputs, 3, 8, &batches, &failed).ok());
  const ImageDeviceBatch& batch = batches[0];
  std::vector<uint32_t> counts;
  for (const ImageDeviceChunk& chunk : batch.chunks) {
    counts.push_back(chunk.count);
  }
  EXPECT_EQ(counts, std::vector<uint32_t>({3, 3, 1, 1, 1}));
  EXPECT_EQ(batch.scratch_bytes, 5000u * 3000 * 3);
  EXPECT_EQ(batch.samples[4].first, 2000 * 1700);
}

TEST(ImageDeviceTest, ViewsAreOfOneDecode) {
  std::vector<Recipe> recipes(2);
  std::vector<SamplePlan> plans(4);
  std::vector<ImageDeviceInput> inputs;
  const Window windows[] = {{3, 5, 9, 9}, {20, 1, 9, 9}};
  for (size_t i = 0; i < plans.size(); ++i) {
    ASSERT_TRUE(
        PlanSample(recipes[0], 0, i, 40, 30, 1, 1 << 24, &plans[i]).ok());
    plans[i].window = windows[i % 2];
    plans[i].height = plans[i].width = 9;
    plans[i].canvas_height = plans[i].canvas_width = 9;
    plans[i].part = {0, 0, 9, 9};
    inputs.push_back({&plans[i], 40, 30});
  }
  for (const bool stacked : {false, true}) {
    std::vector<ImageDeviceBatch> batches;
    size_t failed = 0;
    ASSERT_TRUE(PlanImageDevice({&recipes[0], &recipes[1]}, stacked, inputs, 3,
                                8, &batches, &failed)
                    .ok());
    ASSERT_EQ(batches.size(), 2u);
    for (uint32_t v = 0; v < 2; ++v) {
      const ImageDeviceBatch& batch = batches[v];
      ASSERT_EQ(batch.samples.size(), 2u);
      for (uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(batch.windows[i].y, 3u);
        EXPECT_EQ(batch.windows[i].x, 1u);
        EXPECT_EQ(batch.windows[i].height, 26u);
        EXPECT_EQ(batch.windows[i].width, 13u);
        EXPECT_EQ(batch.samples[i].image, stacked ? 2 * i + v : i);
        EXPECT_EQ(batch.samples[i].first,
                  int64_t{i} * 26 * 13 + (v == 0 ? 4 : 17 * 13));
      }
    }
  }
}

TEST(ImageDeviceTest, WhatADeviceDoesNotDoIsRefused) {
  Recipe recipe;
  SamplePlan plan;
  ASSERT_TRUE(PlanSample(recipe, 0, 0, 20, 30, 1, 1 << 24, &plan).ok());
  const SamplePlan near = plan;
  // Places so far away that Pillow adds up steps.
  Operation operation;
  operation.kind = OperationKind::kAffine;
  operation.matrix = {1, .1, 40000, 0, 1, 0};
  plan.policy = {operation};
  std::vector<ImageDeviceBatch> batches;
  size_t failed = 0;
  const Status far =
      PlanImageDevice({&recipe}, false, {{&near, 20, 30}, {&plan, 20, 30}}, 3,
                      8, &batches, &failed);
  EXPECT_EQ(failed, 1u);
  EXPECT_EQ(far.code(), StatusCode::kUnimplemented);
  EXPECT_NE(far.message().find("2^15"), std::string::npos);
}

}  // namespace
}  // namespace liquid::image_device_test
