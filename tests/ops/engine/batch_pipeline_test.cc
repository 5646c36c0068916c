#include "ops/engine/batch_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/engine/decode_config.h"
#include "ops/engine/threads.h"
#include "tests/ops/engine/memory_records.h"
#include "tests/ops/sampler/random_spec.h"

namespace liquid::batch_pipeline_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Blocks = std::vector<std::shared_ptr<const RecordBlock>>;
// The samples of each batch.
using Samples = std::vector<std::vector<int64_t>>;

// Notes what an epoch is told.
class Notes : public EpochRun {
 public:
  CountDecode LaterDecodes() override { return nullptr; }
  void Delivered(const BatchReport& report) override {
    reports.push_back(report);
  }
  void Skipped(const SkippedRecord& record) override {
    skipped.push_back(record);
  }
  void SetFidelity(const std::vector<int64_t>&) override {}
  void Filled(uint64_t, double) override {}
  void ReadGroups(uint32_t, uint64_t) override {}
  void ReadTier(uint64_t) override {}
  void Retried(uint32_t, uint64_t) override {}
  void Complete() override { ++complete; }
  void Decoding(int64_t parallelism, int64_t lookahead) override {
    decoding = {parallelism, lookahead};
  }

  // By the thread that asks for batches.
  std::vector<BatchReport> reports;
  std::vector<SkippedRecord> skipped;
  std::pair<int64_t, int64_t> decoding;
  int complete = 0;
};

// Gives memory so often, and then no more.
class FailingAllocator : public PoolBatchAllocator {
 public:
  Status Allocate(DType dtype, std::vector<int64_t> shape,
                  Array* array) override {
    if (left-- <= 0) return Unavailable("no memory for a test");
    return PoolBatchAllocator::Allocate(dtype, std::move(shape), array);
  }
  std::atomic<int> left{1 << 30};
};

