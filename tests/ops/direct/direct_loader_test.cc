// A loader as Python calls it.
#include "ops/direct/direct_loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/ops/engine/small_dataset.h"
#include "tests/ops/http/http_server.h"
#include "tests/ops/message/message_bytes.h"

namespace liquid::direct_loader_test {
namespace {

using ::testing::IsSubstring;

LiquidBytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

LiquidNumbers NumbersOf(const std::vector<int64_t>& numbers) {
  return {numbers.data(), numbers.size()};
}

constexpr LiquidNumbers kNone = {nullptr, 0};

// What Python holds while it makes a loader.
struct Plan {
  Plan() = default;
  explicit Plan(const LoaderConfig& config)
      : draws(MessageBytes(config.draws.message)),
        decode(MessageBytes(config.decode)),
        groups(config.draws.groups),
        record_blocks(config.draws.record_blocks),
        chosen(config.draws.chosen) {
    for (const FormatMessage& message : config.draws.formats) {
      formats.push_back(MessageBytes(message));
    }
    for (const OutputSpec& spec : config.outputs) {
      dtypes.push_back(static_cast<int32_t>(spec.dtype));
      shapes.push_back(spec.shape);
    }
  }

  // Valid until this is changed.
  LiquidDraws Draws() {
    given_formats.clear();
    for (size_t f = 0; f < formats.size(); ++f) {
      given_formats.push_back(
          {BytesOf(formats[f]), {chosen[f].data(), chosen[f].size()}});
    }
    return {BytesOf(draws),       groups.data(),        groups.size(),
            record_blocks.data(), record_blocks.size(), given_formats.data(),
            given_formats.size()};
  }
  LiquidLoaderPlan Given() {
    given_outputs.clear();
    for (size_t i = 0; i < dtypes.size(); ++i) {
      given_outputs.push_back({dtypes[i], NumbersOf(shapes[i])});
    }
    LiquidLoaderPlan plan = {};
    plan.draws = Draws();
    plan.decode = BytesOf(decode);
    plan.outputs = given_outputs.data();
    plan.outputs_size = given_outputs.size();
    return plan;
  }

  std::string draws, decode;
  std::vector<uint16_t> groups;
  std::vector<uint32_t> record_blocks;
  std::vector<std::string> formats;
  std::vector<std::vector<uint8_t>> chosen;
  std::vector<int32_t> dtypes;
  std::vector<std::vector<int64_t>> shapes;

 private:
  std::vector<LiquidFormat> given_formats;
  std::vector<LiquidOutput> given_outputs;
};

class DirectLoaderTest : public testing::Test {
 protected:
  ~DirectLoaderTest() override { liquid_direct_loader_free(loader_); }

  LiquidProblem problem() { return {said_, sizeof(said_)}; }
  std::string said() const { return said_; }

  int32_t Make(const LiquidLoaderPlan& plan) {
    liquid_direct_loader_free(loader_);
    said_[0] = '\0';
    return liquid_direct_loader_create(&plan, &loader_, problem());
  }
  int32_t Make() { return Make(Plan(data_.Config({4, 3})).Given()); }
  int32_t Seek(int64_t epoch, uint64_t step) {
    return liquid_direct_loader_seek(loader_, epoch, step, kNone, kNone,
                                     nullptr, problem());
  }
  int32_t Begin(const LiquidEpoch& epoch = {}) {
    return liquid_direct_loader_begin(loader_, &epoch, problem());
  }
  int32_t Next(LiquidBatch** batch) {
    return liquid_direct_loader_next(loader_, batch, problem());
  }
  LiquidPlace Place() {
    LiquidPlace place = {};
    EXPECT_EQ(liquid_direct_loader_next_epoch(loader_, &place, problem()),
              kLiquidOk);
    return place;
  }
  // What is left of the epoch; the caller releases it.
  std::vector<LiquidBatch*> Drain() {
    std::vector<LiquidBatch*> batches;
    for (;;) {
      LiquidBatch* batch = nullptr;
      EXPECT_EQ(Next(&batch), kLiquidOk) << said();
      if (batch == nullptr) return batches;
      batches.push_back(batch);
    }
  }
  static std::vector<int64_t> SamplesOf(const LiquidBatch& batch) {
    const auto* const ids =
        reinterpret_cast<const int64_t*>(batch.outputs[2].data);
    return {ids, ids + batch.outputs[2].shape.data[0]};
  }
  // The same, of all batches, which are released.
  static std::vector<int64_t> SamplesOf(
      const std::vector<LiquidBatch*>& batches) {
    std::vector<int64_t> samples;
    for (LiquidBatch* batch : batches) {
      const std::vector<int64_t> more = SamplesOf(*batch);
      samples.insert(samples.end(), more.begin(), more.end());
      liquid_direct_batch_release(batch);
    }
    return samples;
  }

