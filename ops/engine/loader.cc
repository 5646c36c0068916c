#include "ops/engine/loader.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "ops/engine/epoch_draws.h"
#include "ops/engine/format_plan.h"
#include "ops/reader/read_group.h"
#include "ops/sampler/fidelity.h"
#include "ops/sampler/plan_message.h"

namespace liquid {

// One epoch on its way. What it is made of stands in the order in which it may
// go, the last first: threads.
class Loader::Epoch {
 public:
  static Status Begin(Loader* loader, const EpochStart& start,
                      std::unique_ptr<Epoch>* made) {
    std::unique_ptr<Epoch> epoch(new Epoch(loader));
    EpochOptions options;
    Snapshot::Lease lease;
    LIQUID_RETURN_IF_ERROR(epoch->Take(loader, start, &options, &lease));
    LIQUID_RETURN_IF_ERROR(Fidelity::Create(start.fidelity, &options.fidelity));
    LIQUID_RETURN_IF_ERROR(
        epoch->Open(options, loader->snapshot_.get(), std::move(lease)));
    epoch->pipeline_.Restore(start.borrowed, start.skipped);
    LIQUID_RETURN_IF_ERROR(
        StartThread([self = epoch.get()]() { self->pipeline_.Produce(); },
                    &epoch->producer_));
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

  Status Next(Batch* batch) {
    BatchPipeline::Batch next;
    LIQUID_RETURN_IF_ERROR(pipeline_.Next({[](bool) {}, [](void*) {}}, &next));
    batch->end = next.end;
    if (next.end) return OkStatus();
    batch->outputs = std::move(next.outputs);
    batch->epoch = next.holds->epoch;
    batch->step = next.holds->first_draw / drawn_->spec->batch_size + 1;
    batch->rest = rest_;
    batch->borrowed = pipeline_.Borrowed();
    batch->skipped = pipeline_.Skipped();
    batch->holds = std::move(next.holds);
    return OkStatus();
  }

 private:
  explicit Epoch(Loader* loader)
      : pipeline_(loader->decoder_.get(), &loader->features_, loader->decode_,
                  Around(loader)) {}

  BatchPipeline::Surroundings Around(Loader* loader) {
    BatchPipeline::Surroundings around;
    around.read = [this](BatchPipeline::Input* input) { return Read(input); };
    around.runner = [threads =
                         loader->threads_.get()](std::function<void()> work) {
      threads->Run(std::move(work));
    };
    const DecodeMessage& decode = loader->decode_;
    around.parallelism = [threads = decode.parallelism]() { return threads; };
    around.lookahead = [batches = decode.lookahead]() { return batches; };
    around.buffered = [](int64_t, int64_t) {};
    around.decode = [](const PendingBatch&, size_t,
                       const std::function<int64_t()>& work) { work(); };
    return around;
  }

  // Takes the epoch that is the next, or the rest of it.
  Status Take(Loader* loader, const EpochStart& start, EpochOptions* options,
              Snapshot::Lease* lease) {
    Snapshot* const snapshot = loader->snapshot_.get();
    const Snapshot::Place place = snapshot->Next();
    options->rest = rest_ = place.rest != nullptr;
    drawn_ = rest_ ? std::static_pointer_cast<const Drawn>(place.rest)
                   : loader->drawn_;
    options->message = &loader->drawn_->plan.message;
    options->draws = &drawn_->plan;
    options->limits = LimitsOf(drawn_->plan.message);
    const std::string number = std::to_string(place.epoch);
    if (place.step == Snapshot::kUnknown) {
      return Status(StatusCode::kFailedPrecondition,
                    "epoch " + number +
                        " was begun by other numbers of workers: seek what "
                        "they left of it, or another epoch");
    }
    const uint64_t batch = drawn_->spec->batch_size;
    if (place.step > INT64_MAX / batch) {
      return InvalidArgument("epoch " + number + " has no step " +
                             std::to_string(place.step));
    }
    const bool mixed = !start.mixes.samples.empty();
    if (rest_) {
      if (mixed) {
        return InvalidArgument("mixes must be empty for the rest of epoch " +
                               number + ", whose plan has none");
      }
      return TakeRest(drawn_->spec, place.epoch, place.step * batch, snapshot,
                      lease);
    }
    if (mixed) {
      LIQUID_RETURN_IF_ERROR(
          DecideMixes(place.epoch, start.mixes, snapshot, &options->limits));
    }
    return snapshot->Take(place.epoch, place.step, lease);
  }

  Status Open(EpochOptions options, Snapshot* snapshot, Snapshot::Lease lease) {
    options.reads = std::make_shared<ReadGroup>();
    plans_.resize(drawn_->files.size());
    std::vector<FormatPlan*> plans;
    for (FormatPlan& plan : plans_) plans.push_back(&plan);
    LIQUID_RETURN_IF_ERROR(
        BeginEpoch(options, snapshot, std::move(lease), plans, &draws_));
    for (size_t f = 0; f < plans_.size(); ++f) {
      std::unique_ptr<FormatStream> stream;
      LIQUID_RETURN_IF_ERROR(
          FormatStream::Create(drawn_->files[f], &plans_[f], 0, &stream));
      streams_.push_back(std::move(stream));
    }
    return OkStatus();
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
    input->block = std::move(block);
    return OkStatus();
  }

  std::shared_ptr<const Drawn> drawn_;
  bool rest_ = false;  // whether it is of a rest
  std::vector<FormatPlan> plans_;
  std::vector<std::unique_ptr<FormatStream>> streams_;
  std::unique_ptr<EpochDraws> draws_;
  BatchPipeline pipeline_;
  std::thread producer_;
};

Status Loader::Open(const DrawConfig& config, Snapshot::Config* snapshot,
                    std::shared_ptr<const Drawn>* made) const {
  const size_t formats = config.formats.size();
  if (formats == 0 || config.chosen.size() != formats) {
    return InvalidArgument("formats (" + std::to_string(formats) +
                           " entries) must be at least one, and chosen (" +
                           std::to_string(config.chosen.size()) +
                           " entries) one for each");
  }
  auto drawn = std::make_shared<Drawn>();
  DrawPlan& plan = drawn->plan;
  plan.message = config.message;
  if (plan.message.plan.batch_size != decode_.batch_size) {
    return InvalidArgument("batch_size (" + std::to_string(decode_.batch_size) +
                           ") of what is decoded must be that of the plan, " +
                           std::to_string(plan.message.plan.batch_size));
  }
  drawn->files.resize(formats);
  for (size_t f = 0; f < formats; ++f) {
    FormatFiles& files = drawn->files[f];
    files.message = config.formats[f];
    LIQUID_RETURN_IF_ERROR(
        FormatFiles::CheckMessage(files.message, &files.mode));
    const std::vector<uint8_t>& chosen = config.chosen[f];
    LIQUID_RETURN_IF_ERROR(
        OpenShards(files.message, ByteSpan(chosen.data(), chosen.size()),
                   opener_(files.message, files.mode), &files.opened));
  }
  // To plan takes memory for each record: first, there must be these.
  PlanSpec stated;
  LIQUID_RETURN_IF_ERROR(MakeSpec(plan.message.plan, &stated));
  for (size_t f = 0; f < std::min(formats, stated.formats.size()); ++f) {
    LIQUID_RETURN_IF_ERROR(drawn->files[f].CheckPlan(stated.formats[f]));
  }
  plan.groups = {config.groups.data(), config.groups.size()};
  plan.record_blocks = {config.record_blocks.data(),
                        config.record_blocks.size()};
  LIQUID_RETURN_IF_ERROR(plan.MakeSpec(formats, &drawn->spec));
  LIQUID_RETURN_IF_ERROR(plan.MakeConfig(drawn->spec, snapshot));
  // They are the caller's.
  plan.groups = {};
  plan.record_blocks = {};
  *made = std::move(drawn);
  return OkStatus();
}

Status Loader::Create(LoaderConfig config, BatchAllocator* allocator,
                      std::unique_ptr<Loader>* made) {
  std::unique_ptr<Loader> loader(new Loader());
  loader->decode_ = std::move(config.decode);
  loader->opener_ = std::move(config.opener);
  const DecodeMessage& message = loader->decode_;
  if (message.lookahead < 1 || message.parallelism < 1) {
    return InvalidArgument("lookahead (" + std::to_string(message.lookahead) +
                           ") and parallelism (" +
                           std::to_string(message.parallelism) +
                           ") must be at least 1: a loader has no autotuner");
  }
  DecodeConfig decode;
  LIQUID_RETURN_IF_ERROR(Configure(message, config.outputs, config.mean,
                                   &decode, &loader->features_));
  Snapshot::Config snapshot;
  LIQUID_RETURN_IF_ERROR(
      loader->Open(config.draws, &snapshot, &loader->drawn_));
  snapshot.tier.warn = std::move(config.warn);
  LIQUID_RETURN_IF_ERROR(loader->snapshot_->Configure(snapshot));
  loader->decoder_ =
      std::make_unique<BatchDecoder>(std::move(decode), allocator);
  LIQUID_RETURN_IF_ERROR(
      Threads::Create(message.parallelism, &loader->threads_));
  *made = std::move(loader);
  return OkStatus();
}

Loader::~Loader() { Leave(); }

Status Loader::Seek(int64_t epoch, uint64_t step,
                    const std::vector<uint64_t>& cached,
                    const std::vector<int64_t>& mixes, const DrawConfig* rest) {
  if (epoch < 0) {
    return InvalidArgument("epoch (" + std::to_string(epoch) +
                           ") must be at least 0");
  }
  std::shared_ptr<const Drawn> drawn;
  if (rest != nullptr) {
    Snapshot::Config of_rest;  // the loader's own stays
    LIQUID_RETURN_IF_ERROR(Open(*rest, &of_rest, &drawn));
  }
  return snapshot_->Seek({epoch, step, std::move(drawn)}, cached, mixes);
}

Status Loader::Begin(const EpochStart& start) {
  Leave();  // its records go to the cache
  {
    std::unique_lock<std::mutex> lock(mu_);
    cancelled_ = false;
  }
  std::unique_ptr<Epoch> begun;
  LIQUID_RETURN_IF_ERROR(Epoch::Begin(this, start, &begun));
  std::unique_lock<std::mutex> lock(mu_);
  if (cancelled_) begun->Cancel();
  run_ = std::move(begun);
  return OkStatus();
}

Status Loader::Next(Batch* batch) {
  if (run_ == nullptr) {
    return Status(StatusCode::kFailedPrecondition,
                  "no epoch runs: begin one first");
  }
  return run_->Next(batch);
}

void Loader::Leave() {
  std::unique_ptr<Epoch> left;
  std::unique_lock<std::mutex> lock(mu_);
  left = std::move(run_);
  lock.unlock();  // its threads end now, which takes its time
}

void Loader::Cancel() {
  std::unique_lock<std::mutex> lock(mu_);
  cancelled_ = true;
  if (run_ != nullptr) run_->Cancel();
}

}  // namespace liquid