// Blocks of `batch` draws of an epoch of that many, of which some are damaged.
// A sample's format is that of `format_of`.
Blocks MakeBlocks(
    uint64_t samples, uint64_t batch, const std::set<uint64_t>& bad = {},
    const std::function<uint32_t(uint64_t)>& format_of =
        [](uint64_t) { return 0; },
    const std::shared_ptr<EpochRun>& run = nullptr) {
  Blocks blocks;
  for (uint64_t first = 0; first < samples; first += batch) {
    auto block = std::make_shared<RecordBlock>();
    block->epoch = 5;
    block->first_draw = first;
    block->last = first + batch >= samples;
    block->run = run;
    block->cost = std::make_shared<BatchCost>();
    for (uint64_t i = first; i < std::min(samples, first + batch); ++i) {
      RecordBlock::Item item;
      item.record =
          bad.count(i) > 0
              ? MakeBadRecord(
                    i, DataLoss("sample " + std::to_string(i) + " is bad"))
              : MakeRecord(i);
      item.format = format_of(i);
      block->items.push_back(std::move(item));
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

struct Input {
  Input() {
    message.batch_size = 4;
    message.max_pixels = 1 << 20;
    message.max_scans = 100;
    message.features = {"image", "id", "label", "bytes", "image[stored]"};
    message.image_bits = 8;
    message.lookahead = 4;
    message.parallelism = 3;
  }
  explicit Input(Blocks the_blocks) : Input() {
    blocks = std::move(the_blocks);
  }

  DecodeMessage message;
  Blocks blocks;
  Status input_status;  // behind the blocks
  BatchAllocator* allocator = nullptr;
  // Before some samples of a batch are decoded.
  std::function<void(const PendingBatch&)> before = [](const PendingBatch&) {};
};

// A pipeline with all around it, of which tokens are numbers of blocks.
class Pipeline {
 public:
  explicit Pipeline(const Input& input) : input_(input) {
    const std::vector<OutputSpec> outputs = {{DType::kUint8, {-1, 2, 3, 1}},
                                             {DType::kInt64, {-1}},
                                             {DType::kInt64, {-1}},
                                             {DType::kString, {-1}},
                                             {DType::kRecords, {}}};
    DecodeConfig config;
    const Status made =
        Configure(input.message, outputs, MeanImage(), &config, &features_);
    EXPECT_TRUE(made.ok()) << made.message();
    decoder_ = std::make_unique<BatchDecoder>(
        std::move(config),
        input.allocator != nullptr ? input.allocator : &allocator_);
    EXPECT_TRUE(Threads::Create(input.message.parallelism, &threads_).ok());
    BatchPipeline::Surroundings around;
    around.read = [this](BatchPipeline::Input* input) { return Read(input); };
    around.runner = [this](std::function<void()> work) {
      threads_->Run(std::move(work));
    };
    around.parallelism = [this]() { return input_.message.parallelism; };
    around.lookahead = [this]() { return input_.message.lookahead; };
    around.buffered = [this](int64_t bytes, int64_t batches) {
      buffered_bytes += bytes;
      buffered_batches += batches;
    };
    around.decode = [this](const PendingBatch& batch, size_t samples,
                           const std::function<int64_t()>& work) {
      input_.before(batch);
      const int64_t nanos = work();
      EXPECT_GE(nanos, 0);
      decoded += samples;
    };
    pipeline = std::make_unique<BatchPipeline>(decoder_.get(), &features_,
                                               input.message, around);
  }
  ~Pipeline() {
    pipeline->Cancel();
    if (producer_.joinable()) producer_.join();
    pipeline.reset();
  }

  Pipeline& Start() {
    producer_ = std::thread([this]() {
      pipeline->Produce();
      produced = true;
    });
    return *this;
  }

  // The next batch, all of whose outputs are of the samples that it names.
  Status Next(std::vector<int64_t>* samples, bool* end) {
    BatchPipeline::Batch batch;
    const Status status = pipeline->Next(
        {[this](bool waits) { waits_.push_back(waits); },
         [this](void* token) { passed.push_back(*static_cast<int*>(token)); }},
        &batch);
    samples->clear();
    *end = batch.end;
    if (!status.ok() || batch.end) return status;
    EXPECT_NE(batch.token, nullptr);
    EXPECT_EQ(*static_cast<int*>(batch.token.get()), passed.back());
    EXPECT_EQ(batch.outputs.size(), 5u);
    const Array& images = batch.outputs[0].numbers;
    const int64_t* ids = batch.outputs[1].numbers.as<int64_t>();
    samples->assign(ids, ids + batch.outputs[1].numbers.rows());
    EXPECT_EQ(
        images.shape(),
        (std::vector<int64_t>{static_cast<int64_t>(samples->size()), 2, 3, 1}));
    EXPECT_EQ(batch.outputs[3].texts.size(), samples->size());
    const std::vector<RecordPtr>& records = batch.outputs[4].records;
    EXPECT_EQ(records.size(), samples->size());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(static_cast<int64_t>(records[i]->row.sample), (*samples)[i]);
      const ByteSpan stored = records[i]->content.image;
      const ByteSpan copied = batch.outputs[3].texts[i].bytes;
      EXPECT_NE(stored.data, copied.data);
      EXPECT_EQ(std::string(stored.data, stored.data + stored.size),
                std::string(copied.data, copied.data + copied.size));
    }
    for (size_t i = 0; i < samples->size(); ++i) {
      const auto sample = static_cast<uint64_t>((*samples)[i]);
      for (int p = 0; p < 6; ++p) {
        EXPECT_EQ(images.data()[6 * i + p], PixelOf(sample)) << sample;
      }
      EXPECT_EQ(batch.outputs[2].numbers.as<int64_t>()[i], (*samples)[i]);
      const ByteSpan bytes = batch.outputs[3].texts[i].bytes;
      EXPECT_EQ(bytes.size, kRawHeaderBytes + 6);
      EXPECT_EQ(bytes.data[bytes.size - 1], PixelOf(sample)) << sample;
    }
    return status;
  }

  // All batches until the end, or an error.
  Samples Drain(Status* status) {
    Samples all;
    for (;;) {
      std::vector<int64_t> samples;
      bool end;
      *status = Next(&samples, &end);
      if (!status->ok() || end) return all;
      all.push_back(std::move(samples));
    }
  }
  Samples Drain() {
    Status status;
    Samples all = Drain(&status);
    EXPECT_TRUE(status.ok()) << status.message();
    return all;
  }

  std::unique_ptr<BatchPipeline> pipeline;
  std::vector<int> passed;
  std::atomic<int64_t> buffered_bytes{0}, buffered_batches{0};
  std::atomic<uint64_t> decoded{0};
  std::atomic<size_t> read{0};  // blocks
  std::atomic<bool> produced{false};
  std::vector<bool> waits_;

 private:
  Status Read(BatchPipeline::Input* input) {
    const size_t number = read;
    input->token = std::make_shared<int>(static_cast<int>(number));
    if (number == input_.blocks.size()) return input_.input_status;
    input->block = input_.blocks[number];
    ++read;
    return OkStatus();
  }

  const Input input_;
  PoolBatchAllocator allocator_;
  std::vector<OutputFeature> features_;
  std::unique_ptr<BatchDecoder> decoder_;
  std::unique_ptr<Threads> threads_;
  std::thread producer_;
};

Samples Batches(int64_t samples, int64_t batch) {
  Samples all;
  for (int64_t i = 0; i < samples; ++i) {
    if (i % batch == 0) all.emplace_back();
    all.back().push_back(i);
  }
  return all;
}

std::vector<int64_t> Sorted(const Samples& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) {
    all.insert(all.end(), batch.begin(), batch.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

// A door that is opened once.
class Door {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mu_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [this]() { return open_; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(BatchPipelineTest, OrderIsKeptHoweverLongEachTakes) {
  for (const int64_t threads : {1, 2, 8}) {
    for (const int64_t lookahead : {1, 3, 20}) {
      Input input(MakeBlocks(203, 4));
      input.message.parallelism = threads;
      input.message.lookahead = lookahead;
      input.before = [](const PendingBatch& batch) {
        if (batch.first_draw % 3 == 0) {
          std::this_thread::sleep_for(
              std::chrono::microseconds(batch.first_draw * 7919 % 900));
        }
      };
      Pipeline run(input);
      EXPECT_EQ(run.Start().Drain(), Batches(203, 4));
      EXPECT_EQ(run.decoded, 203u);
      EXPECT_EQ(run.buffered_bytes, 0);
      EXPECT_EQ(run.buffered_batches, 0);
      std::vector<int> tokens(51);
      std::iota(tokens.begin(), tokens.end(), 0);
      EXPECT_EQ(run.passed, tokens);
    }
  }
}

// Of one batch, too, several threads have their parts.
TEST(BatchPipelineTest, ALargeBatchIsDecodedByAll) {
  Input input(MakeBlocks(20000, 10000));
  input.message.batch_size = 10000;
  std::mutex mu;
  std::set<std::thread::id> threads;
  input.before = [&](const PendingBatch&) {
    std::this_thread::yield();
    std::lock_guard<std::mutex> lock(mu);
    threads.insert(std::this_thread::get_id());
  };
  Pipeline run(input);
  EXPECT_EQ(run.Start().Drain(), Batches(20000, 10000));
  EXPECT_GT(threads.size(), 1u);
}

TEST(BatchPipelineTest, NoMoreAreUnderWayThanIsSaid) {
  Input input(MakeBlocks(200, 4));
  input.message.lookahead = 3;
  Pipeline run(input);
  run.Start();
  for (int64_t i = 0; i < 50; ++i) {
    std::vector<int64_t> samples;
    bool end;
    ASSERT_TRUE(run.Next(&samples, &end).ok());
    EXPECT_LE(run.read, static_cast<size_t>(i + 1 + 3));
    if (i % 10 == 0) {
      // It reads as far as it may, and no farther.
      const auto most = std::min<size_t>(50, static_cast<size_t>(i + 1 + 3));
      while (run.read < most) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      EXPECT_EQ(run.read, most);
      EXPECT_LE(run.buffered_batches, 3);
    }
  }
}

TEST(BatchPipelineTest, TheEndStaysTheEnd) {
  for (const uint64_t samples : {0, 4, 5}) {
    Pipeline run(Input(MakeBlocks(samples, 4)));
    run.Start();
    Status status;
    EXPECT_EQ(run.Drain(&status), Batches(static_cast<int64_t>(samples), 4));
    EXPECT_TRUE(status.ok());
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(run.Drain(&status), IsEmpty());
      EXPECT_TRUE(status.ok());
    }
  }
}

TEST(BatchPipelineTest, ABatchThatIsUsedAgainHasNothingOfTheLast) {
  Pipeline run(Input(MakeBlocks(8, 4)));
  run.Start();
  BatchPipeline::Batch batch;
  const BatchPipeline::Caller caller = {[](bool) {}, [](void*) {}};
  for (int64_t first = 0; first < 8; first += 4) {
    ASSERT_TRUE(run.pipeline->Next(caller, &batch).ok());
    ASSERT_EQ(batch.outputs.size(), 5u);
    EXPECT_EQ(batch.outputs[1].numbers.as<int64_t>()[0], first);
    EXPECT_FALSE(batch.end);
  }
  ASSERT_TRUE(run.pipeline->Next(caller, &batch).ok());
  EXPECT_TRUE(batch.end);
  EXPECT_THAT(batch.outputs, IsEmpty());
  EXPECT_EQ(batch.holds, nullptr);
}

TEST(BatchPipelineTest, AnErrorOfTheInputComesInItsTurn) {
  Input input(MakeBlocks(20, 4));
  input.input_status = NotFound("the disk is gone");
  Pipeline run(input);
  Status status;
  EXPECT_EQ(run.Start().Drain(&status), Batches(20, 4));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_EQ(status.message(), "the disk is gone");
    EXPECT_THAT(run.Drain(&status), IsEmpty());
  }
  EXPECT_EQ(run.buffered_batches, 0);
}

TEST(BatchPipelineTest, MemoryThatIsNotThereIsAnErrorOfItsBatch) {
  FailingAllocator allocator;
  allocator.left = 12;  // each batch has one for pixels, and two for numbers
  Input input(MakeBlocks(400, 4));
  input.message.lookahead = 1;
  input.message.skip_errors = true;
  input.allocator = &allocator;
  Pipeline run(input);
  Status status;
  const Samples made = run.Start().Drain(&status);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no memory for a test");
  EXPECT_FALSE(made.empty());
  EXPECT_LE(made.size(), 4u);
  EXPECT_EQ(made, Batches(static_cast<int64_t>(4 * made.size()), 4));
  EXPECT_EQ(run.passed.size(), made.size());
  EXPECT_THAT(run.pipeline->Skipped(), IsEmpty());
}

TEST(BatchPipelineTest, ABadRecordIsAnErrorThatSaysHowToGoOn) {
  Pipeline run(Input(MakeBlocks(12, 4, {6})));
  Status status;
  EXPECT_EQ(run.Start().Drain(&status), Batches(4, 4));
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            "sample 6 is bad; on_error=\"skip\" leaves out what is damaged");
  // A checkpoint stands before the batch.
  EXPECT_THAT(run.passed, ElementsAre(0));
  EXPECT_THAT(run.pipeline->Borrowed(), IsEmpty());
  EXPECT_THAT(run.pipeline->Skipped(), IsEmpty());
}

// Bytes that a record says are an image, and are none.
TEST(BatchPipelineTest, DamagedBytesAreAnErrorOfTheirRecord) {
  Blocks blocks = MakeBlocks(8, 4);
  auto damaged = MakeRecord(5);
  damaged->joined[0] = 'x';
  auto block = std::make_shared<RecordBlock>(*blocks[1]);
  block->items[1].record = damaged;
  blocks[1] = block;
  Pipeline run{Input(blocks)};
  Status status;
  EXPECT_EQ(run.Start().Drain(&status), Batches(4, 4));
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("shard, record 5 (sample 5"));
}

TEST(BatchPipelineTest, WhatTheMachineLacksIsNotSkipped) {
  Blocks blocks = MakeBlocks(12, 4, {2});
  auto block = std::make_shared<RecordBlock>(*blocks[2]);
  block->items[0].record = MakeBadRecord(8, Unavailable("no file handles"));
  blocks[2] = block;
  Input input(blocks);
  input.message.skip_errors = true;
  Pipeline run(input);
  Status status;
  EXPECT_EQ(run.Start().Drain(&status), (Samples{{0, 1, 4, 3}}));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no file handles");
  // The state is that of the last delivered batch.
  EXPECT_THAT(run.pipeline->Borrowed(), ElementsAre(4));
  EXPECT_THAT(run.pipeline->Skipped(), ElementsAre(2));
}

TEST(BatchPipelineTest, TheNextOfItsFormatTakesABadOnesPlace) {
  Input input(MakeBlocks(15, 4, {1, 6}));
  input.message.skip_errors = true;
  Pipeline run(input);
  run.Start();
  const struct {
    std::vector<int64_t> samples, borrowed, skipped;
  } batches[] = {{{0, 4, 2, 3}, {4}, {1}},
                 {{8, 5, 9, 7}, {8, 9}, {1, 6}},
                 {{12, 13, 10, 11}, {12, 13}, {1, 6}},
                 {{14}, {}, {1, 6}}};
  for (const auto& batch : batches) {
    std::vector<int64_t> samples;
    bool end;
    ASSERT_TRUE(run.Next(&samples, &end).ok());
    EXPECT_EQ(samples, batch.samples);
    EXPECT_EQ(run.pipeline->Borrowed(), batch.borrowed);
    EXPECT_EQ(run.pipeline->Skipped(), batch.skipped);
  }
  EXPECT_THAT(run.Drain(), IsEmpty());
}

TEST(BatchPipelineTest, ABatchKeepsItsFormats) {
  const auto format_of = [](uint64_t sample) {
    return static_cast<uint32_t>(sample % 4 == 3);
  };
  Input input(MakeBlocks(16, 4, {3, 4}, format_of));
  input.message.skip_errors = true;
  EXPECT_EQ(Pipeline(input).Start().Drain(),
            (Samples{{0, 1, 2, 7}, {8, 5, 6, 11}, {12, 9, 10, 15}, {13, 14}}));
}

// Whatever is bad: every good sample is given once, and a run that is restored
// after any batch gives what the first one gave.
TEST(BatchPipelineTest, ARestoredRunGivesTheRest) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    RandomStream random = TestStream(seed);
    const uint64_t count = 20 + random.Below(30);
    std::set<uint64_t> bad;
    const uint64_t density = 1 + random.Below(8);
    for (uint64_t i = 0; i < count; ++i) {
      if (random.Below(density) == 0 && i % 11 != 5) bad.insert(i);
    }
    const auto format_of = [seed](uint64_t sample) {
      return static_cast<uint32_t>(sample * (seed + 3) % 7 % 2);
    };
    Input input(MakeBlocks(count, 4, bad, format_of));
    input.message.skip_errors = true;
    const Blocks blocks = input.blocks;
    Pipeline whole(input);
    const Samples all = whole.Start().Drain();
    std::vector<int64_t> good;
    for (uint64_t i = 0; i < count; ++i) {
      if (bad.count(i) == 0) good.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(Sorted(all), good) << seed;
    std::vector<int64_t> skipped = whole.pipeline->Skipped();
    std::sort(skipped.begin(), skipped.end());
    EXPECT_EQ(skipped, std::vector<int64_t>(bad.begin(), bad.end())) << seed;

    Pipeline first(input);
    first.Start();
    for (size_t made = 1; made <= all.size(); ++made) {
      std::vector<int64_t> samples;
      bool end;
      ASSERT_TRUE(first.Next(&samples, &end).ok());
      // Blocks behind those that it has passed, of which all may be bad.
      const auto at = static_cast<size_t>(first.passed.back() + 1);
      Input rest = input;
      rest.blocks.assign(blocks.begin() + at, blocks.end());
      Pipeline restored(rest);
      restored.pipeline->Restore(first.pipeline->Borrowed(),
                                 first.pipeline->Skipped());
      EXPECT_EQ(restored.Start().Drain(),
                Samples(all.begin() + made, all.end()))
          << seed << ", " << made;
      EXPECT_EQ(restored.pipeline->Skipped(), whole.pipeline->Skipped());
    }
  }
}

TEST(BatchPipelineTest, AFilledEpochHasFullBatches) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random = TestStream(100 + seed);
    std::set<uint64_t> bad;
    for (uint64_t i = 0; i < 40; ++i) {
      if (random.Below(3) == 0) bad.insert(i);
    }
    for (uint64_t i = 16; i < 20; ++i) bad.insert(i);  // a whole batch
    Input input(MakeBlocks(40, 4, bad));
    input.message.skip_errors = input.message.repeat_to_fill = true;
    const Samples all = Pipeline(input).Start().Drain();
    EXPECT_EQ(all.size(), 10u);
    for (const auto& batch : all) EXPECT_EQ(batch.size(), 4u);
    std::vector<int64_t> made = Sorted(all);
    made.erase(std::unique(made.begin(), made.end()), made.end());
    std::vector<int64_t> good;
    for (uint64_t i = 0; i < 40; ++i) {
      if (bad.count(i) == 0) good.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(made, good) << seed;
  }
}

