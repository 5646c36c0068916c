// Liquid>InterleaveDataset: draws each batch as the planner says.
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/plan_context.h"
#include "ops/dataset/record_block.h"
#include "ops/dataset/snapshot.h"
#include "ops/tf_status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

// The op's inputs behind the datasets, as given.
struct Arguments {
  std::vector<int64_t> file_counts;
  std::vector<int64_t> files_per_format;
  std::vector<int64_t> cached;
  std::vector<int64_t> fill;
  std::vector<tstring> formats;
  int64_t seed = 0;
  int64_t batch_size = 0;
  int64_t epoch = -1;  // -1: the snapshot counts
  int64_t initial_epoch = 0;
  int64_t initial_step = 0;
  int64_t cache_bytes = 0;
  std::string snapshot;
  bool shuffle = true;
  bool drop_remainder = false;
};

class InterleaveDatasetOp : public tfd::DatasetOpKernel {
 public:
  explicit InterleaveDatasetOp(OpKernelConstruction* ctx)
      : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("shuffle", &shuffle_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("drop_remainder", &drop_remainder_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase** output) override;

 private:
  class Dataset;
  absl::Status ParseArguments(OpKernelContext* ctx, Arguments* a) const;

  bool shuffle_;
  bool drop_remainder_;
};

class InterleaveDatasetOp::Dataset : public tfd::DatasetBase {
 public:
  Dataset(OpKernelContext* ctx, Arguments arguments,
          std::vector<tfd::DatasetBase*> inputs,
          std::shared_ptr<const PlanSpec> spec,
          tensorflow::core::RefCountPtr<Snapshot> snapshot)
      : DatasetBase(tfd::DatasetContext(ctx)),
        arguments_(std::move(arguments)),
        inputs_(std::move(inputs)),
        spec_(std::move(spec)),
        snapshot_(std::move(snapshot)) {
    for (tfd::DatasetBase* input : inputs_) input->Ref();
  }
  ~Dataset() override {
    for (tfd::DatasetBase* input : inputs_) input->Unref();
  }

  std::unique_ptr<tfd::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

  const tensorflow::DataTypeVector& output_dtypes() const override {
    static const auto* const kTypes =
        new tensorflow::DataTypeVector({tensorflow::DT_VARIANT});
    return *kTypes;
  }
  const std::vector<tensorflow::PartialTensorShape>& output_shapes()
      const override {
    static const auto* const kShapes =
        new std::vector<tensorflow::PartialTensorShape>(
            {tensorflow::PartialTensorShape({})});
    return *kShapes;
  }
  std::string DebugString() const override {
    return "Liquid>InterleaveDatasetOp::Dataset";
  }
  int64_t CardinalityInternal(tfd::CardinalityOptions options) const override {
    uint64_t samples = 0;
    for (const FormatSpec& format : spec_->formats) {
      samples += SampleCount(format);
    }
    const uint64_t batch = spec_->batch_size;
    return static_cast<int64_t>(arguments_.drop_remainder
                                    ? samples / batch
                                    : (samples + batch - 1) / batch);
  }
  absl::Status InputDatasets(
      std::vector<const tfd::DatasetBase*>* inputs) const override {
    inputs->assign(inputs_.begin(), inputs_.end());
    return absl::OkStatus();
  }
  absl::Status CheckExternalState() const override {
    for (const tfd::DatasetBase* input : inputs_) {
      TF_RETURN_IF_ERROR(input->CheckExternalState());
    }
    return absl::OkStatus();
  }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    const Arguments& a = arguments_;
    std::vector<tensorflow::Node*> datasets;
    for (const tfd::DatasetBase* input : inputs_) {
      datasets.emplace_back();
      TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input, &datasets.back()));
    }
    std::vector<tensorflow::Node*> nodes(12);
    TF_RETURN_IF_ERROR(b->AddVector(a.file_counts, &nodes[0]));
    TF_RETURN_IF_ERROR(b->AddVector(a.files_per_format, &nodes[1]));
    TF_RETURN_IF_ERROR(b->AddVector(a.cached, &nodes[2]));
    TF_RETURN_IF_ERROR(b->AddVector(a.fill, &nodes[3]));
    TF_RETURN_IF_ERROR(b->AddVector(a.formats, &nodes[4]));
    const int64_t numbers[] = {a.seed,          a.batch_size,   a.epoch,
                               a.initial_epoch, a.initial_step, a.cache_bytes};
    for (int i = 0; i < 6; ++i) {
      TF_RETURN_IF_ERROR(b->AddScalar(numbers[i], &nodes[5 + i]));
    }
    TF_RETURN_IF_ERROR(b->AddScalar(tstring(a.snapshot), &nodes[11]));
    tensorflow::AttrValue shuffle, drop_remainder;
    b->BuildAttrValue(a.shuffle, &shuffle);
    b->BuildAttrValue(a.drop_remainder, &drop_remainder);
    std::vector<std::pair<size_t, tensorflow::Node*>> inputs;
    for (size_t i = 0; i < nodes.size(); ++i) {
      inputs.emplace_back(i + 1, nodes[i]);
    }
    return b->AddDataset(
        this, inputs, {{0, datasets}},
        {{"shuffle", shuffle}, {"drop_remainder", drop_remainder}}, output);
  }

 private:
  class Iterator;
  const Arguments arguments_;
  const std::vector<tfd::DatasetBase*> inputs_;
  const std::shared_ptr<const PlanSpec> spec_;
  const tensorflow::core::RefCountPtr<Snapshot> snapshot_;
};

