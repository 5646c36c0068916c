#include "ops/dataset/interleave/interleave_iterator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dataset/source/record_block.h"
#include "ops/engine/begin_epoch.h"
#include "ops/kernel/tf_status.h"
#include "ops/sampler/planner.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::Tensor;
using ::tensorflow::profiler::TraceMe;
using ::tensorflow::profiler::TraceMeEncode;

namespace {

std::vector<int64_t> AsNumbers(const Tensor& tensor) {
  const auto flat = tensor.flat<int64_t>();
  return std::vector<int64_t>(flat.data(), flat.data() + flat.size());
}

// What the dataset of mixes gives, by name: the order of tf.nest.
constexpr std::vector<int64_t> MixNumbers::*kMixTensors[] = {
    &MixNumbers::cached, &MixNumbers::fill, &MixNumbers::kept,
    &MixNumbers::resident, &MixNumbers::samples};

}  // namespace

absl::Status InterleaveIterator::Initialize(tfd::IteratorContext* ctx) {
  TF_RETURN_IF_ERROR(MakeInputs(ctx));
  if (dataset()->mixes() == nullptr) return absl::OkStatus();
  return mixes_answer_.Initialize(ctx, dataset()->mixes(), this,
                                  absl::StrCat(prefix(), "[mixes]"));
}

// Of what is drawn from, in the place of those that were there.
absl::Status InterleaveIterator::MakeInputs(tfd::IteratorContext* ctx) {
  inputs_.clear();  // before their resources
  plans_.clear();
  resources_.clear();
  for (size_t f = 0; f < drawn().datasets().size(); ++f) {
    resources_.push_back(
        std::make_unique<tensorflow::ResourceMgr>("localhost"));
    plans_.push_back(new PlanContext());
    TF_RETURN_IF_ERROR(PutContext(plans_[f], resources_[f].get()));
    inputs_.emplace_back();
    tfd::IteratorContext nested = WithResources(ctx, resources_[f].get());
    TF_RETURN_IF_ERROR(drawn().datasets()[f]->MakeIterator(
        &nested, this, absl::StrCat(prefix(), "[", f, "]"), &inputs_[f]));
    ctx->MergeCheckpoint(nested.checkpoint());
  }
  limits_ = LimitsOf(drawn().message());
  if (drawn().fidelity() == nullptr) return absl::OkStatus();
  return fidelity_answer_.Initialize(ctx, drawn().fidelity(), this,
                                     absl::StrCat(prefix(), "[fidelity]"));
}

// Takes the epoch that is the next, or the one that the dataset runs.
absl::Status InterleaveIterator::Take(tfd::IteratorContext* ctx) {
  TraceMe trace("Liquid Plan");  // may replay epochs
  const DrawPlan& draws = dataset()->draws();
  Snapshot::Place place = {draws.epoch,
                           static_cast<uint64_t>(draws.first_step)};
  if (place.epoch < 0) place = dataset()->snapshot()->Next();
  if (place.step == Snapshot::kUnknown) {
    return absl::FailedPreconditionError(absl::StrCat(
        "what other numbers of workers left of epoch ", place.epoch,
        " is known only in the process that made the dataset: another one, as "
        "of tf.data service, begins with an epoch"));
  }
  Snapshot::Lease lease;
  if (place.rest != nullptr) {
    const uint64_t position = place.step * RestOf(place)->spec().batch_size;
    TF_RETURN_IF_ERROR(TakeRest(ctx, place, position, &lease));
  } else {
    TF_RETURN_IF_ERROR(ReadMixes(ctx, place.epoch));
    TF_RETURN_IF_ERROR(
        ToTf(dataset()->snapshot()->Take(place.epoch, place.step, &lease)));
  }
  Fidelity fidelity;
  TF_RETURN_IF_ERROR(ReadFidelity(ctx, place.epoch, &fidelity));
  return Begin(std::move(lease), std::move(fidelity));
}

