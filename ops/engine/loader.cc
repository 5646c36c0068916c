#include "ops/engine/loader.h"

#include <thread>
#include <utility>

#include "ops/engine/begin_epoch.h"
#include "ops/engine/epoch_draws.h"
#include "ops/reader/read_group.h"

namespace liquid {

// One epoch on its way. What it is made of stands in the order in which it may
// go: threads first.
class Loader::Epoch {
 public:
  static Status Begin(Loader* loader, std::unique_ptr<Epoch>* made) {
    std::unique_ptr<Epoch> epoch(new Epoch(loader));
    const Snapshot::Place place = loader->snapshot_->Next();
    Snapshot::Lease lease;
    LIQUID_RETURN_IF_ERROR(
        loader->snapshot_->Take(place.epoch, place.step, &lease));
    EpochOptions options;
    options.message = &loader->draws_.message;
    options.draws = &loader->draws_;
    for (const SourceMessage& source : loader->draws_.message.sources) {
      options.limits.push_back({static_cast<uint64_t>(source.resident),
                                static_cast<uint64_t>(source.kept)});
    }
    std::vector<FormatPlan*> plans;
    epoch->plans_.resize(loader->files_.size());
    for (size_t f = 0; f < epoch->plans_.size(); ++f) {
      FormatPlan& plan = epoch->plans_[f];
      plan.number = static_cast<uint32_t>(f);
      plan.reads = epoch->reads_;
      plan.tell_method = [snapshot = loader->snapshot_,
                          f](const std::string& method) {
        snapshot->SetReading(static_cast<uint32_t>(f), method);
      };
      plans.push_back(&plan);
    }
    LIQUID_RETURN_IF_ERROR(BeginEpoch(options, loader->snapshot_.get(),
                                      std::move(lease), plans, &epoch->draws_));
    for (size_t f = 0; f < epoch->plans_.size(); ++f) {
      epoch->streams_.emplace_back();
      LIQUID_RETURN_IF_ERROR(FormatStream::Create(
          loader->files_[f], &epoch->plans_[f], 0, &epoch->streams_.back()));
    }
    epoch->Start();
    *made = std::move(epoch);
    return OkStatus();
  }

  ~Epoch() {
    Cancel();
    if (producer_.joinable()) producer_.join();
  }

  void Cancel() {
    pipeline_.Cancel();
    for (const auto& stream : streams_) stream->Cancel();
  }

  int64_t number() const { return draws_->plan().epoch(); }

  Status Next(BatchPipeline::Batch* batch) {
    return pipeline_.Next({[](bool) {}, [](void*) {}}, batch);
  }

 private:
  explicit Epoch(Loader* loader)
      : pipeline_(loader->decoder_.get(), &loader->features_,
                  loader->config_.decode, Around(loader)) {}

  BatchPipeline::Surroundings Around(Loader* loader) {
    BatchPipeline::Surroundings around;
    around.read = [this](BatchPipeline::Input* input) { return Read(input); };
    around.runner = [loader](std::function<void()> work) {
      loader->threads_->Run(std::move(work));
    };
    const DecodeMessage& decode = loader->config_.decode;
    around.parallelism = [threads = decode.parallelism]() { return threads; };
    around.lookahead = [batches = decode.lookahead]() { return batches; };
    around.buffered = [](int64_t, int64_t) {};
    around.decode = [](const PendingBatch&, size_t,
                       const std::function<int64_t()>& work) { work(); };
    return around;
  }

  void Start() {
    producer_ = std::thread([this]() { pipeline_.Produce(); });
  }

  Status Read(BatchPipeline::Input* input) {
    if (draws_->AtEnd()) return OkStatus();
    auto block = std::make_shared<RecordBlock>();
    LIQUID_RETURN_IF_ERROR(draws_->Next(
        [this](uint32_t format, std::vector<RecordPtr>* records) {
          RecordBlock more;
          LIQUID_RETURN_IF_ERROR(streams_[format]->Next(&more));
          if (more.retries > 0) draws_->run().Retried(format, more.retries);
          for (RecordBlock::Item& item : more.items) {
            records->push_back(std::move(item.record));
          }
          return OkStatus();
        },
        block.get()));
    const ReadClock& clock = reads_->clock();
    if (disk_seconds_ == 0) {
      draws_->run().Filled(clock.bytes(), clock.seconds());
    }
    block->disk_seconds = clock.seconds() - disk_seconds_;
    disk_seconds_ += block->disk_seconds;
    input->block = std::move(block);
    return OkStatus();
  }

