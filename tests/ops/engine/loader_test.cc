// A loader gives what the planner says, from whatever place, and as often as it
// is asked.
#include "ops/engine/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/reader/path_opener.h"
#include "ops/sampler/planner.h"
#include "tests/ops/engine/small_dataset.h"

namespace liquid::loader_test {
namespace {

using ::testing::IsSubstring;

PoolBatchAllocator* Memory() {
  static auto* const memory = new PoolBatchAllocator();
  return memory;
}

std::unique_ptr<Loader> Make(LoaderConfig config) {
  std::unique_ptr<Loader> loader;
  const Status made = Loader::Create(std::move(config), Memory(), &loader);
  EXPECT_TRUE(made.ok()) << made.message();
  return loader;
}

// What a batch says, its pixels checked.
struct Given {
  int64_t epoch;
  uint64_t step;
  std::vector<int64_t> samples;
  std::vector<std::string> formats;
  std::vector<int64_t> borrowed, skipped;

  bool operator==(const Given& other) const {
    return epoch == other.epoch && step == other.step &&
           samples == other.samples && formats == other.formats;
  }
};

std::ostream& operator<<(std::ostream& out, const Given& given) {
  out << "epoch " << given.epoch << " step " << given.step << ":";
  for (size_t i = 0; i < given.samples.size(); ++i) {
    out << ' ' << given.samples[i] << given.formats[i][0];
  }
  return out;
}

// Checks a batch of SmallDataset::Config, and says which one it is.
Given Check(const Loader::Batch& batch) {
  EXPECT_EQ(batch.outputs.size(), 4u);
  const Output& image = batch.outputs[0];
  const auto rows = static_cast<size_t>(image.shape[0]);
  const int64_t* const labels = batch.outputs[1].numbers.as<int64_t>();
  const int64_t* const ids = batch.outputs[2].numbers.as<int64_t>();
  Given given = {batch.epoch, batch.step,     {ids, ids + rows},
                 {},          batch.borrowed, batch.skipped};
  for (size_t i = 0; i < rows; ++i) {
    const auto sample = static_cast<uint64_t>(ids[i]);
    const std::vector<uint8_t> pixels = SmallDataset::Pixels(sample);
    const uint8_t* const found = image.numbers.data() + i * pixels.size();
    EXPECT_EQ(std::vector<uint8_t>(found, found + pixels.size()), pixels)
        << sample;
    EXPECT_EQ(labels[i], 10 * ids[i]);
    const ByteSpan format = batch.outputs[3].texts[i].bytes;
    given.formats.emplace_back(reinterpret_cast<const char*>(format.data),
                               format.size);
  }
  return given;
}

// The rest of the epoch that runs.
std::vector<Given> Drain(Loader* loader) {
  std::vector<Given> epoch;
  for (;;) {
    Loader::Batch batch;
    const Status next = loader->Next(&batch);
    EXPECT_TRUE(next.ok()) << next.message();
    if (!next.ok() || batch.end) return epoch;
    epoch.push_back(Check(batch));
  }
}

std::vector<Given> RunEpoch(Loader* loader,
                            const Loader::EpochStart& start = {}) {
  const Status begun = loader->Begin(start);
  EXPECT_TRUE(begun.ok()) << begun.message();
  return begun.ok() ? Drain(loader) : std::vector<Given>();
}

// What the planner draws in an epoch of a plan.
std::vector<Given> Planned(const SmallDataset& data, const DrawConfig& draws,
                           int64_t epoch) {
  DrawPlan plan;
  plan.message = draws.message;
  plan.groups = {draws.groups.data(), draws.groups.size()};
  std::shared_ptr<const PlanSpec> spec;
  EXPECT_TRUE(plan.MakeSpec(draws.formats.size(), &spec).ok());
  HeldSets held;
  EXPECT_TRUE(HeldAt(spec, 0, NothingHeld(*spec), epoch, &held).ok());
  std::unique_ptr<EpochPlan> order;
  EXPECT_TRUE(EpochPlan::Create(spec, epoch, held, &order).ok());
  std::vector<Given> batches;
  while (order->position() < order->size()) {
    if (order->position() % spec->batch_size == 0) {
      batches.push_back({epoch, batches.size() + 1, {}, {}, {}, {}});
    }
    const Draw draw = order->Next();
    batches.back().samples.push_back(
        static_cast<int64_t>(data.SampleOf(draw.format, draw.sample)));
    batches.back().formats.push_back(draws.message.sources[draw.format].name);
  }
  return batches;
}

std::vector<int64_t> SamplesOf(const std::vector<Given>& batches) {
  std::vector<int64_t> samples;
  for (const Given& batch : batches) {
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  }
  return samples;
}

std::string StatsOf(const Loader& loader) {
  return loader.snapshot().StatsJson(false);
}

TEST(LoaderTest, EpochsAreWhatThePlannerSays) {
  const SmallDataset data;
  for (const std::vector<int64_t>& cached :
       {std::vector<int64_t>{0, 0}, {4, 3}, {13, 9}}) {
    const auto loader = Make(data.Config(cached));
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const std::vector<Given> given = RunEpoch(loader.get());
      EXPECT_EQ(given.size(), 5u);
      EXPECT_EQ(given, Planned(data, data.Draws(cached), epoch));
      const std::vector<int64_t> samples = SamplesOf(given);
      EXPECT_EQ(std::set<int64_t>(samples.begin(), samples.end()).size(),
                data.rows());
    }
    EXPECT_EQ(SamplesOf(Planned(data, data.Draws(cached), 0)).size(),
              data.rows());
  }
}

TEST(LoaderTest, EpochsAreThoseOfEveryKindOfPlan) {
  const SmallDataset data;
  const std::function<void(LoaderConfig*)> kinds[] = {
      [](LoaderConfig* c) { c->draws.message.plan.shuffle = false; },
      [](LoaderConfig* c) { c->draws.message.plan.policy = "minio"; },
      [](LoaderConfig* c) { c->draws.message.keep_pixels = true; },
      [](LoaderConfig* c) { c->draws.message.plan.formats[0].fill = 13; },
      // There is no memory for what the plan holds.
      [](LoaderConfig* c) {
        for (SourceMessage& source : c->draws.message.sources) {
          source.resident = 2;
          source.kept = 1;
        }
      },
      [](LoaderConfig* c) { c->draws.message.cache_bytes = 100; },
      [](LoaderConfig* c) {
        InterleaveMessage& message = c->draws.message;
        message.shares = {1, 3};
        message.samples_per_epoch = 30;
        message.sources[0].grouped_samples = 13;
        message.sources[1].grouped_samples = 9;
        for (uint16_t i = 0; i < 22; ++i) c->draws.groups.push_back(i % 2);
      },
      [](LoaderConfig* c) { c->decode.parallelism = c->decode.lookahead = 1; },
      [](LoaderConfig* c) { c->decode.parallelism = c->decode.lookahead = 9; },
  };
  for (size_t kind = 0; kind < std::size(kinds); ++kind) {
    LoaderConfig config = data.Config({4, 3});
    kinds[kind](&config);
    const DrawConfig draws = config.draws;
    const auto loader = Make(std::move(config));
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(RunEpoch(loader.get()), Planned(data, draws, epoch)) << kind;
    }
  }
}

