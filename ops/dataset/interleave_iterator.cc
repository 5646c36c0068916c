#include "ops/dataset/interleave_iterator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dataset/record_block.h"
#include "ops/tf_status.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {

namespace tfd = ::tensorflow::data;
using ::tensorflow::Tensor;
using ::tensorflow::profiler::TraceMe;
using ::tensorflow::profiler::TraceMeEncode;

namespace {

Tensor AsTensor(const std::vector<uint64_t>& words) {
  Tensor tensor(tensorflow::DT_INT64, {static_cast<int64_t>(words.size())});
  auto flat = tensor.flat<int64_t>();
  for (size_t i = 0; i < words.size(); ++i) {
    flat(i) = static_cast<int64_t>(words[i]);
  }
  return tensor;
}

std::vector<int64_t> AsNumbers(const Tensor& tensor) {
  const auto flat = tensor.flat<int64_t>();
  return std::vector<int64_t>(flat.data(), flat.data() + flat.size());
}

MemoryLimits Limits(const InterleaveInputs& inputs, size_t format) {
  return {static_cast<uint64_t>(inputs.resident[format]),
          static_cast<uint64_t>(inputs.kept[format])};
}

}  // namespace

// Outlives the iterator: a source may still be reading then.
std::function<void(const std::string&)> InterleaveIterator::TellMethod(
    size_t format) {
  Snapshot* const snapshot = dataset()->snapshot();
  snapshot->Ref();
  return [owned = std::shared_ptr<Snapshot>(snapshot,
                                            [](Snapshot* s) { s->Unref(); }),
          format](const std::string& method) {
    owned->SetReading(static_cast<uint32_t>(format), method);
  };
}

absl::Status InterleaveIterator::Initialize(tfd::IteratorContext* ctx) {
  for (size_t f = 0; f < dataset()->datasets().size(); ++f) {
    resources_.push_back(
        std::make_unique<tensorflow::ResourceMgr>("localhost"));
    plans_.push_back(new PlanContext(static_cast<uint32_t>(f), TellMethod(f)));
    TF_RETURN_IF_ERROR(resources_[f]->Create(PlanContext::kContainer,
                                             PlanContext::kName, plans_[f]));
    inputs_.emplace_back();
    tfd::IteratorContext nested = InputContext(ctx, f);
    TF_RETURN_IF_ERROR(dataset()->datasets()[f]->MakeIterator(
        &nested, this, absl::StrCat(prefix(), "[", f, "]"), &inputs_[f]));
    ctx->MergeCheckpoint(nested.checkpoint());
  }
  if (dataset()->fidelity() == nullptr) return absl::OkStatus();
  tfd::IteratorContext nested = FidelityContext(ctx);
  return dataset()->fidelity()->MakeIterator(
      &nested, this, absl::StrCat(prefix(), "[fidelity]"), &fidelity_input_);
}

absl::Status InterleaveIterator::GetNextInternal(
    tfd::IteratorContext* ctx, std::vector<Tensor>* out_tensors,
    bool* end_of_sequence) {
  std::unique_lock<std::mutex> lock(mu_);
  TF_RETURN_IF_ERROR(status_);
  if (draws_ == nullptr) {
    TraceMe trace("Liquid Plan");  // may replay epochs
    Snapshot::Lease lease;
    const InterleaveInputs& inputs = dataset()->inputs();
    const Status taken = dataset()->snapshot()->Take(
        inputs.epoch, static_cast<uint64_t>(inputs.first_step), &lease);
    if (!taken.ok()) return ToTf(taken);
    Fidelity fidelity;
    status_ = ReadFidelity(ctx, lease.epoch, &fidelity);
    TF_RETURN_IF_ERROR(status_);
    TF_RETURN_IF_ERROR(Begin(std::move(lease), std::move(fidelity)));
  }
  *end_of_sequence = draws_->AtEnd();
  if (*end_of_sequence) return absl::OkStatus();
  TraceMe trace([&]() {
    const EpochPlan& plan = draws_->plan();
    return TraceMeEncode(
        "Liquid Interleave",
        {{"epoch", plan.epoch()},
         {"batch", plan.position() / dataset()->spec().batch_size},
         {"policy", dataset()->attributes().policy}});
  });
  RecordBlock block;
  status_ = draws_->Next(
      [this, ctx](uint32_t format, std::vector<RecordPtr>* records) {
        return Read(ctx, format, records);
      },
      &block);
  TF_RETURN_IF_ERROR(status_);
  out_tensors->push_back(ToTensor(std::move(block)));
  return absl::OkStatus();
}