  const std::shared_ptr<ReadGroup> reads_ = std::make_shared<ReadGroup>();
  std::vector<FormatPlan> plans_;
  std::vector<std::unique_ptr<FormatStream>> streams_;
  std::unique_ptr<EpochDraws> draws_;
  double disk_seconds_ = 0;  // that blocks have told of
  BatchPipeline pipeline_;
  std::thread producer_;
};

Status Loader::Create(LoaderConfig config, const OpenerOf& opener,
                      BatchAllocator* allocator,
                      std::unique_ptr<Loader>* made) {
  std::unique_ptr<Loader> loader(new Loader());
  loader->config_ = std::move(config);
  const LoaderConfig& given = loader->config_;
  if (given.chosen.size() != given.formats.size()) {
    return InvalidArgument("chosen (" + std::to_string(given.chosen.size()) +
                           " entries) must be one for each of the " +
                           std::to_string(given.formats.size()) + " formats");
  }
  DrawPlan& draws = loader->draws_;
  draws.message = given.draws;
  draws.groups = {given.groups.data(), given.groups.size()};
  draws.record_blocks = {given.record_blocks.data(),
                         given.record_blocks.size()};
  LIQUID_RETURN_IF_ERROR(draws.MakeSpec(given.formats.size(), &loader->spec_));
  loader->files_.resize(given.formats.size());
  for (size_t f = 0; f < given.formats.size(); ++f) {
    FormatFiles& files = loader->files_[f];
    files.message = given.formats[f];
    LIQUID_RETURN_IF_ERROR(
        FormatFiles::CheckMessage(files.message, &files.mode));
    const std::vector<uint8_t>& chosen = given.chosen[f];
    LIQUID_RETURN_IF_ERROR(
        OpenShards(files.message, ByteSpan(chosen.data(), chosen.size()),
                   opener(files.message, files.mode), &files.opened));
  }
  DecodeConfig decode;
  LIQUID_RETURN_IF_ERROR(Configure(given.decode, given.outputs, given.mean,
                                   &decode, &loader->features_));
  if (given.decode.lookahead < 1 || given.decode.parallelism < 1) {
    return InvalidArgument(
        "lookahead and parallelism must be at least 1: a loader has no "
        "autotuner");
  }
  loader->decoder_ =
      std::make_unique<BatchDecoder>(std::move(decode), allocator);
  loader->threads_ =
      std::make_unique<Threads>(static_cast<int>(given.decode.parallelism));
  Snapshot::Config snapshot;
  LIQUID_RETURN_IF_ERROR(draws.MakeConfig(loader->spec_, &snapshot));
  LIQUID_RETURN_IF_ERROR(loader->snapshot_->Configure(snapshot));
  *made = std::move(loader);
  return OkStatus();
}

Loader::~Loader() { run_.reset(); }

Status Loader::Seek(int64_t epoch, uint64_t step,
                    const std::vector<uint64_t>& cached,
                    const std::vector<int64_t>& mixes) {
  return snapshot_->Seek({epoch, step}, cached, mixes);
}

Status Loader::Begin() {
  std::unique_ptr<Epoch> left;
  {
    std::unique_lock<std::mutex> lock(mu_);
    left = std::move(run_);
  }
  left.reset();  // its records go to the cache
  std::unique_ptr<Epoch> begun;
  LIQUID_RETURN_IF_ERROR(Epoch::Begin(this, &begun));
  epoch_ = begun->number();
  std::unique_lock<std::mutex> lock(mu_);
  run_ = std::move(begun);
  return OkStatus();
}

Status Loader::Next(BatchPipeline::Batch* batch) {
  if (run_ == nullptr) {
    return Status(StatusCode::kFailedPrecondition, "no epoch is begun");
  }
  return run_->Next(batch);
}

void Loader::Cancel() {
  std::unique_lock<std::mutex> lock(mu_);
  if (run_ != nullptr) run_->Cancel();
}

}  // namespace liquid