// Draws from the rest of an epoch from now on.
absl::Status InterleaveIterator::TakeRest(tfd::IteratorContext* ctx,
                                          Snapshot::Place place,
                                          uint64_t position,
                                          Snapshot::Lease* lease) {
  rest_ = RestOf(place);
  TF_RETURN_IF_ERROR(
      ToTf(liquid::TakeRest(rest_->shared_spec(), place.epoch, position,
                            dataset()->snapshot().get(), lease)));
  return MakeInputs(ctx);
}

absl::Status InterleaveIterator::GetNextInternal(
    tfd::IteratorContext* ctx, std::vector<Tensor>* out_tensors,
    bool* end_of_sequence) {
  std::unique_lock<std::mutex> lock(mu_);
  TF_RETURN_IF_ERROR(status_);
  if (draws_ == nullptr) {
    status_ = Take(ctx);
    TF_RETURN_IF_ERROR(status_);
  }
  *end_of_sequence = draws_->AtEnd();
  if (*end_of_sequence) return absl::OkStatus();
  TraceMe trace([&]() {
    const EpochPlan& plan = draws_->plan();
    return TraceMeEncode(
        "Liquid Interleave",
        {{"epoch", plan.epoch()},
         {"batch", plan.position() / dataset()->spec().batch_size},
         {"policy", dataset()->message().plan.policy}});
  });
  RecordBlock block;
  status_ = ToTf(draws_->Next(
      [this, ctx](uint32_t format, std::vector<RecordPtr>* records) {
        return FromTf(Read(ctx, format, records));
      },
      &block));
  TF_RETURN_IF_ERROR(status_);
  out_tensors->push_back(ToTensor(std::move(block)));
  return absl::OkStatus();
}

absl::Status InterleaveIterator::SaveInternal(
    tfd::SerializationContext* ctx, tfd::IteratorStateWriter* writer) {
  std::unique_lock<std::mutex> lock(mu_);
  if (draws_ == nullptr) {
    const Snapshot::Place place = dataset()->snapshot()->Next();
    const InterleaveDataset& next =
        place.rest != nullptr ? *RestOf(place) : *dataset();
    TF_RETURN_IF_ERROR(SaveMixes(writer, place.epoch));
    TF_RETURN_IF_ERROR(
        WriteVector(writer, "cached", dataset()->snapshot()->Cached()));
    return WriteNumbers(writer, {{"plan", next.fingerprint()},
                                 {"begun", 0},
                                 {"epoch", place.epoch},
                                 {"step", static_cast<int64_t>(place.step)}});
  }
  const EpochPlan& plan = draws_->plan();
  TF_RETURN_IF_ERROR(WriteNumbers(
      writer, {{"plan", drawn().fingerprint()},
               {"begun", 1},
               {"epoch", plan.epoch()},
               {"position", static_cast<int64_t>(plan.position())}}));
  TF_RETURN_IF_ERROR(SaveMixes(writer, plan.epoch() + 1));
  TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), "cached", cached_));
  TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), "fidelity", fidelity_));
  for (size_t f = 0; f < held_.size(); ++f) {
    TF_RETURN_IF_ERROR(
        writer->WriteTensor(prefix(), absl::StrCat("held", f), held_[f]));
  }
  return absl::OkStatus();
}