absl::Status InterleaveIterator::SaveInternal(
    tfd::SerializationContext* ctx, tfd::IteratorStateWriter* writer) {
  std::unique_lock<std::mutex> lock(mu_);
  TF_RETURN_IF_ERROR(
      writer->WriteScalar(prefix(), "plan", dataset()->fingerprint()));
  if (draws_ == nullptr) {
    int64_t epoch;
    uint64_t step;
    dataset()->snapshot()->Next(&epoch, &step);
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "begun", 0));
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "epoch", epoch));
    return writer->WriteScalar(prefix(), "step", static_cast<int64_t>(step));
  }
  const EpochPlan& plan = draws_->plan();
  TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "begun", 1));
  TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "epoch", plan.epoch()));
  TF_RETURN_IF_ERROR(writer->WriteScalar(
      prefix(), "position", static_cast<int64_t>(plan.position())));
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
  int64_t plan, begun, epoch, position, step;
  TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "plan", &plan));
  if (plan != dataset()->fingerprint()) {
    return absl::InvalidArgumentError(
        "the checkpoint was saved by a dataset with other samples, seed, "
        "batch size, shard or shuffle, or by a liquid_tf that orders samples "
        "otherwise: make this one with the same arguments and version");
  }
  TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "begun", &begun));
  TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "epoch", &epoch));
  if (!begun) {
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "step", &step));
    return ToTf(
        dataset()->snapshot()->Seek(epoch, static_cast<uint64_t>(step), {}));
  }
  TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "position", &position));
  const uint64_t samples = dataset()->samples();
  if (position < 0 || static_cast<uint64_t>(position) > samples) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint stands at draw ", position, " of ",
                     samples, ": it was saved by another dataset"));
  }
  std::vector<uint64_t> cached;
  HeldSets held = NothingHeld(dataset()->spec());
  TF_RETURN_IF_ERROR(ReadWords(reader, "cached", held.size(), &cached));
  Tensor steps;
  TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), "fidelity", &steps));
  if (steps.dtype() != tensorflow::DT_INT64) {
    return absl::InvalidArgumentError(
        "the checkpoint's fidelity is of no int64: it was saved by another "
        "version");
  }
  Fidelity fidelity;
  TF_RETURN_IF_ERROR(ToTf(Fidelity::FromSteps(AsNumbers(steps), &fidelity)));
  for (size_t f = 0; f < held.size(); ++f) {
    TF_RETURN_IF_ERROR(ReadWords(reader, absl::StrCat("held", f),
                                 held[f].words().size(), &held[f].words()));
  }
  const uint64_t left = samples - static_cast<uint64_t>(position);
  const bool complete = left == 0 || (dataset()->attributes().drop_remainder &&
                                      left < dataset()->spec().batch_size);
  Snapshot::Lease lease;
  const Status restored = dataset()->snapshot()->Restore(
      cached, epoch, static_cast<uint64_t>(position), std::move(held), complete,
      &lease);
  if (!restored.ok()) return ToTf(restored);
  return Begin(std::move(lease), std::move(fidelity));
}

tfd::IteratorContext InterleaveIterator::InputContext(tfd::IteratorContext* ctx,
                                                      size_t format) {
  tfd::IteratorContext::Params params(ctx);
  params.resource_mgr = resources_[format].get();
  return tfd::IteratorContext(std::move(params));
}

tfd::IteratorContext InterleaveIterator::FidelityContext(
    tfd::IteratorContext* ctx) {
  tfd::IteratorContext::Params params(ctx);
  params.resource_mgr = &fidelity_resources_;
  return tfd::IteratorContext(std::move(params));
}