TEST(BatchPipelineTest, AShortBatchRepeatsItsSamplesInTurn) {
  Input input(MakeBlocks(7, 4, {5}));
  input.message.skip_errors = input.message.round_batch = true;
  EXPECT_EQ(Pipeline(input).Start().Drain(),
            (Samples{{0, 1, 2, 3}, {4, 6, 4, 6}}));
}

TEST(BatchPipelineTest, AnEpochOfWhichNothingCanBeUsedIsAnError) {
  const auto notes = std::make_shared<Notes>();
  Input input(MakeBlocks(
      10, 4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, [](uint64_t) { return 0; },
      notes));
  input.message.skip_errors = true;
  Pipeline run(input);
  Status status;
  EXPECT_THAT(run.Start().Drain(&status), IsEmpty());
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(
      status.message(),
      "none of the 10 samples of the epoch can be used: mend the dataset; "
      "the first was sample 0 is bad");
  EXPECT_EQ(notes->complete, 0);
  EXPECT_EQ(notes->skipped.size(), 10u);
  EXPECT_THAT(run.passed, ElementsAre(0, 1, 2));
}

TEST(BatchPipelineTest, ARunIsToldOfWhatWasDelivered) {
  const auto notes = std::make_shared<Notes>();
  Blocks blocks = MakeBlocks(
      11, 4, {2, 9}, [](uint64_t) { return 0; }, notes);
  Input input(blocks);
  input.message.skip_errors = true;
  Pipeline run(input);
  run.Start();
  std::vector<int64_t> samples;
  bool end;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(notes->complete, 0);
    ASSERT_TRUE(run.Next(&samples, &end).ok());
  }
  // With the last batch, and before the end is asked for.
  EXPECT_EQ(notes->complete, 1);
  EXPECT_THAT(run.Drain(), IsEmpty());
  EXPECT_EQ(notes->complete, 1);
  ASSERT_EQ(notes->reports.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const BatchReport& report = notes->reports[i];
    EXPECT_EQ(report.epoch, 5);
    EXPECT_EQ(report.first_draw, 4 * i);
    EXPECT_EQ(report.full, i < 2);
    EXPECT_THAT(report.samples, ElementsAre(i < 2 ? 4 : 1));
    EXPECT_THAT(report.decodes, ElementsAre(i < 2 ? 4 : 1));
    EXPECT_EQ(report.cost, blocks[i]->cost);
    EXPECT_GE(report.seconds.step, 0);
  }
  ASSERT_EQ(notes->skipped.size(), 2u);
  EXPECT_EQ(notes->skipped[0].sample, 2u);
  EXPECT_EQ(notes->skipped[1].sample, 9u);
  EXPECT_EQ(notes->skipped[0].reason, "sample 2 is bad");
  EXPECT_EQ(notes->decoding, std::make_pair(int64_t{3}, int64_t{4}));
}