TEST(LoaderTest, DropsTheRemainder) {
  const SmallDataset data;
  LoaderConfig config = data.Config({4, 3});
  config.draws.message.drop_remainder = true;
  const auto loader = Make(std::move(config));
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<Given> planned = Planned(data, data.Draws({4, 3}), epoch);
    planned.pop_back();
    EXPECT_EQ(RunEpoch(loader.get()), planned);
  }
}

TEST(LoaderTest, KeptPixelsAreNotDecodedAgain) {
  const SmallDataset data;
  LoaderConfig config = data.Config({13, 9});
  config.draws.message.keep_pixels = true;
  const auto loader = Make(std::move(config));
  RunEpoch(loader.get());
  EXPECT_PRED_FORMAT2(IsSubstring, "\"decodes\":{\"raw\":13,\"png\":9}",
                      StatsOf(*loader));
  RunEpoch(loader.get());
  EXPECT_PRED_FORMAT2(IsSubstring, "\"decodes\":{\"raw\":0,\"png\":0}",
                      StatsOf(*loader));
}

TEST(LoaderTest, CountsWhatItGives) {
  const SmallDataset data;
  const auto loader = Make(data.Config({4, 3}));
  RunEpoch(loader.get(), {{2, 2, 3}, {}, {}, {}});
  RunEpoch(loader.get());
  const std::string stats = StatsOf(*loader);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"next_epoch\":2", stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"samples\":{\"raw\":13,\"png\":9}", stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"memory_hits\":{\"raw\":0,\"png\":0}",
                      stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"memory_hits\":{\"raw\":4,\"png\":3}",
                      stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"parallelism\":2,\"lookahead\":2", stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"fidelity\":[[0,2],[2,3]]", stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"cached\":{\"records\":7,", stats);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"reading\":{\"raw\":\"", stats);
  const std::string epochs = stats.substr(0, stats.find("\"earlier\""));
  EXPECT_PRED_FORMAT2(testing::IsNotSubstring, "\"fill\":{\"bytes\":0,",
                      epochs);
}

