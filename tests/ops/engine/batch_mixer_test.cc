// Samples that are mixed where their records go.
#include "ops/engine/batch_mixer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ops/engine/batch_assembler.h"

namespace liquid::batch_mixer_test {
namespace {

// Of three samples of that size.
void MakeBatch(const std::vector<RecordBlock::Item>& items,
               PendingBatch* batch) {
  batch->epoch = 3;
  batch->first_draw = 12;
  batch->slots.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    batch->slots[i].item = &items[i];
    batch->slots[i].plan.part = {0, 0, 20, 30};
  }
}

TEST(BatchMixerTest, RecordsGoWithWhatBecomesOfThem) {
  MixerConfig config;
  config.step.given = true;
  config.step.mixup = config.step.cutmix = 1;
  config.step.chance = uint64_t{1} << 32;
  config.step.cut = uint64_t{1} << 31;
  config.step.mode = MixStep::Mode::kElem;
  config.seed = 7;
  std::vector<Blend> wanted(3);
  for (uint32_t i = 0; i < 3; ++i) wanted[i].partner = 2 - i;
  DrawBlends(config.step, config.seed, 3, 12, 1, 20, 30, &wanted);
  BatchMixer mixer;
  ASSERT_TRUE(BatchMixer::Create(config, &mixer).ok());
  EXPECT_TRUE(mixer.mixes());
  EXPECT_FALSE(mixer.mixes_here());
  std::vector<RecordBlock::Item> items(3);
  for (RecordBlock::Item& item : items) {
    item.record = std::make_shared<Record>();
  }
  PendingBatch batch;
  MakeBatch(items, &batch);
  PoolBatchAllocator allocator;
  std::vector<uint32_t> here = {1};
  ASSERT_TRUE(mixer.Begin(&allocator, &batch, &here).ok());
  EXPECT_TRUE(here.empty());
  OutputFeature feature;
  feature.name = "image[stored]";
  feature.dtype = DType::kRecords;
  std::vector<Output> outputs;
  ASSERT_TRUE(
      BuildOutputs({feature}, /*ragged=*/false, &allocator, &batch, &outputs)
          .ok());
  const std::vector<Blend>& found = outputs[0].blends;
  ASSERT_EQ(found.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i].partner, wanted[i].partner);
    EXPECT_EQ(found[i].share, wanted[i].share);
    EXPECT_EQ(found[i].cut, wanted[i].cut);
    EXPECT_EQ(found[i].window.height, wanted[i].window.height);
    EXPECT_EQ(found[i].window.x, wanted[i].window.x);
  }
  EXPECT_EQ(outputs[0].plans.size(), 3u);
}

TEST(BatchMixerTest, WhatIsNotMixedHasNothingToTell) {
  MixerConfig config;
  config.step.given = true;
  config.step.smoothing = .1;
  BatchMixer mixer;
  ASSERT_TRUE(BatchMixer::Create(config, &mixer).ok());
  std::vector<RecordBlock::Item> items(2);
  for (RecordBlock::Item& item : items) {
    item.record = std::make_shared<Record>();
  }
  PendingBatch batch;
  MakeBatch(items, &batch);
  PoolBatchAllocator allocator;
  std::vector<uint32_t> here;
  ASSERT_TRUE(mixer.Begin(&allocator, &batch, &here).ok());
  EXPECT_EQ(batch.blends.size(), 2u);
  // Of each record, the plans of its views.
  for (Slot& slot : batch.slots) slot.more_views.resize(2);
  OutputFeature feature;
  feature.name = "image[stored]";
  feature.dtype = DType::kRecords;
  std::vector<Output> outputs;
  ASSERT_TRUE(
      BuildOutputs({feature}, /*ragged=*/false, &allocator, &batch, &outputs)
          .ok());
  EXPECT_TRUE(outputs[0].blends.empty());
  EXPECT_EQ(outputs[0].plans.size(), 6u);
}

}  // namespace
}  // namespace liquid::batch_mixer_test