// One epoch. Invariant between two calls: `plan_` stands at the next draw;
// `region_` has every record that was read or kept and is not yet drawn;
// `next_` has every drawn record that is kept.
class InterleaveDatasetOp::Dataset::Iterator
    : public tfd::DatasetIterator<InterleaveDatasetOp::Dataset> {
 public:
  explicit Iterator(const Params& params) : DatasetIterator<Dataset>(params) {}

  ~Iterator() override {
    inputs_.clear();  // before the resources that they use
    std::unique_lock<std::mutex> lock(mu_);
    if (plan_ != nullptr && !released_) Release(nullptr);
  }

  bool SymbolicCheckpointCompatible() const override { return true; }

  absl::Status Initialize(tfd::IteratorContext* ctx) override {
    const size_t formats = dataset()->inputs_.size();
    region_.resize(formats);
    next_.resize(formats);
    for (size_t f = 0; f < formats; ++f) {
      resources_.push_back(
          std::make_unique<tensorflow::ResourceMgr>("localhost"));
      plans_.push_back(new PlanContext(static_cast<uint32_t>(f)));
      TF_RETURN_IF_ERROR(resources_[f]->Create(PlanContext::kContainer,
                                               PlanContext::kName, plans_[f]));
      inputs_.emplace_back();
      tfd::IteratorContext nested = InputContext(ctx, f);
      TF_RETURN_IF_ERROR(dataset()->inputs_[f]->MakeIterator(
          &nested, this, absl::StrCat(prefix(), "[", f, "]"), &inputs_[f]));
      ctx->MergeCheckpoint(nested.checkpoint());
    }
    return absl::OkStatus();
  }

 protected:
  std::shared_ptr<tfd::model::Node> CreateNode(
      tfd::IteratorContext* ctx, tfd::model::Node::Args args) const override {
    return tfd::model::MakeInterleaveManyNode(std::move(args), {});
  }

  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    std::unique_lock<std::mutex> lock(mu_);
    TF_RETURN_IF_ERROR(status_);
    if (plan_ == nullptr) {
      Snapshot::Lease lease;
      const Status taken =
          dataset()->snapshot_->Take(this, dataset()->arguments_.epoch, &lease);
      if (!taken.ok()) return ToTf(taken);
      TF_RETURN_IF_ERROR(Begin(std::move(lease)));
    }
    const uint64_t batch = plan_->spec().batch_size;
    const uint64_t left = plan_->size() - plan_->position();
    *end_of_sequence =
        left == 0 || (dataset()->arguments_.drop_remainder && left < batch);
    if (*end_of_sequence) {
      Finish();
      return absl::OkStatus();
    }
    RecordBlock block;
    block.epoch = plan_->epoch();
    block.first_draw = plan_->position();
    block.run = run_;
    const bool owner = !released_ && dataset()->snapshot_->Own(this);
    const uint64_t draws = std::min(left, batch - plan_->position() % batch);
    block.items.reserve(draws);
    for (uint64_t i = 0; i < draws; ++i) {
      const Draw draw = plan_->Next();
      RecordBlock::Item item;
      item.format = draw.format;
      item.keep = draw.keep;
      status_ = Obtain(ctx, draw, &item);
      TF_RETURN_IF_ERROR(status_);
      if (draw.keep && owner) Keep(draw, item.record);
      block.items.push_back(std::move(item));
    }
    const uint64_t remaining = left - draws;
    block.last = remaining == 0 ||
                 (dataset()->arguments_.drop_remainder && remaining < batch);
    if (block.last) Finish();
    out_tensors->push_back(ToTensor(std::move(block)));
    return absl::OkStatus();
  }

  absl::Status SaveInternal(tfd::SerializationContext* ctx,
                            tfd::IteratorStateWriter* writer) override {
    std::unique_lock<std::mutex> lock(mu_);
    const int64_t epoch = plan_ == nullptr ? -1 : plan_->epoch();
    TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "epoch", epoch));
    TF_RETURN_IF_ERROR(writer->WriteScalar(
        prefix(), "position",
        plan_ == nullptr ? 0 : static_cast<int64_t>(plan_->position())));
    TF_RETURN_IF_ERROR(writer->WriteScalar(
        prefix(), "next_epoch",
        plan_ == nullptr ? dataset()->snapshot_->next_epoch() : -1));
    if (plan_ == nullptr) return absl::OkStatus();
    TF_RETURN_IF_ERROR(writer->WriteTensor(prefix(), "cached", cached_));
    for (size_t f = 0; f < held_.size(); ++f) {
      TF_RETURN_IF_ERROR(
          writer->WriteTensor(prefix(), absl::StrCat("held", f), held_[f]));
    }
    return absl::OkStatus();
  }

  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    int64_t epoch, position, next_epoch;
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "epoch", &epoch));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "position", &position));
    TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "next_epoch", &next_epoch));
    if (epoch < 0) {
      if (next_epoch >= 0) dataset()->snapshot_->Seek(next_epoch, 0);
      return absl::OkStatus();
    }
    HeldSets held = NothingHeld(*dataset()->spec_);
    for (size_t f = 0; f < held.size(); ++f) {
      Tensor words;
      TF_RETURN_IF_ERROR(
          reader->ReadTensor(prefix(), absl::StrCat("held", f), &words));
      if (words.dtype() != tensorflow::DT_INT64 ||
          words.NumElements() != static_cast<int64_t>(held[f].words().size())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the checkpoint was saved by a dataset with another number of ",
            FormatOf(f), " samples"));
      }
      const auto flat = words.flat<int64_t>();
      for (int64_t i = 0; i < flat.size(); ++i) {
        held[f].words()[i] = static_cast<uint64_t>(flat(i));
      }
    }
    uint64_t samples = 0;
    for (const FormatSpec& format : dataset()->spec_->formats) {
      samples += SampleCount(format);
    }
    if (position < 0 || static_cast<uint64_t>(position) > samples) {
      return absl::InvalidArgumentError(
          absl::StrCat("the checkpoint stands at draw ", position, " of ",
                       samples, ": it was saved by another dataset"));
    }
    const uint64_t left = samples - static_cast<uint64_t>(position);
    const bool complete = left == 0 || (dataset()->arguments_.drop_remainder &&
                                        left < dataset()->spec_->batch_size);
    Snapshot::Lease lease;
    Tensor cached;
    TF_RETURN_IF_ERROR(reader->ReadTensor(prefix(), "cached", &cached));
    if (cached.dtype() != tensorflow::DT_INT64 || cached.dims() != 1) {
      return absl::InvalidArgumentError(
          "the checkpoint's cached must be an int64 vector");
    }
    const auto counts = cached.vec<int64_t>();
    const Status restored = dataset()->snapshot_->Restore(
        this,
        std::vector<uint64_t>(counts.data(), counts.data() + counts.size()),
        epoch, static_cast<uint64_t>(position), std::move(held), complete,
        &lease);
    if (!restored.ok()) return ToTf(restored);
    return Begin(std::move(lease));
  }

 private:
  std::string FormatOf(size_t f) const {
    return dataset()->arguments_.formats[f];
  }

  tfd::IteratorContext InputContext(tfd::IteratorContext* ctx, size_t format) {
    tfd::IteratorContext::Params params(ctx);
    params.resource_mgr = resources_[format].get();
    return tfd::IteratorContext(std::move(params));
  }

  absl::Status Begin(Snapshot::Lease lease) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    held_.clear();
    for (const SampleSet& set : lease.held) {
      Tensor words(tensorflow::DT_INT64,
                   {static_cast<int64_t>(set.words().size())});
      auto flat = words.flat<int64_t>();
      for (size_t i = 0; i < set.words().size(); ++i) {
        flat(i) = static_cast<int64_t>(set.words()[i]);
      }
      held_.push_back(std::move(words));
    }
    cached_ = Tensor(tensorflow::DT_INT64,
                     {static_cast<int64_t>(lease.spec->formats.size())});
    for (size_t f = 0; f < lease.spec->formats.size(); ++f) {
      cached_.vec<int64_t>()(f) =
          static_cast<int64_t>(lease.spec->formats[f].cached);
    }
    std::unique_ptr<EpochPlan> plan;
    const Status made =
        EpochPlan::Create(lease.spec, lease.epoch, lease.held, &plan);
    if (!made.ok()) return ToTf(made);
    if (lease.position > plan->size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "initial_step lies behind the epoch's ", plan->size(), " samples"));
    }
    plan->Skip(lease.position);
    region_ = std::move(lease.memory);
    for (size_t f = 0; f < plans_.size(); ++f) {
      SampleSet in_memory(SampleCount(lease.spec->formats[f]));
      for (const auto& entry : region_[f]) in_memory.insert(entry.first);
      plans_[f]->Set(lease.spec, lease.epoch, lease.position, lease.held,
                     std::move(in_memory));
    }
    // What a memory hit is: at hand when the epoch began.
    at_hand_.resize(region_.size());
    for (size_t f = 0; f < region_.size(); ++f) {
      at_hand_[f] = SampleSet(SampleCount(lease.spec->formats[f]));
      for (const auto& entry : region_[f]) at_hand_[f].insert(entry.first);
    }
    spec_ = std::move(lease.spec);
    run_ = std::move(lease.run);
    plan_ = std::move(plan);
    return absl::OkStatus();
  }

  // Takes the drawn record from the region, reading on until it is there.
  absl::Status Obtain(tfd::IteratorContext* ctx, const Draw& draw,
                      RecordBlock::Item* item)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    RecordMap& region = region_[draw.format];
    auto found = region.find(draw.sample);
    while (found == region.end()) {
      std::vector<Tensor> element;
      bool end_of_sequence = false;
      tfd::IteratorContext nested = InputContext(ctx, draw.format);
      const uint64_t asked = tensorflow::EnvTime::NowNanos();
      TF_RETURN_IF_ERROR(
          inputs_[draw.format]->GetNext(&nested, &element, &end_of_sequence));
      run_->AddSeconds((tensorflow::EnvTime::NowNanos() - asked) * 1e-9, 0, 0);
      ctx->MergeCheckpoint(nested.checkpoint());
      const RecordBlock* read =
          element.size() == 1 ? BlockOf(element[0]) : nullptr;
      if (end_of_sequence || read == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "interleave: dataset ", draw.format, " (", FormatOf(draw.format),
            end_of_sequence ? ") ended before sample " : ") gave no record of ",
            draw.sample,
            ": its elements must be those of format_dataset(), in order"));
      }
      for (const RecordBlock::Item& one : read->items) {
        region[one.record->position] = one.record;
      }
      found = region.find(draw.sample);
    }
    item->record = std::move(found->second);
    item->memory_hit = at_hand_[draw.format].contains(draw.sample);
    region.erase(found);
    return absl::OkStatus();
  }

  // Holds a record for the next epoch, unless it is bad or over the budget:
  // then it is read again, the plan stays.
  void Keep(const Draw& draw, const RecordPtr& record)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!record->status.ok()) return;
    const auto budget =
        static_cast<uint64_t>(dataset()->arguments_.cache_bytes);
    if (kept_bytes_ + record->bytes() > budget) return;
    kept_bytes_ += record->bytes();
    next_[draw.format].emplace(draw.sample, record);
  }

  // After the last draw: hands the next epoch's region to the snapshot.
  void Finish() TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (released_) return;
    if (plan_->position() < plan_->size()) {
      // Dropped remainder: its draws are planned, not delivered.
      std::unique_ptr<EpochPlan> rest;
      HeldSets held = plan_->held();
      if (EpochPlan::Create(spec_, plan_->epoch(), std::move(held), &rest)
              .ok()) {
        rest->Skip(rest->size());
        Release(&rest->kept());
        return;
      }
    }
    Release(&plan_->kept());
  }

  void Release(const HeldSets* next) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    released_ = true;
    // What was read and not drawn may serve the next epoch as well.
    for (size_t f = 0; f < region_.size(); ++f) {
      for (auto& entry : region_[f]) {
        if (!entry.second->status.ok()) continue;
        if (next != nullptr && !(*next)[f].contains(entry.first)) continue;
        next_[f].insert(std::move(entry));
      }
      region_[f] = RecordMap();
    }
    dataset()->snapshot_->Release(this, plan_->epoch(), next, std::move(next_));
    next_.clear();
    next_.resize(region_.size());
  }

  std::mutex mu_;
  // One per input; `plans_` are owned by `resources_`.
  std::vector<std::unique_ptr<tensorflow::ResourceMgr>> resources_;
  std::vector<PlanContext*> plans_;
  std::vector<std::unique_ptr<tfd::IteratorBase>> inputs_;

  absl::Status status_ TF_GUARDED_BY(mu_);  // a failed draw ends the epoch
  std::shared_ptr<const PlanSpec> spec_ TF_GUARDED_BY(mu_);
  std::unique_ptr<EpochPlan> plan_ TF_GUARDED_BY(mu_);
  std::shared_ptr<EpochRun> run_ TF_GUARDED_BY(mu_);
  // As saved: immutable, so that saving shares them.
  Tensor cached_ TF_GUARDED_BY(mu_);
  std::vector<Tensor> held_ TF_GUARDED_BY(mu_);
  std::vector<SampleSet> at_hand_ TF_GUARDED_BY(mu_);
  std::vector<RecordMap> region_ TF_GUARDED_BY(mu_);
  std::vector<RecordMap> next_ TF_GUARDED_BY(mu_);
  uint64_t kept_bytes_ TF_GUARDED_BY(mu_) = 0;
  bool released_ TF_GUARDED_BY(mu_) = false;
};