TEST(LoaderTest, GoesOnFromAnyStep) {
  const SmallDataset data;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    const std::vector<Given> whole = Planned(data, data.Draws({4, 3}), epoch);
    for (size_t step = 0; step < whole.size(); ++step) {
      const auto loader = Make(data.Config({4, 3}));
      ASSERT_TRUE(loader->Seek(epoch, step, {}, {}, nullptr).ok());
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>(step);
      EXPECT_EQ(RunEpoch(loader.get()), std::vector<Given>(from, whole.end()));
      EXPECT_EQ(loader->snapshot().Next().epoch, epoch + 1);
    }
  }
}

TEST(LoaderTest, TakesWhatAnotherMachineHasCached) {
  const SmallDataset data;
  const auto loader = Make(data.Config({0, 0}));
  ASSERT_TRUE(loader->Seek(2, 1, {4, 3}, {}, nullptr).ok());
  std::vector<Given> planned = Planned(data, data.Draws({4, 3}), 2);
  planned.erase(planned.begin());
  EXPECT_EQ(RunEpoch(loader.get()), planned);
  const Status wrong = loader->Seek(2, 1, {4, 3, 2}, {}, nullptr);
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_PRED_FORMAT2(IsSubstring, "3 formats; this one has 2",
                      wrong.message());
  EXPECT_FALSE(loader->Seek(2, 1, {14, 3}, {}, nullptr).ok());
}

TEST(LoaderTest, AnEpochThatIsLeftIsRunAgain) {
  const SmallDataset data;
  const auto loader = Make(data.Config({4, 3}));
  const std::vector<Given> first = Planned(data, data.Draws({4, 3}), 0);
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(loader->Begin({}).ok());
    for (int i = 0; i < times; ++i) {
      Loader::Batch batch;
      ASSERT_TRUE(loader->Next(&batch).ok());
      EXPECT_EQ(Check(batch), first[static_cast<size_t>(i)]);
    }
    if (times == 1) loader->Leave();
  }
  EXPECT_EQ(RunEpoch(loader.get()), first);
  EXPECT_EQ(RunEpoch(loader.get()), Planned(data, data.Draws({4, 3}), 1));
}

TEST(LoaderTest, NothingRunsBeforeAnEpochIsBegun) {
  const SmallDataset data;
  const auto loader = Make(data.Config({0, 0}));
  Loader::Batch batch;
  EXPECT_EQ(loader->Next(&batch).code(), StatusCode::kFailedPrecondition);
  loader->Cancel();
  ASSERT_TRUE(loader->Begin({}).ok());
  EXPECT_TRUE(loader->Next(&batch).ok());
  loader->Leave();
  EXPECT_EQ(loader->Next(&batch).code(), StatusCode::kFailedPrecondition);
}

TEST(LoaderTest, BatchesOutliveIt) {
  const SmallDataset data;
  std::vector<Loader::Batch> batches(3);
  {
    const auto loader = Make(data.Config({4, 3}));
    ASSERT_TRUE(loader->Begin({}).ok());
    for (Loader::Batch& batch : batches) {
      ASSERT_TRUE(loader->Next(&batch).ok());
    }
  }
  const std::vector<Given> first = Planned(data, data.Draws({4, 3}), 0);
  for (size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(Check(batches[i]), first[i]);
  }
}