// Asks once, when the epoch's number is known.
absl::Status InterleaveIterator::ReadFidelity(tfd::IteratorContext* ctx,
                                              int64_t epoch,
                                              Fidelity* fidelity) {
  if (fidelity_input_ == nullptr) return absl::OkStatus();
  TF_RETURN_IF_ERROR(fidelity_resources_.Create(
      EpochContext::kContainer, EpochContext::kName, new EpochContext(epoch)));
  tfd::IteratorContext nested = FidelityContext(ctx);
  std::vector<Tensor> element;
  bool end_of_sequence = false;
  TF_RETURN_IF_ERROR(
      fidelity_input_->GetNext(&nested, &element, &end_of_sequence));
  if (end_of_sequence || element.size() != 1 ||
      element[0].dtype() != tensorflow::DT_INT64 || element[0].dims() != 1 ||
      element[0].NumElements() == 0) {
    return absl::InvalidArgumentError(
        "fidelity must be a vector of int64, the scan groups of each batch");
  }
  return ToTf(Fidelity::Create(AsNumbers(element[0]), fidelity));
}

absl::Status InterleaveIterator::Begin(Snapshot::Lease lease,
                                       Fidelity fidelity) {
  held_.clear();
  for (const SampleSet& set : lease.held) {
    held_.push_back(AsTensor(set.words()));
  }
  std::vector<uint64_t> cached;
  for (const FormatSpec& format : lease.spec->formats) {
    cached.push_back(format.cached);
  }
  cached_ = AsTensor(cached);
  EpochDraws::Options options;
  options.cache_bytes = static_cast<uint64_t>(dataset()->inputs().cache_bytes);
  options.kept.assign(dataset()->inputs().kept.begin(),
                      dataset()->inputs().kept.end());
  options.resident.assign(dataset()->inputs().resident.begin(),
                          dataset()->inputs().resident.end());
  options.keep_pixels = dataset()->attributes().keep_pixels;
  options.mask_bytes =
      static_cast<uint64_t>(dataset()->attributes().mask_bytes);
  options.drop_remainder = dataset()->attributes().drop_remainder;
  options.end = dataset()->inputs().EndDraw(dataset()->samples());
  options.fidelity = fidelity;
  const std::vector<int64_t> steps = fidelity.steps();
  fidelity_ =
      Tensor(tensorflow::DT_INT64, {static_cast<int64_t>(steps.size())});
  std::copy(steps.begin(), steps.end(), fidelity_.flat<int64_t>().data());
  lease.run->SetFidelity(steps);
  TF_RETURN_IF_ERROR(EpochDraws::Create(dataset()->snapshot(), std::move(lease),
                                        options, &draws_));
  for (size_t f = 0; f < plans_.size(); ++f) {
    const EpochPlan& plan = draws_->plan();
    plans_[f]->Set(draws_->spec(), plan.epoch(), plan.position(), plan.held(),
                   draws_->at_hand(static_cast<uint32_t>(f)),
                   Limits(dataset()->inputs(), f), fidelity, options.end);
  }
  return absl::OkStatus();
}

absl::Status InterleaveIterator::Read(tfd::IteratorContext* ctx,
                                      uint32_t format,
                                      std::vector<RecordPtr>* records) {
  std::vector<Tensor> element;
  bool end_of_sequence = false;
  tfd::IteratorContext nested = InputContext(ctx, format);
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

absl::Status InterleaveIterator::ReadWords(tfd::IteratorStateReader* reader,
                                           const std::string& key, size_t size,
                                           std::vector<uint64_t>* words) {
  Tensor tensor;
  TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), key, &tensor));
  if (tensor.dtype() != tensorflow::DT_INT64 ||
      tensor.NumElements() != static_cast<int64_t>(size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint's ", key, " has ", tensor.NumElements(),
        " values instead of ", size,
        ": it was saved by a dataset of other samples or formats"));
  }
  const auto flat = tensor.flat<int64_t>();
  words->assign(flat.data(), flat.data() + flat.size());
  return absl::OkStatus();
}

}  // namespace liquid