TEST(BatchPipelineTest, CancelEndsAllWaits) {
  Input input(MakeBlocks(40, 4));
  Door door;
  std::atomic<int> decoding{0};
  input.before = [&](const PendingBatch&) {
    ++decoding;
    door.Wait();
  };
  Pipeline run(input);
  run.Start();
  Status status;
  std::thread consumer([&]() { run.Drain(&status); });
  while (decoding == 0) std::this_thread::yield();
  run.pipeline->Cancel();
  consumer.join();  // although nothing is decoded yet
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "the iterator was cancelled");
  while (!run.produced) std::this_thread::yield();
  door.Open();
  // It is for good.
  EXPECT_THAT(run.Drain(&status), IsEmpty());
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

// At any moment: nothing hangs, and what was given before is right.
TEST(BatchPipelineTest, CancelAtAnyMoment) {
  const Blocks blocks = MakeBlocks(400, 4, {10, 11, 50, 51, 52, 53, 200});
  Samples all;
  {
    Input input(blocks);
    input.message.skip_errors = true;
    all = Pipeline(input).Start().Drain();
  }
  for (int i = 0; i < 40; ++i) {
    Input input(blocks);
    input.message.skip_errors = true;
    input.message.parallelism = 1 + i % 5;
    input.message.lookahead = 1 + i % 3;
    Pipeline run(input);
    run.Start();
    std::thread canceller([&]() {
      std::this_thread::sleep_for(std::chrono::microseconds(i * 60));
      run.pipeline->Cancel();
      EXPECT_LE(run.pipeline->Borrowed().size(), 400u);
    });
    Status status;
    const Samples made = run.Drain(&status);
    canceller.join();
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kCancelled);
    ASSERT_LE(made.size(), all.size());
    EXPECT_EQ(made, Samples(all.begin(), all.begin() + made.size()));
  }
}

TEST(BatchPipelineTest, WaitsAreToldInPairs) {
  Pipeline run(Input(MakeBlocks(12, 4)));
  run.Start().Drain();
  ASSERT_EQ(run.waits_.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(run.waits_[i], i % 2 == 0);
}

// A child has memory and no threads: it is told so, and does not hang.
TEST(BatchPipelineTest, AForkedProcessIsToldToMakeItsOwn) {
  Pipeline run(Input(MakeBlocks(12, 4)));
  EXPECT_FALSE(run.pipeline->Forked());
  const pid_t child = fork();
  if (child == 0) {
    BatchPipeline::Batch batch;
    const Status status =
        run.pipeline->Next({[](bool) {}, [](void*) {}}, &batch);
    const bool right = run.pipeline->Forked() &&
                       status.code() == StatusCode::kFailedPrecondition &&
                       status.message().find("\"spawn\"") != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(run.Start().Drain(), Batches(12, 4));
}

}  // namespace
}  // namespace liquid::batch_pipeline_test