// Makes who opens a shard wait until it is opened, or goes.
class Barrier {
 public:
  ~Barrier() { Open(); }

  void PutBefore(LoaderConfig* config) const {
    config->opener = [state = state_](const FormatMessage&, ReadMode) {
      Opener opener = MakeOpener({}, {});
      opener.shard = [state, open = std::move(opener.shard)](
                         const std::string& path,
                         std::unique_ptr<RandomFile>* file) {
        {
          std::unique_lock<std::mutex> lock(state->mu);
          state->waiting = true;
          state->changed.notify_all();
          state->changed.wait(lock, [&state] { return state->open; });
        }
        return open(path, file);
      };
      return opener;
    };
  }
  void WaitForAReader() {
    std::unique_lock<std::mutex> lock(state_->mu);
    state_->changed.wait(lock, [this] { return state_->waiting; });
  }
  void Open() {
    std::unique_lock<std::mutex> lock(state_->mu);
    state_->open = true;
    state_->changed.notify_all();
  }

 private:
  // A reader may have it after this has gone.
  struct State {
    std::mutex mu;
    std::condition_variable changed;
    bool open = false;
    bool waiting = false;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(LoaderTest, CancelEndsANextThatWaits) {
  const SmallDataset data;
  LoaderConfig config = data.Config({0, 0});
  Barrier barrier;
  barrier.PutBefore(&config);
  const auto loader = Make(std::move(config));
  ASSERT_TRUE(loader->Begin({}).ok());
  Status next;
  std::thread consumer([&] {
    Loader::Batch batch;
    next = loader->Next(&batch);
  });
  barrier.WaitForAReader();
  loader->Cancel();
  consumer.join();
  EXPECT_EQ(next.code(), StatusCode::kCancelled);
  Loader::Batch batch;
  EXPECT_EQ(loader->Next(&batch).code(), StatusCode::kCancelled);
  barrier.Open();
  // What was cancelled is run again.
  EXPECT_EQ(RunEpoch(loader.get()), Planned(data, data.Draws({0, 0}), 0));
}

TEST(LoaderTest, EndsWhileItsReadsWait) {
  const SmallDataset data;
  Barrier barrier;
  LoaderConfig config = data.Config({0, 0});
  barrier.PutBefore(&config);
  const auto loader = Make(std::move(config));
  ASSERT_TRUE(loader->Begin({}).ok());
  barrier.WaitForAReader();
  loader->Leave();
}

TEST(LoaderTest, ADamagedRecordIsAnError) {
  const SmallDataset data;
  data.Damage(3);
  const auto loader = Make(data.Config({0, 0}));
  ASSERT_TRUE(loader->Begin({}).ok());
  const std::vector<Given> planned = Planned(data, data.Draws({0, 0}), 0);
  for (const Given& batch : planned) {
    const bool bad = std::count(batch.samples.begin(), batch.samples.end(), 3);
    Loader::Batch next;
    const Status status = loader->Next(&next);
    EXPECT_EQ(status.code(), bad ? StatusCode::kDataLoss : StatusCode::kOk);
    if (!bad) continue;
    EXPECT_PRED_FORMAT2(IsSubstring, data.paths()[0], status.message());
    EXPECT_PRED_FORMAT2(IsSubstring, "record 3 (sample 3", status.message());
    return;
  }
  FAIL() << "no batch has the record";
}

LoaderConfig Skipping(const SmallDataset& data) {
  LoaderConfig config = data.Config({4, 3});
  config.decode.skip_errors = true;
  return config;
}

TEST(LoaderTest, ADamagedRecordIsLeftOut) {
  const SmallDataset data;
  data.Damage(3);
  data.Damage(15);
  const auto loader = Make(Skipping(data));
  for (int epoch = 0; epoch < 2; ++epoch) {
    const std::vector<Given> given = RunEpoch(loader.get());
    const std::vector<int64_t> samples = SamplesOf(given);
    std::set<int64_t> all(samples.begin(), samples.end());
    EXPECT_EQ(all.size(), samples.size());
    all.insert({3, 15});
    EXPECT_EQ(all.size(), data.rows());
    EXPECT_EQ(samples.size(), data.rows() - 2);
    std::vector<int64_t> skipped = given.back().skipped;
    std::sort(skipped.begin(), skipped.end());
    EXPECT_EQ(skipped, (std::vector<int64_t>{3, 15}));
    for (size_t i = 0; i + 2 < given.size(); ++i) {
      EXPECT_EQ(given[i].samples.size(), 5u) << given[i];
    }
  }
  EXPECT_PRED_FORMAT2(IsSubstring, "\"skipped\":{\"count\":4,",
                      StatsOf(*loader));
}

// The samples are the same from any batch on, each once.
TEST(LoaderTest, GoesOnBehindWhatWasLeftOut) {
  const SmallDataset data;
  data.Damage(3);
  data.Damage(15);
  const std::vector<Given> whole = RunEpoch(Make(Skipping(data)).get());
  bool borrowed = false;
  for (size_t i = 0; i < whole.size(); ++i) {
    borrowed = borrowed || !whole[i].borrowed.empty();
    const auto loader = Make(Skipping(data));
    ASSERT_TRUE(
        loader->Seek(whole[i].epoch, whole[i].step, {}, {}, nullptr).ok());
    const std::vector<Given> rest =
        RunEpoch(loader.get(), {{}, {}, whole[i].borrowed, whole[i].skipped});
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    EXPECT_EQ(rest, std::vector<Given>(from, whole.end()));
    if (rest.empty()) continue;
    EXPECT_EQ(rest.back().skipped, whole.back().skipped);
  }
  EXPECT_TRUE(borrowed);
}

TEST(LoaderTest, AnEpochOfNothingGoodIsAnError) {
  const SmallDataset data({{Format::kRaw, {3}}});
  for (const uint64_t sample : {0, 1, 2}) data.Damage(sample);
  LoaderConfig config = data.Config({0});
  config.decode.skip_errors = true;
  const auto loader = Make(std::move(config));
  ASSERT_TRUE(loader->Begin({}).ok());
  Loader::Batch batch;
  const Status next = loader->Next(&batch);
  EXPECT_EQ(next.code(), StatusCode::kDataLoss);
  EXPECT_PRED_FORMAT2(IsSubstring, "none of the 3 samples", next.message());
}

// What is left of an epoch: samples 0 to 7, in a plan of their own.
DrawConfig RestOf(const SmallDataset& data) {
  DrawConfig rest = data.Draws({0, 0});
  rest.message.plan.formats[0].files = {7, 1};
  rest.message.plan.formats[1].files.clear();
  rest.chosen = {{0xff}, {0x00}};
  rest.message.plan.seed = 12;
  return rest;
}

TEST(LoaderTest, RunsTheRestOfAnEpoch) {
  const SmallDataset data;
  LoaderConfig config = data.Config({4, 3});
  config.draws.message.initial_epoch = 1;
  config.draws.message.initial_step = -1;
  const auto loader = Make(std::move(config));
  const Status unknown = loader->Begin({});
  EXPECT_EQ(unknown.code(), StatusCode::kFailedPrecondition);
  EXPECT_PRED_FORMAT2(IsSubstring, "epoch 1 was begun by other numbers",
                      unknown.message());
  for (const uint64_t step : {0, 1}) {
    DrawConfig rest = RestOf(data);
    ASSERT_TRUE(loader->Seek(1, step, {}, {}, &rest).ok());
    rest = DrawConfig();  // it is the loader's
    EXPECT_TRUE(loader->snapshot().Next().rest != nullptr);
    std::vector<Given> planned = Planned(data, RestOf(data), 1);
    planned.erase(planned.begin(),
                  planned.begin() + static_cast<std::ptrdiff_t>(step));
    EXPECT_EQ(RunEpoch(loader.get()), planned);
    EXPECT_EQ(loader->snapshot().Next().epoch, 2);
  }
  EXPECT_EQ(RunEpoch(loader.get()), Planned(data, data.Draws({4, 3}), 2));
}

TEST(LoaderTest, ARestMustFit) {
  const SmallDataset data;
  const auto loader = Make(data.Config({0, 0}));
  DrawConfig rest = RestOf(data);
  rest.message.plan.batch_size = 4;
  EXPECT_PRED_FORMAT2(IsSubstring, "batch_size (5)",
                      loader->Seek(1, 0, {}, {}, &rest).message());
  rest = RestOf(data);
  for (auto* list : {&rest.message.plan.formats}) list->pop_back();
  rest.message.sources.pop_back();
  rest.formats.pop_back();
  rest.chosen.pop_back();
  ASSERT_TRUE(loader->Seek(1, 0, {}, {}, &rest).ok());
  EXPECT_PRED_FORMAT2(IsSubstring, "the rest of epoch 1 has 1 formats",
                      loader->Begin({}).message());
  rest = RestOf(data);
  ASSERT_TRUE(loader->Seek(1, 3, {}, {}, &rest).ok());
  EXPECT_PRED_FORMAT2(IsSubstring, "behind the 8 samples of epoch 1",
                      loader->Begin({}).message());
  ASSERT_TRUE(loader->Seek(1, 0, {}, {}, &rest).ok());
  Loader::EpochStart start;
  start.mixes = {{8, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
  EXPECT_PRED_FORMAT2(IsSubstring, "mixes must be empty for the rest",
                      loader->Begin(start).message());
}

// Every sample in both formats, which share them anew in each epoch.
class MixedLoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    LoaderConfig config = data_.Config({0, 0});
    config.draws.message.plan.sections = {10, 6};
    loader_ = Make(std::move(config));
  }

  // Mixes of epochs, as samples of the first format.
  static Loader::EpochStart MixesOf(const std::vector<int64_t>& first) {
    Loader::EpochStart start;
    MixNumbers& mixes = start.mixes;
    for (const int64_t samples : first) {
      for (const int64_t own : {samples, 16 - samples}) {
        mixes.samples.push_back(own);
        mixes.cached.push_back(own / 2);
        mixes.fill.push_back(4);
        mixes.resident.push_back(100);
        mixes.kept.push_back(100);
      }
    }
    return start;
  }

  void ExpectWhole(const std::vector<Given>& given, int64_t of_raw) {
    const std::vector<int64_t> samples = SamplesOf(given);
    EXPECT_EQ(samples.size(), 16u);
    EXPECT_EQ(std::set<int64_t>(samples.begin(), samples.end()).size(), 16u);
    int64_t raw = 0;
    for (const Given& batch : given) {
      raw += std::count(batch.formats.begin(), batch.formats.end(), "raw");
    }
    EXPECT_EQ(raw, of_raw);
  }

  const SmallDataset data_{{{Format::kRaw, {9, 7}}, {Format::kPng, {16}}},
                           true};
  std::unique_ptr<Loader> loader_;
};

TEST_F(MixedLoaderTest, EachEpochHasItsMix) {
  ExpectWhole(RunEpoch(loader_.get(), MixesOf({10})), 10);
  ExpectWhole(RunEpoch(loader_.get(), MixesOf({4})), 4);
  const std::vector<Given> third =
      RunEpoch(loader_.get(), MixesOf({10, 4, 16}));
  ExpectWhole(third, 16);
  // All of them at once, and from the middle.
  LoaderConfig config = data_.Config({0, 0});
  config.draws.message.plan.sections = {10, 6};
  const auto other = Make(std::move(config));
  const std::vector<int64_t> mixes = loader_->snapshot().Mixes();
  EXPECT_EQ(mixes.size(), 18u);
  ASSERT_TRUE(other->Seek(2, 1, {}, mixes, nullptr).ok());
  EXPECT_EQ(RunEpoch(other.get(), MixesOf({16})),
            std::vector<Given>(third.begin() + 1, third.end()));
}

TEST_F(MixedLoaderTest, SaysWhatIsWrong) {
  EXPECT_PRED_FORMAT2(IsSubstring, "the mix of epoch 0 must be decided",
                      loader_->Begin({}).message());
  EXPECT_PRED_FORMAT2(IsSubstring, "[epochs, 2], of epochs up to 0",
                      loader_->Begin(MixesOf({10, 10})).message());
  Loader::EpochStart start = MixesOf({10});
  start.mixes.kept.pop_back();
  EXPECT_PRED_FORMAT2(IsSubstring, "[epochs, 2], of epochs up to 0",
                      loader_->Begin(start).message());
  start = MixesOf({10});
  start.mixes.samples = {10, 7};
  EXPECT_EQ(loader_->Begin(start).code(), StatusCode::kInvalidArgument);
  start = MixesOf({10});
  start.mixes.cached = {-1, 0};
  EXPECT_EQ(loader_->Begin(start).code(), StatusCode::kInvalidArgument);
  ExpectWhole(RunEpoch(loader_.get(), MixesOf({10})), 10);
}

TEST(LoaderTest, OnlySharedSamplesHaveMixes) {
  const SmallDataset data;
  const auto loader = Make(data.Config({0, 0}));
  Loader::EpochStart start;
  start.mixes = {{13, 9}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
  EXPECT_PRED_FORMAT2(IsSubstring, "only of formats that share samples",
                      loader->Begin(start).message());
  EXPECT_PRED_FORMAT2(IsSubstring, "at least 1",
                      loader->Begin({{0}, {}, {}, {}}).message());
}

TEST(LoaderTest, WithoutItsTierItGoesOnAndSaysSo) {
  const SmallDataset data;
  LoaderConfig config = data.Config({4, 3});
  config.draws.message.tier = "/no/folder";
  config.draws.message.tier_bytes = 1 << 20;
  config.draws.message.tier_queue_bytes = 1 << 20;
  config.draws.record_blocks.assign(data.rows(), 1);
  std::vector<std::string> said;
  config.warn = [&said](const std::string& why) { said.push_back(why); };
  const auto loader = Make(std::move(config));
  EXPECT_EQ(RunEpoch(loader.get()), Planned(data, data.Draws({4, 3}), 0));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_PRED_FORMAT2(IsSubstring, "/no/folder", said[0]);
}

struct Wrong {
  const char* name;
  std::function<void(LoaderConfig*)> change;
  const char* says;
};

TEST(LoaderTest, AWrongConfigIsOneSentence) {
  const SmallDataset data;
  const Wrong wrongs[] = {
      {"no formats",
       [](LoaderConfig* c) {
         c->draws.formats.clear();
         c->draws.chosen.clear();
       },
       "formats (0 entries) must be at least one"},
      {"chosen", [](LoaderConfig* c) { c->draws.chosen.pop_back(); },
       "chosen (1 entries) one for each"},
      {"autotuned", [](LoaderConfig* c) { c->decode.parallelism = -1; },
       "parallelism (-1) must be at least 1"},
      {"no lookahead", [](LoaderConfig* c) { c->decode.lookahead = -1; },
       "lookahead (-1)"},
      {"batch size", [](LoaderConfig* c) { c->decode.batch_size = 6; },
       "batch_size (6)"},
      {"outputs", [](LoaderConfig* c) { c->outputs.pop_back(); },
       "same number of entries"},
      {"dtype", [](LoaderConfig* c) { c->outputs[1].dtype = DType::kString; },
       "output_types of label (string) does not fit it"},
      {"sources", [](LoaderConfig* c) { c->draws.message.sources.pop_back(); },
       "sources (1 entries)"},
      {"cached",
       [](LoaderConfig* c) { c->draws.message.plan.formats[0].cached = 14; },
       "cached (14)"},
      {"other files",
       [](LoaderConfig* c) {
         c->draws.message.plan.formats[0].files = {6, 7};
       },
       "the plan's files are not those of"},
      {"more files",
       [](LoaderConfig* c) {
         c->draws.message.plan.formats[1].files[0] = int64_t{1} << 31;
       },
       "the plan's files are not those of"},
      {"no index",
       [](LoaderConfig* c) { c->draws.formats[1].index = "/no/index.npy"; },
       "/no/index.npy: cannot open: No such file"},
      {"replaced index",
       [](LoaderConfig* c) { ++c->draws.formats[0].index_crc32c; },
       "its CRC-32C is not what the manifest said"},
      {"reader", [](LoaderConfig* c) { c->draws.formats[0].reader = "magic"; },
       "reader (\"magic\")"},
      {"shares",
       [](LoaderConfig* c) {
         c->draws.message.shares = {1, 1};
         c->draws.message.sources[0].grouped_samples = 3;
       },
       "grouped_samples (3) must be at most 0"},
  };
  for (const Wrong& wrong : wrongs) {
    LoaderConfig config = data.Config({4, 3});
    wrong.change(&config);
    std::unique_ptr<Loader> loader;
    const Status made = Loader::Create(std::move(config), Memory(), &loader);
    EXPECT_FALSE(made.ok()) << wrong.name;
    EXPECT_PRED_FORMAT2(IsSubstring, wrong.says, made.message());
    EXPECT_EQ(loader, nullptr);
  }
}

// Whatever a number is, it takes no more memory than the files that there are.
TEST(LoaderTest, NumbersOfAnySizeAreBounded) {
  const SmallDataset data;
  const std::function<int64_t*(LoaderConfig*)> numbers[] = {
      [](LoaderConfig* c) { return &c->draws.message.cache_bytes; },
      [](LoaderConfig* c) { return &c->draws.message.spare_bytes; },
      [](LoaderConfig* c) { return &c->draws.message.mask_bytes; },
      [](LoaderConfig* c) { return &c->draws.message.samples_per_epoch; },
      [](LoaderConfig* c) { return &c->draws.message.worker; },
      [](LoaderConfig* c) { return &c->draws.message.workers; },
      [](LoaderConfig* c) { return &c->draws.message.view; },
      [](LoaderConfig* c) { return &c->draws.message.plan.seed; },
      [](LoaderConfig* c) {
        return &c->draws.message.plan.formats[0].files[1];
      },
      [](LoaderConfig* c) { return &c->draws.message.plan.formats[0].cached; },
      [](LoaderConfig* c) { return &c->draws.message.plan.formats[0].fill; },
      [](LoaderConfig* c) { return &c->draws.message.sources[1].resident; },
      [](LoaderConfig* c) { return &c->draws.message.sources[1].kept; },
      [](LoaderConfig* c) { return &c->draws.message.sources[1].first_group; },
      [](LoaderConfig* c) { return &c->draws.formats[1].lookahead_bytes; },
      [](LoaderConfig* c) { return &c->draws.formats[1].start; },
      [](LoaderConfig* c) { return &c->draws.formats[1].length; },
      [](LoaderConfig* c) { return &c->draws.formats[1].patience; },
      [](LoaderConfig* c) { return &c->decode.lookahead; },
      [](LoaderConfig* c) { return &c->decode.max_pixels; },
      [](LoaderConfig* c) { return &c->decode.max_scans; },
  };
  for (size_t number = 0; number < std::size(numbers); ++number) {
    for (const int64_t value : {INT64_MAX, int64_t{UINT32_MAX}}) {
      LoaderConfig config = data.Config({4, 3});
      *numbers[number](&config) = value;
      std::unique_ptr<Loader> loader;
      if (!Loader::Create(std::move(config), Memory(), &loader).ok()) continue;
      EXPECT_EQ(RunEpoch(loader.get()).size(), 5u) << number;
    }
  }
}

TEST(LoaderTest, ABatchMayHaveRoomForMoreThanThereIs) {
  const SmallDataset data;
  LoaderConfig config = data.Config({4, 3});
  config.decode.batch_size = config.draws.message.plan.batch_size = 1 << 30;
  const std::vector<Given> given = RunEpoch(Make(std::move(config)).get());
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].samples.size(), data.rows());
}

TEST(LoaderTest, AStepBehindAllIsAnError) {
  const SmallDataset data;
  const auto loader = Make(data.Config({0, 0}));
  EXPECT_EQ(loader->Seek(-1, 0, {}, {}, nullptr).code(),
            StatusCode::kInvalidArgument);
  for (const uint64_t step :
       {uint64_t{6}, UINT64_MAX / 5 + 2, UINT64_MAX - 1}) {
    ASSERT_TRUE(loader->Seek(0, step, {}, {}, nullptr).ok());
    EXPECT_EQ(loader->Begin({}).code(), StatusCode::kInvalidArgument) << step;
  }
  ASSERT_TRUE(loader->Seek(0, 0, {}, {}, nullptr).ok());
  EXPECT_EQ(RunEpoch(loader.get()).size(), 5u);
}

}  // namespace
}  // namespace liquid::loader_test