absl::Status InterleaveIterator::RestoreInternal(
    tfd::IteratorContext* ctx, tfd::IteratorStateReader* reader) {
  std::unique_lock<std::mutex> lock(mu_);
  int64_t plan, begun, epoch, step;
  TF_RETURN_IF_ERROR(ReadNumbers(
      reader, {{"plan", &plan}, {"begun", &begun}, {"epoch", &epoch}}));
  Snapshot::Place sought = dataset()->snapshot()->Sought();
  const bool of_rest = sought.rest != nullptr && sought.epoch == epoch &&
                       RestOf(sought)->fingerprint() == plan;
  if (!of_rest && plan != dataset()->fingerprint()) {
    return absl::InvalidArgumentError(
        "the checkpoint was saved by a dataset with other samples, seed, "
        "batch size, shard, shuffle or shares of scan groups, in an epoch that "
        "other numbers of workers began (start), or by a liquid_tf that orders "
        "samples otherwise: make this one with the same arguments and version");
  }
  std::vector<int64_t> mixes;
  std::vector<uint64_t> cached;
  if (dataset()->mixes() != nullptr) {
    TF_RETURN_IF_ERROR(ReadVector(reader, "mixes", -1, &mixes));
  }
  if (!begun) {
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "step", &step));
    TF_RETURN_IF_ERROR(
        ReadVector(reader, "cached", dataset()->datasets().size(), &cached));
    sought.epoch = epoch;
    sought.step = static_cast<uint64_t>(step);
    if (!of_rest) sought.rest = nullptr;
    return ToTf(dataset()->snapshot()->Seek(std::move(sought), cached, mixes));
  }
  if (of_rest) return RestoreRest(ctx, reader, std::move(sought));
  uint64_t position;
  TF_RETURN_IF_ERROR(ReadPosition(reader, &position));
  HeldSets held = NothingHeld(dataset()->spec());
  TF_RETURN_IF_ERROR(ReadVector(reader, "cached", held.size(), &cached));
  Fidelity fidelity;
  TF_RETURN_IF_ERROR(ReadSteps(reader, &fidelity));
  for (size_t f = 0; f < held.size(); ++f) {
    TF_RETURN_IF_ERROR(ReadVector(reader, absl::StrCat("held", f),
                                  held[f].words().size(), &held[f].words()));
  }
  Snapshot::Lease lease;
  TF_RETURN_IF_ERROR(ToTf(dataset()->snapshot()->Restore(
      cached, mixes, epoch, position, std::move(held), Complete(position),
      &lease)));
  TF_RETURN_IF_ERROR(ReadMixes(ctx, epoch));  // for the memory
  return Begin(std::move(lease), std::move(fidelity));
}

// The cache of later epochs is not that of the rest: it follows from `cache=`.
absl::Status InterleaveIterator::RestoreRest(tfd::IteratorContext* ctx,
                                             tfd::IteratorStateReader* reader,
                                             Snapshot::Place place) {
  rest_ = RestOf(place);
  uint64_t position;
  TF_RETURN_IF_ERROR(ReadPosition(reader, &position));
  Fidelity fidelity;
  TF_RETURN_IF_ERROR(ReadSteps(reader, &fidelity));
  Snapshot::Place next = place;
  if (Complete(position)) next = {place.epoch + 1};
  TF_RETURN_IF_ERROR(
      ToTf(dataset()->snapshot()->Seek(std::move(next), {}, {})));
  Snapshot::Lease lease;
  TF_RETURN_IF_ERROR(TakeRest(ctx, std::move(place), position, &lease));
  return Begin(std::move(lease), std::move(fidelity));
}

// Whether every batch before a draw is all that is delivered of the epoch.
bool InterleaveIterator::Complete(uint64_t position) const {
  const uint64_t left = drawn().samples() - position;
  return left == 0 || (dataset()->message().drop_remainder &&
                       left < dataset()->spec().batch_size);
}

absl::Status InterleaveIterator::ReadPosition(tfd::IteratorStateReader* reader,
                                              uint64_t* position) {
  int64_t saved;
  TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "position", &saved));
  const uint64_t samples = drawn().samples();
  if (saved < 0 || static_cast<uint64_t>(saved) > samples) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint stands at draw ", saved, " of ", samples,
                     ": it was saved by another dataset"));
  }
  *position = static_cast<uint64_t>(saved);
  return absl::OkStatus();
}

absl::Status InterleaveIterator::ReadSteps(tfd::IteratorStateReader* reader,
                                           Fidelity* fidelity) {
  std::vector<int64_t> steps;
  TF_RETURN_IF_ERROR(ReadVector(reader, "fidelity", -1, &steps));
  return ToTf(Fidelity::FromSteps(steps, fidelity));
}