  const SmallDataset data_;
  LiquidLoader* loader_ = nullptr;
  char said_[512] = {};
};

// Checks every value of a batch.
void Check(const LiquidBatch& batch) {
  ASSERT_EQ(batch.outputs_size, 4u);
  const LiquidArray& image = batch.outputs[0];
  EXPECT_EQ(image.dtype, kLiquidUint8);
  EXPECT_EQ(image.offsets, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(image.data) % 64, 0u);
  ASSERT_EQ(image.shape.size, 4u);
  const int64_t rows = image.shape.data[0];
  const std::vector<int64_t> shape(image.shape.data, image.shape.data + 4);
  EXPECT_EQ(shape, (std::vector<int64_t>{rows, SmallDataset::kHeight,
                                         SmallDataset::kWidth,
                                         SmallDataset::kChannels}));
  const auto* const labels =
      reinterpret_cast<const int64_t*>(batch.outputs[1].data);
  const auto* const ids =
      reinterpret_cast<const int64_t*>(batch.outputs[2].data);
  const LiquidArray& format = batch.outputs[3];
  EXPECT_EQ(format.dtype, kLiquidString);
  ASSERT_EQ(format.shape.size, 1u);
  EXPECT_EQ(format.shape.data[0], rows);
  EXPECT_EQ(format.offsets[0], 0u);
  for (int64_t i = 0; i < rows; ++i) {
    const auto pixels = SmallDataset::Pixels(static_cast<uint64_t>(ids[i]));
    EXPECT_TRUE(
        std::equal(pixels.begin(), pixels.end(),
                   image.data + i * static_cast<int64_t>(pixels.size())));
    EXPECT_EQ(labels[i], 10 * ids[i]);
    const std::string name(format.data + format.offsets[i],
                           format.data + format.offsets[i + 1]);
    EXPECT_EQ(name, ids[i] < 13 ? "raw" : "png");
  }
}

TEST_F(DirectLoaderTest, GivesEpochs) {
  ASSERT_EQ(Make(), kLiquidOk) << said();
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    const LiquidPlace place = Place();
    EXPECT_EQ(place.epoch, epoch);
    EXPECT_EQ(place.step, 0u);
    EXPECT_FALSE(place.rest);
    ASSERT_EQ(Begin(), kLiquidOk) << said();
    const std::vector<LiquidBatch*> batches = Drain();
    ASSERT_EQ(batches.size(), 5u);
    for (size_t i = 0; i < batches.size(); ++i) {
      Check(*batches[i]);
      EXPECT_EQ(batches[i]->next.epoch, epoch);
      EXPECT_EQ(batches[i]->next.step, i + 1);
      EXPECT_FALSE(batches[i]->next.rest);
      EXPECT_EQ(batches[i]->borrowed.size, 0u);
      EXPECT_EQ(batches[i]->skipped.size, 0u);
    }
    const std::vector<int64_t> samples = SamplesOf(batches);
    EXPECT_EQ(std::set<int64_t>(samples.begin(), samples.end()).size(),
              data_.rows());
  }
  LiquidBytes json = {};
  ASSERT_EQ(liquid_direct_loader_stats(loader_, true, &json, problem()),
            kLiquidOk);
  const std::string stats(json.data, json.data + json.size);
  liquid_direct_stats_free(json);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"next_epoch\":2", stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"batches\":[{", stats);
}

TEST_F(DirectLoaderTest, ReadsFromAServer) {
  const HttpServer server([](const ServerRequest& request) {
    std::ostringstream file;
    file << std::ifstream(request.target, std::ios::binary).rdbuf();
    return AnswerOf(file.str(), request);
  });
  LoaderConfig config = data_.Config({4, 3});
  for (FormatMessage& message : config.draws.formats) {
    message.patience = 20;
    message.index = server.Url(message.index);
    for (std::string& path : message.paths) {
      if (!path.empty()) path = server.Url(path);
    }
  }
  ASSERT_EQ(Make(Plan(config).Given()), kLiquidOk) << said();
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  const std::vector<LiquidBatch*> batches = Drain();
  for (const LiquidBatch* batch : batches) Check(*batch);
  const std::vector<int64_t> far = SamplesOf(batches);
  EXPECT_GT(server.requests(), 4);
  ASSERT_EQ(Make(), kLiquidOk) << said();
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  EXPECT_EQ(SamplesOf(Drain()), far);
}