std::unique_ptr<tfd::IteratorBase>
InterleaveDatasetOp::Dataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<Iterator>(
      Iterator::Params{this, prefix + "::LiquidInterleave"});
}

absl::Status InterleaveDatasetOp::ParseArguments(OpKernelContext* ctx,
                                                 Arguments* a) const {
  const std::pair<const char*, std::vector<int64_t>*> vectors[] = {
      {"file_counts", &a->file_counts},
      {"files_per_format", &a->files_per_format},
      {"cached", &a->cached},
      {"fill", &a->fill}};
  for (const auto& [name, value] : vectors) {
    TF_RETURN_IF_ERROR(tfd::ParseVectorArgument<int64_t>(ctx, name, value));
    for (const int64_t number : *value) {
      if (number < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " (", number, ") must be at least 0"));
      }
    }
  }
  TF_RETURN_IF_ERROR(
      tfd::ParseVectorArgument<tstring>(ctx, "formats", &a->formats));
  const std::pair<const char*, int64_t*> scalars[] = {
      {"seed", &a->seed},
      {"batch_size", &a->batch_size},
      {"epoch", &a->epoch},
      {"initial_epoch", &a->initial_epoch},
      {"initial_step", &a->initial_step},
      {"cache_bytes", &a->cache_bytes}};
  for (const auto& [name, value] : scalars) {
    TF_RETURN_IF_ERROR(tfd::ParseScalarArgument<int64_t>(ctx, name, value));
    const bool any = value == &a->seed;
    const int64_t least = value == &a->epoch ? -1 : value == &a->batch_size;
    if (!any && *value < least) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " (", *value, ") must be at least ", least));
    }
  }
  tstring snapshot;
  TF_RETURN_IF_ERROR(
      tfd::ParseScalarArgument<tstring>(ctx, "snapshot", &snapshot));
  a->snapshot = snapshot;
  a->shuffle = shuffle_;
  a->drop_remainder = drop_remainder_;
  if (a->snapshot.empty()) {
    return absl::InvalidArgumentError("snapshot (\"\") must be a name");
  }
  return absl::OkStatus();
}

