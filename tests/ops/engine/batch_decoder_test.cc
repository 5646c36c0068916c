#include "ops/engine/batch_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/engine/decode_config.h"
#include "ops/image/draws.h"

namespace liquid::batch_decoder_test {
namespace {

using testing::HasSubstr;

constexpr uint32_t kHeight = 90, kWidth = 120;
constexpr int64_t kBatch = 6;

// A record of a smooth image with some noise.
std::shared_ptr<Record> MakePhoto(uint64_t sample, Format format) {
  const ImageInfo info = {kHeight, kWidth, 3, 8};
  std::vector<uint8_t> pixels(info.PixelBytes());
  for (size_t i = 0; i < pixels.size(); ++i) {
    const size_t y = i / info.RowBytes(), x = i % info.RowBytes() / 3;
    pixels[i] = static_cast<uint8_t>(y + 2 * x + 31 * sample + i % 3 * 40 +
                                     (i * 2654435761u >> 29));
  }
  auto record = std::make_shared<Record>();
  EXPECT_TRUE(
      Encode(format, EncodeOptions(), info, pixels.data(), &record->joined)
          .ok());
  record->position = record->number = sample;
  record->shard = "shard";
  record->row.sample = sample;
  record->row.format = static_cast<uint8_t>(format);
  record->row.height = kHeight;
  record->row.width = kWidth;
  record->row.channels = 3;
  record->row.bits = 8;
  record->row.orientation = static_cast<uint8_t>(1 + sample % 8);
  record->row.length = record->joined.size();
  record->content.id = sample;
  record->content.image =
      ByteSpan(record->joined.data(), record->joined.size());
  return record;
}

std::shared_ptr<RecordBlock> MakeBlock(
    const std::vector<std::shared_ptr<const Record>>& records,
    uint64_t first_draw) {
  auto block = std::make_shared<RecordBlock>();
  block->epoch = 4;
  block->first_draw = first_draw;
  for (const auto& record : records) {
    RecordBlock::Item item;
    item.record = record;
    block->items.push_back(std::move(item));
  }
  return block;
}

// One view: its steps, and what comes out.
struct View {
  std::vector<std::string> recipe;
  OutputSpec spec;
};

std::vector<View> Views() {
  const std::string resize = "interpolation=bilinear antialias=1 draft=0";
  return {
      {{"RandomResizedCrop scale=0.2,1 ratio=0.75,1.33",
        "Resize height=32 width=28 " + resize, "Mirror p=0.5",
        "Normalize mean=127.5 std=60"},
       {DType::kFloat32, {-1, 32, 28, 3}}},
      {{"RandomResizedCrop scale=0.2,1 ratio=0.75,1.33",
        "Resize height=32 width=28 " + resize, "Mirror p=0.5",
        "Normalize mean=127.5 std=60"},
       {DType::kFloat32, {-1, 32, 28, 3}}},
      {{"Orient", "RandomCrop height=20 width=24", "Mirror p=0.5"},
       {DType::kUint8, {-1, 20, 24, 3}}},
      {{"Resize shorter=50 " + resize, "RandomCrop height=16 width=16",
        "Rotate degrees=20 value=0 mask_value=0",
        "ColorJitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1 p=1",
        "Grayscale p=0.5", "ChannelsFirst"},
       {DType::kUint8, {-1, 3, 16, 16}}},
  };
}

DecodeMessage MakeMessage(const std::vector<View>& views) {
  DecodeMessage message;
  message.batch_size = kBatch;
  message.seed = 11;
  message.max_pixels = 1 << 20;
  message.max_scans = 100;
  message.lookahead = message.parallelism = 1;
  message.image_bits = 8;
  message.features = {"image"};
  message.recipe = views[0].recipe;
  for (size_t v = 1; v < views.size(); ++v) {
    const std::string name = "image[" + std::to_string(v) + "]";
    message.features.push_back(name);
    message.views.push_back({name, 11, views[v].recipe});
  }
  return message;
}

Status Make(const DecodeMessage& message, const std::vector<View>& views,
            BatchAllocator* allocator, std::unique_ptr<BatchDecoder>* decoder) {
  std::vector<OutputSpec> outputs;
  for (const View& view : views) outputs.push_back(view.spec);
  DecodeConfig config;
  std::vector<OutputFeature> features;
  LIQUID_RETURN_IF_ERROR(
      Configure(message, outputs, MeanImage(), &config, &features));
  *decoder = std::make_unique<BatchDecoder>(std::move(config), allocator);
  return OkStatus();
}

// The pixels of every view of a block.
std::vector<std::string> Decoded(const std::vector<View>& views,
                                 std::shared_ptr<const RecordBlock> block,
                                 bool* all_good = nullptr,
                                 const DecodeMessage* message = nullptr) {
  PoolBatchAllocator allocator;
  std::unique_ptr<BatchDecoder> decoder;
  const Status made = Make(message != nullptr ? *message : MakeMessage(views),
                           views, &allocator, &decoder);
  EXPECT_TRUE(made.ok()) << made.message();
  PendingBatch batch;
  std::vector<uint64_t> costs;
  EXPECT_TRUE(decoder->Prepare(std::move(block), &batch, &costs).ok());
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < batch.slots.size(); ++i) slots.push_back(i);
  decoder->Decode(slots.data(), slots.size(), &batch);
  for (const Slot& slot : batch.slots) {
    if (all_good != nullptr) *all_good = *all_good && slot.status.ok();
    EXPECT_TRUE(all_good != nullptr || slot.status.ok())
        << slot.status.message();
  }
  std::vector<std::string> found;
  for (const Array& pixels : batch.pixels) {
    found.emplace_back(pixels.as<char>(), pixels.bytes());
  }
  return found;
}

// A view is what its recipe gives alone, to one who is told the view's number.
TEST(ViewsTest, EachIsWhatItsRecipeGivesAlone) {
  const std::vector<View> views = Views();
  for (const Format format :
       {Format::kRaw, Format::kPng, Format::kJpeg, Format::kL3}) {
    std::vector<std::shared_ptr<const Record>> records;
    for (int64_t i = 0; i < kBatch; ++i) {
      records.push_back(MakePhoto(static_cast<uint64_t>(i), format));
    }
    for (const uint64_t first : {0, 600}) {
      const auto together = Decoded(views, MakeBlock(records, first));
      ASSERT_EQ(together.size(), views.size());
      for (size_t v = 0; v < views.size(); ++v) {
        const auto alone =
            Decoded({views[v]}, MakeBlock(records, DrawOfView(first, v)));
        EXPECT_TRUE(together[v] == alone[0])
            << "view " << v << " of format " << static_cast<int>(format);
      }
      // The same steps, and other windows.
      EXPECT_FALSE(together[0] == together[1]);
    }
  }
}

TEST(ViewsTest, KeptPixelsAreThoseOfOneImage) {
  const std::vector<View> views = Views();
  std::vector<std::shared_ptr<const Record>> records;
  for (uint64_t i = 0; i < kBatch; ++i) {
    records.push_back(MakePhoto(i, Format::kPng));
  }
  const auto wanted = Decoded(views, MakeBlock(records, 12));
  auto block = MakeBlock(records, 12);
  for (RecordBlock::Item& item : block->items) {
    item.promise = std::make_shared<RecordPromise>();
  }
  EXPECT_TRUE(Decoded(views, block) == wanted);
  std::vector<std::shared_ptr<const Record>> kept;
  for (const RecordBlock::Item& item : block->items) {
    kept.push_back(item.promise->Get());
    ASSERT_NE(kept.back(), nullptr);
    EXPECT_EQ(kept.back()->pixels.size(), 1u);
  }
  EXPECT_TRUE(Decoded(views, MakeBlock(kept, 12)) == wanted);
}

// Those of an image lie one after another.
TEST(ViewsTest, StackedViewsAreOneArray) {
  std::vector<View> views = Views();
  views = {views[0], views[1], views[0]};
  std::vector<std::shared_ptr<const Record>> records;
  for (uint64_t i = 0; i < kBatch; ++i) {
    records.push_back(MakePhoto(i, Format::kPng));
  }
  const auto apart = Decoded(views, MakeBlock(records, 12));
  DecodeMessage message = MakeMessage(views);
  message.stacked = true;
  message.features = {"image"};
  View all = views[0];
  all.spec.shape.insert(all.spec.shape.begin() + 1, 3);
  const auto together =
      Decoded({all}, MakeBlock(records, 12), nullptr, &message);
  ASSERT_EQ(together.size(), 1u);
  ASSERT_EQ(together[0].size(), 3 * apart[0].size());
  const size_t image = apart[0].size() / kBatch;
  for (size_t i = 0; i < size_t{3} * kBatch; ++i) {
    EXPECT_TRUE(together[0].compare(i * image, image, apart[i % 3],
                                    i / 3 * image, image) == 0)
        << i;
  }
  PoolBatchAllocator allocator;
  std::unique_ptr<BatchDecoder> decoder;
  EXPECT_THAT(Make(message, {views[0]}, &allocator, &decoder).message(),
              HasSubstr("must be [batch, 3, ...]"));
  message.recipe.push_back(
      "Mix mixup=1 cutmix=0 p=1 switch=0 label_smoothing=0 mode=batch");
  EXPECT_TRUE(Make(message, {all}, &allocator, &decoder).ok());
  message.views[1].recipe.back() = "Normalize mean=127.5 std=61";
  EXPECT_THAT(Make(message, {all}, &allocator, &decoder).message(),
              HasSubstr("Mix needs views of one Normalize"));
  message.recipe.pop_back();
  message.views.clear();
  EXPECT_THAT(Make(message, {all}, &allocator, &decoder).message(),
              HasSubstr("stacked (true) must be false without views"));
}

TEST(ViewsTest, ADamagedImageIsOneError) {
  const std::vector<View> views = Views();
  std::vector<std::shared_ptr<const Record>> records;
  for (uint64_t i = 0; i < kBatch; ++i) {
    auto record = MakePhoto(i, Format::kPng);
    if (i == 2) record->joined[40] ^= 0x55;
    records.push_back(record);
  }
  bool good = true;
  Decoded(views, MakeBlock(records, 0), &good);
  EXPECT_FALSE(good);
}

// The index beside a JPEG changes no pixel, and is read: another one is an
// error. Kept pixels have none.
TEST(JpegIndexTest, IsUsed) {
  const std::vector<View> views = Views();
  const auto decode = [&](const std::vector<View>& some, size_t wrong,
                          const std::vector<std::string>& indexes, bool* good) {
    std::vector<std::shared_ptr<const Record>> records;
    for (uint64_t i = 0; i < kBatch; ++i) {
      auto record = MakePhoto(i, Format::kJpeg);
      const std::string& index = indexes[i == wrong ? (i + 1) % kBatch : i];
      record->content.index = ByteSpan(index.data(), index.size());
      records.push_back(std::move(record));
    }
    auto block = MakeBlock(records, 12);
    for (RecordBlock::Item& item : block->items) {
      item.promise = std::make_shared<RecordPromise>();
    }
    *good = true;
    const auto found = Decoded(some, MakeBlock(records, 12), good);
    EXPECT_TRUE(Decoded(some, block, good) == found || !*good);
    for (const RecordBlock::Item& item : block->items) {
      const RecordPtr kept = item.promise->Get();
      EXPECT_TRUE(kept == nullptr || kept->content.index.size == 0);
    }
    return found;
  };
  std::vector<std::string> none(kBatch), indexes(kBatch);
  for (uint64_t i = 0; i < kBatch; ++i) {
    ASSERT_TRUE(AppendJpegIndex(MakePhoto(i, Format::kJpeg)->content.image,
                                DecodeLimits(), 4, &indexes[i])
                    .ok());
    ASSERT_FALSE(indexes[i].empty());
  }
  bool good = false;
  for (const std::vector<View>& some : {views, {views[0]}, {views[2]}}) {
    const auto wanted = decode(some, kBatch, none, &good);
    EXPECT_TRUE(good);
    EXPECT_TRUE(decode(some, kBatch, indexes, &good) == wanted);
    EXPECT_TRUE(good);
    decode(some, 2, indexes, &good);
    EXPECT_FALSE(good);
  }
}

TEST(ViewsTest, WhatDoesNotGoWithThem) {
  const std::vector<View> views = Views();
  PoolBatchAllocator allocator;
  std::unique_ptr<BatchDecoder> decoder;
  const auto error = [&](const DecodeMessage& message) {
    const Status status = Make(message, views, &allocator, &decoder);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  DecodeMessage message = MakeMessage(views);
  EXPECT_TRUE(Make(message, views, &allocator, &decoder).ok());
  message.ragged = true;
  EXPECT_THAT(error(message), HasSubstr("views go with no ragged pixels"));
  message = MakeMessage(views);
  message.masks = {"mask"};
  EXPECT_THAT(error(message), HasSubstr("masks"));
  message = MakeMessage(views);
  message.views[1].recipe = {"Turn"};
  EXPECT_THAT(error(message), HasSubstr("\"Turn\": the step is unknown"));
  message = MakeMessage(views);
  message.views[0].recipe.push_back(
      "Mix mixup=0 cutmix=0 p=1 switch=0 label_smoothing=.1 mode=batch");
  EXPECT_THAT(error(message),
              HasSubstr("Mix must be given with the first view"));
  std::swap(message.recipe, message.views[0].recipe);
  EXPECT_THAT(error(message),
              HasSubstr("Mix must not be given with views, unless stacked"));
  message = MakeMessage(views);
  message.views.resize(kMostViews, message.views[0]);
  EXPECT_THAT(error(message), HasSubstr("views (256) must be fewer than 256"));
  message = MakeMessage(views);
  message.features[3] = "image[9]";
  EXPECT_THAT(error(message), HasSubstr("\"image[9]\""));
}

}  // namespace
}  // namespace liquid::batch_decoder_test