TEST_F(DirectLoaderTest, BatchesStayUntilTheyAreReleased) {
  ASSERT_EQ(Make(), kLiquidOk) << said();
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  const std::vector<LiquidBatch*> batches = Drain();
  liquid_direct_loader_free(loader_);
  loader_ = nullptr;
  for (LiquidBatch* batch : batches) {
    Check(*batch);
    batch->outputs[0].data[0] = 255;  // it is Python's
    std::thread([batch] { liquid_direct_batch_release(batch); }).join();
  }
  liquid_direct_batch_release(nullptr);
}

TEST_F(DirectLoaderTest, GoesOnFromAPlace) {
  LoaderConfig config = data_.Config({4, 3});
  config.decode.skip_errors = true;
  data_.Damage(3);
  data_.Damage(15);
  ASSERT_EQ(Make(Plan(config).Given()), kLiquidOk) << said();
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  const std::vector<LiquidBatch*> whole = Drain();
  const LiquidBatch& middle = *whole[1];
  ASSERT_EQ(Make(Plan(config).Given()), kLiquidOk) << said();
  ASSERT_EQ(Seek(middle.next.epoch, middle.next.step), kLiquidOk) << said();
  EXPECT_EQ(Place().step, 2u);
  LiquidEpoch begin = {};
  begin.borrowed = middle.borrowed;
  begin.skipped = middle.skipped;
  ASSERT_EQ(Begin(begin), kLiquidOk) << said();
  const std::vector<int64_t> given = SamplesOf(Drain());
  SamplesOf({whole[0], whole[1]});
  EXPECT_EQ(given, SamplesOf({whole.begin() + 2, whole.end()}));
}

TEST_F(DirectLoaderTest, RunsARest) {
  ASSERT_EQ(Make(), kLiquidOk) << said();
  LoaderConfig config = data_.Config({0, 0});
  config.draws.message.plan.formats[0].files = {7, 1};
  config.draws.message.plan.formats[1].files.clear();
  config.draws.chosen = {{0xff}, {0x00}};
  {
    Plan rest(config);
    const LiquidDraws draws = rest.Draws();
    ASSERT_EQ(liquid_direct_loader_seek(loader_, 4, 0, kNone, kNone, &draws,
                                        problem()),
              kLiquidOk)
        << said();
  }
  EXPECT_EQ(Place().epoch, 4);
  EXPECT_TRUE(Place().rest);
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  const std::vector<LiquidBatch*> batches = Drain();
  EXPECT_TRUE(batches[0]->next.rest);
  std::vector<int64_t> samples = SamplesOf(batches);
  std::sort(samples.begin(), samples.end());
  EXPECT_EQ(samples, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Place().epoch, 5);
  EXPECT_FALSE(Place().rest);
}

TEST_F(DirectLoaderTest, CancelsFromAnyThread) {
  LoaderConfig config = data_.Config({4, 3});
  ASSERT_EQ(Make(Plan(config).Given()), kLiquidOk) << said();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(Begin(), kLiquidOk) << said();
    std::thread other([this] { liquid_direct_loader_cancel(loader_); });
    int32_t end = kLiquidOk;
    for (LiquidBatch* batch = nullptr; end == kLiquidOk;) {
      end = Next(&batch);
      liquid_direct_batch_release(batch);
      if (batch == nullptr) break;
    }
    EXPECT_TRUE(end == kLiquidCancelled || end == kLiquidOk) << end;
    other.join();
    LiquidBatch* batch = nullptr;
    EXPECT_EQ(Next(&batch), kLiquidCancelled);
    EXPECT_EQ(batch, nullptr);
    EXPECT_EQ(liquid_direct_loader_leave(loader_, problem()), kLiquidOk);
    EXPECT_EQ(Next(&batch), kLiquidFailedPrecondition);
  }
}