// Asks once, when the epoch's number is known.
absl::Status InterleaveIterator::ReadMixes(tfd::IteratorContext* ctx,
                                           int64_t epoch) {
  if (dataset()->mixes() == nullptr) return absl::OkStatus();
  std::vector<Tensor> answer;
  TF_RETURN_IF_ERROR(
      mixes_answer_.Ask(ctx, epoch, std::size(kMixTensors), &answer));
  const auto formats = static_cast<int64_t>(limits_.size());
  MixNumbers mixes;
  for (size_t i = 0; i < answer.size(); ++i) {
    if (answer[i].dims() != 2 || answer[i].dim_size(1) != formats) {
      return absl::InvalidArgumentError(
          absl::StrCat("each tensor of mixes must have the shape [epochs, ",
                       formats, "], not ", answer[i].shape().DebugString()));
    }
    mixes.*kMixTensors[i] = AsNumbers(answer[i]);
  }
  return ToTf(DecideMixes(epoch, mixes, dataset()->snapshot().get(), &limits_));
}

absl::Status InterleaveIterator::SaveMixes(tfd::IteratorStateWriter* writer,
                                           int64_t epochs) {
  if (dataset()->mixes() == nullptr) return absl::OkStatus();
  return WriteVector(writer, "mixes", dataset()->snapshot()->Mixes(epochs));
}

// Asks once, when the epoch's number is known.
absl::Status InterleaveIterator::ReadFidelity(tfd::IteratorContext* ctx,
                                              int64_t epoch,
                                              Fidelity* fidelity) {
  if (drawn().fidelity() == nullptr) return absl::OkStatus();
  std::vector<Tensor> answer;
  TF_RETURN_IF_ERROR(fidelity_answer_.Ask(ctx, epoch, 1, &answer));
  if (answer[0].dims() != 1) {
    return absl::InvalidArgumentError(
        "fidelity must be a vector of int64, the scan groups of each batch");
  }
  return ToTf(Fidelity::Create(AsNumbers(answer[0]), fidelity));
}

absl::Status InterleaveIterator::Begin(Snapshot::Lease lease,
                                       Fidelity fidelity) {
  held_.clear();
  for (const SampleSet& set : lease.held) {
    held_.push_back(AsVector(set.words()));
  }
  std::vector<uint64_t> cached;
  for (const FormatSpec& format : lease.spec->formats) {
    cached.push_back(format.cached);
  }
  cached_ = AsVector(cached);
  EpochOptions options;
  options.message = &dataset()->message();
  options.draws = &drawn().draws();
  options.rest = rest_ != nullptr;
  options.limits = limits_;
  options.fidelity = fidelity;
  options.reads = reads_;
  fidelity_ = AsVector(fidelity.steps());
  std::vector<FormatPlan*> plans;
  for (PlanContext* context : plans_) plans.push_back(&context->plan);
  TraceMe trace("Liquid Epoch begin");  // a tier is planned
  return ToTf(BeginEpoch(options, dataset()->snapshot().get(), std::move(lease),
                         plans, &draws_));
}

absl::Status InterleaveIterator::Read(tfd::IteratorContext* ctx,
                                      uint32_t format,
                                      std::vector<RecordPtr>* records) {
  std::vector<Tensor> element;
  bool end_of_sequence = false;
  tfd::IteratorContext nested = WithResources(ctx, resources_[format].get());
  TF_RETURN_IF_ERROR(
      inputs_[format]->GetNext(&nested, &element, &end_of_sequence));
  ctx->MergeCheckpoint(nested.checkpoint());
  if (end_of_sequence) return absl::OkStatus();
  const std::shared_ptr<const RecordBlock> block =
      element.size() == 1 ? BlockOf(element[0]) : nullptr;
  if (block == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interleave: dataset ", format,
        " gave no records: its elements must be those of format_dataset()"));
  }
  if (block->retries > 0) draws_->run().Retried(format, block->retries);
  for (const RecordBlock::Item& item : block->items) {
    records->push_back(item.record);
  }
  return absl::OkStatus();
}

}  // namespace liquid