void InterleaveDatasetOp::MakeDataset(OpKernelContext* ctx,
                                      tfd::DatasetBase** output) {
  tensorflow::OpInputList list;
  OP_REQUIRES_OK(ctx, ctx->input_list("input_datasets", &list));
  std::vector<tfd::DatasetBase*> inputs(list.size());
  for (int i = 0; i < list.size(); ++i) {
    OP_REQUIRES_OK(ctx, tfd::GetDatasetFromVariantTensor(list[i], &inputs[i]));
  }
  Arguments a;
  OP_REQUIRES_OK(ctx, ParseArguments(ctx, &a));
  const size_t formats = inputs.size();
  OP_REQUIRES(
      ctx,
      a.files_per_format.size() == formats && a.cached.size() == formats &&
          a.fill.size() == formats && a.formats.size() == formats,
      absl::InvalidArgumentError(absl::StrCat(
          "files_per_format, cached, fill and formats must have one entry for "
          "each of the ",
          formats, " input datasets")));
  auto spec = std::make_shared<PlanSpec>();
  spec->seed = static_cast<uint64_t>(a.seed);
  spec->batch_size = static_cast<uint64_t>(a.batch_size);
  spec->shuffle = a.shuffle;
  size_t next_file = 0;
  for (size_t f = 0; f < formats; ++f) {
    const auto files = static_cast<size_t>(a.files_per_format[f]);
    OP_REQUIRES(ctx, files <= a.file_counts.size() - next_file,
                absl::InvalidArgumentError(
                    "files_per_format names more files than file_counts has"));
    FormatSpec format;
    for (size_t i = 0; i < files; ++i) {
      format.files.push_back(static_cast<uint64_t>(a.file_counts[next_file++]));
    }
    format.cached = static_cast<uint64_t>(a.cached[f]);
    format.fill = static_cast<uint64_t>(a.fill[f]);
    spec->formats.push_back(std::move(format));
  }
  // Names every wrong argument now rather than at the first batch.
  std::unique_ptr<EpochPlan> probe;
  const Status valid = EpochPlan::Create(spec, 0, NothingHeld(*spec), &probe);
  OP_REQUIRES_OK(ctx, ToTf(valid));

  Snapshot* snapshot = nullptr;
  OP_REQUIRES_OK(ctx, ctx->resource_manager()->LookupOrCreate<Snapshot>(
                          ctx->resource_manager()->default_container(),
                          a.snapshot, &snapshot, [](Snapshot** created) {
                            *created = new Snapshot();
                            return absl::OkStatus();
                          }));
  tensorflow::core::RefCountPtr<Snapshot> owned(snapshot);
  Snapshot::Config config;
  config.spec = spec;
  config.formats.assign(a.formats.begin(), a.formats.end());
  config.cache_bytes = static_cast<uint64_t>(a.cache_bytes);
  config.initial_epoch = a.initial_epoch;
  config.initial_step = static_cast<uint64_t>(a.initial_step);
  OP_REQUIRES_OK(ctx, ToTf(owned->Configure(config)));
  *output = new Dataset(ctx, std::move(a), std::move(inputs), std::move(spec),
                        std::move(owned));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>InterleaveDataset").Device(tensorflow::DEVICE_CPU),
    InterleaveDatasetOp);

}  // namespace
}  // namespace liquid