TEST_F(DirectLoaderTest, AForkedChildIsToldSo) {
  ASSERT_EQ(Make(), kLiquidOk) << said();
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  LiquidBatch* batch = nullptr;
  ASSERT_EQ(Next(&batch), kLiquidOk) << said();
  const pid_t child = fork();
  if (child == 0) {
    LiquidBatch* next = nullptr;
    LiquidPlace place = {};
    LiquidBytes json = {};
    const int32_t ends[] = {
        Seek(0, 0),
        Begin(),
        Next(&next),
        liquid_direct_loader_next_epoch(loader_, &place, problem()),
        liquid_direct_loader_leave(loader_, problem()),
        liquid_direct_loader_stats(loader_, false, &json, problem())};
    bool right = said().find("forked") != std::string::npos;
    for (const int32_t end : ends) {
      right = right && end == kLiquidFailedPrecondition;
    }
    liquid_direct_loader_cancel(loader_);
    liquid_direct_batch_release(batch);
    liquid_direct_loader_free(loader_);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Check(*batch);
  liquid_direct_batch_release(batch);
  EXPECT_EQ(SamplesOf(Drain()).size(), data_.rows() - 5);
}

struct WrongPlan {
  const char* name;
  std::function<void(Plan*)> change;
  int32_t end;
  const char* says;
};

TEST_F(DirectLoaderTest, ABadPlanIsOneSentence) {
  const LoaderConfig config = data_.Config({4, 3});
  const auto with_path = [&config](std::string path) {
    FormatMessage message = config.draws.formats[0];
    message.paths[0] = std::move(path);
    return MessageBytes(message);
  };
  const WrongPlan wrongs[] = {
      {"cut draws", [](Plan* p) { p->draws.pop_back(); },
       kLiquidInvalidArgument, "the InterleaveMessage: "},
      {"cut decode", [](Plan* p) { p->decode.resize(3); },
       kLiquidInvalidArgument, "the DecodeMessage: "},
      {"cut format", [](Plan* p) { p->formats[1].resize(9); },
       kLiquidInvalidArgument, "the FormatMessage of format 1: "},
      {"no format",
       [](Plan* p) {
         p->formats.pop_back();
         p->chosen.pop_back();
       },
       kLiquidInvalidArgument, "2 entries"},
      {"dtype", [](Plan* p) { p->dtypes[2] = 10; }, kLiquidInvalidArgument,
       "the dtype of output 2 (10) must be a LiquidDType"},
      {"negative dtype", [](Plan* p) { p->dtypes[0] = -1; },
       kLiquidInvalidArgument, "the dtype of output 0 (-1)"},
      {"shape", [](Plan* p) { p->shapes[0].pop_back(); },
       kLiquidInvalidArgument, "output_shapes of image"},
      {"gs", [&](Plan* p) { p->formats[0] = with_path("gs://bucket/shard"); },
       kLiquidUnimplemented,
       "gs://bucket/shard: a loader reads local files, http://, https:// and "
       "s3://; liquid_tf.dataset reads others too"},
      {"hdfs", [&](Plan* p) { p->formats[0] = with_path("hdfs://host/shard"); },
       kLiquidUnimplemented, "hdfs://host/shard: "},
      {"index",
       [&](Plan* p) {
         FormatMessage message = config.draws.formats[0];
         message.index = "/no/index.npy";
         p->formats[0] = MessageBytes(message);
       },
       kLiquidNotFound, "/no/index.npy: "},
  };
  for (const WrongPlan& wrong : wrongs) {
    Plan plan(config);
    wrong.change(&plan);
    EXPECT_EQ(Make(plan.Given()), wrong.end) << wrong.name << ": " << said();
    EXPECT_EQ(loader_, nullptr);
    EXPECT_PRED_FORMAT2(IsSubstring, wrong.says, said());
  }
}

TEST_F(DirectLoaderTest, SizesThatNoMemoryHasAreRefused) {
  Plan plan(data_.Config({4, 3}));
  const auto why = [&](const std::function<void(LiquidLoaderPlan*)>& change) {
    LiquidLoaderPlan given = plan.Given();
    change(&given);
    EXPECT_EQ(Make(given), kLiquidInvalidArgument);
    return said();
  };
  EXPECT_PRED_FORMAT2(
      IsSubstring, "groups (18446744073709551615 values) must be an array",
      why([](LiquidLoaderPlan* p) { p->draws.groups_size = UINT64_MAX; }));
  EXPECT_PRED_FORMAT2(IsSubstring, "record_blocks (1 values)",
                      why([](LiquidLoaderPlan* p) {
                        p->draws.record_blocks = nullptr;
                        p->draws.record_blocks_size = 1;
                      }));
  EXPECT_PRED_FORMAT2(
      IsSubstring, "formats (2 values)",
      why([](LiquidLoaderPlan* p) { p->draws.formats = nullptr; }));
  EXPECT_PRED_FORMAT2(IsSubstring, "outputs (1099511627777 values)",
                      why([](LiquidLoaderPlan* p) {
                        p->outputs_size = (uint64_t{1} << 40) + 1;
                      }));
  EXPECT_PRED_FORMAT2(IsSubstring, "the DecodeMessage must be given",
                      why([](LiquidLoaderPlan* p) {
                        p->decode = {nullptr, 0};
                      }));
  EXPECT_PRED_FORMAT2(IsSubstring, "a side of mean_image (-1)",
                      why([](LiquidLoaderPlan* p) { p->mean_shape[1] = -1; }));
  EXPECT_PRED_FORMAT2(IsSubstring, "mean_image (", why([](LiquidLoaderPlan* p) {
                        p->mean_shape[0] = p->mean_shape[1] = 1 << 20;
                        p->mean_shape[2] = 1 << 20;
                      }));
}

TEST_F(DirectLoaderTest, WhatAnEpochIsToldIsChecked) {
  ASSERT_EQ(Make(), kLiquidOk) << said();
  EXPECT_EQ(Seek(-1, 0), kLiquidInvalidArgument);
  EXPECT_PRED_FORMAT2(IsSubstring, "epoch (-1) must be at least 0", said());
  const std::vector<int64_t> one = {1};
  EXPECT_EQ(liquid_direct_loader_seek(loader_, 0, 0, NumbersOf(one), kNone,
                                      nullptr, problem()),
            kLiquidInvalidArgument);
  EXPECT_EQ(liquid_direct_loader_seek(loader_, 0, 0, kNone, NumbersOf(one),
                                      nullptr, problem()),
            kLiquidInvalidArgument);
  LiquidEpoch epoch = {};
  epoch.mixes.epochs = UINT64_MAX;
  EXPECT_EQ(Begin(epoch), kLiquidInvalidArgument);
  EXPECT_PRED_FORMAT2(IsSubstring, "epochs of mixes", said());
  epoch.mixes.epochs = 1;
  EXPECT_EQ(Begin(epoch), kLiquidInvalidArgument);
  EXPECT_PRED_FORMAT2(IsSubstring, "samples of mixes (2 values)", said());
  epoch = {};
  epoch.skipped = {nullptr, 4};
  EXPECT_EQ(Begin(epoch), kLiquidInvalidArgument);
  EXPECT_PRED_FORMAT2(IsSubstring, "skipped (4 values)", said());
  ASSERT_EQ(Begin(), kLiquidOk) << said();
  EXPECT_EQ(SamplesOf(Drain()).size(), data_.rows());
}

// Each byte of a message in turn, changed: a loader is made that ends its
// epoch, or there is a sentence.
TEST_F(DirectLoaderTest, NoByteIsTrusted) {
  LoaderConfig config = data_.Config({4, 3});
  config.decode.recipe = {"Mirror p=0.5", "Normalize mean=127.5 std=127.5"};
  config.outputs[0].dtype = DType::kFloat32;
  const Plan plan(config);
  using Message = std::string& (*)(Plan&);
  const Message messages[] = {
      [](Plan& p) -> std::string& { return p.draws; },
      [](Plan& p) -> std::string& { return p.decode; },
      [](Plan& p) -> std::string& { return p.formats[1]; }};
  int made = 0, refused = 0;
  for (const Message message : messages) {
    Plan whole = plan;
    for (size_t at = 0; at < message(whole).size(); ++at) {
      for (const int change : {1, 0x80}) {
        Plan wrong = plan;
        message(wrong)[at] = static_cast<char>(message(wrong)[at] ^ change);
        if (Make(wrong.Given()) != kLiquidOk) {
          ++refused;
          EXPECT_NE(said(), "");
          continue;
        }
        ++made;
        LiquidBatch* batch = nullptr;
        if (Begin() == kLiquidOk && Next(&batch) == kLiquidOk) {
          liquid_direct_batch_release(batch);
        }
      }
    }
  }
  EXPECT_GT(made, 20);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace liquid::direct_loader_test
