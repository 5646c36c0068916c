// Liquid>InterleaveDataset: the dataset, and the snapshot where there is none.
#include "ops/dataset/interleave/interleave_dataset.h"

#include <algorithm>
#include <utility>

#include "ops/dataset/interleave/interleave_iterator.h"
#include "ops/dataset/snapshot_resource.h"
#include "ops/kernel/tf_status.h"
#include "ops/sampler/planner.h"
#include "tensorflow/core/platform/logging.h"

namespace liquid {

namespace tfd = ::tensorflow::data;

namespace {

// Inputs that are lists of datasets.
constexpr const char* kLists[] = {"input_datasets", "fidelity", "mixes"};

absl::Status ReadDatasets(tensorflow::OpKernelContext* ctx, const char* name,
                          InterleaveDataset::Datasets* datasets) {
  tensorflow::OpInputList list;
  TF_RETURN_IF_ERROR(ctx->input_list(name, &list));
  for (const tensorflow::Tensor& given : list) {
    tfd::DatasetBase* dataset;
    TF_RETURN_IF_ERROR(tfd::GetDatasetFromVariantTensor(given, &dataset));
    datasets->push_back(dataset);
  }
  return absl::OkStatus();
}

InterleaveDataset::Datasets AllOf(const InterleaveDataset::Lists& lists) {
  InterleaveDataset::Datasets all;
  for (const auto& list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

template <typename T>
Span<T> SpanOf(const tensorflow::Tensor& vector) {
  const auto values = vector.vec<T>();
  return {values.data(), static_cast<size_t>(values.size())};
}

}  // namespace

absl::Status InterleaveInputs::Read(tensorflow::OpKernelContext* ctx) {
  TF_RETURN_IF_ERROR(ReadPlan(ctx, &plan, &draws.message));
  TF_RETURN_IF_ERROR(ReadVector(ctx, "range", &range));
  TF_RETURN_IF_ERROR(ReadVector(ctx, "groups", &groups));
  TF_RETURN_IF_ERROR(ReadVector(ctx, "record_blocks", &record_blocks));
  draws.groups = SpanOf<uint16_t>(groups);
  draws.record_blocks = SpanOf<uint32_t>(record_blocks);
  TF_RETURN_IF_ERROR(ToTf(draws.SetRange(SpanOf<int64_t>(range))));
  TF_RETURN_IF_ERROR(tfd::ParseScalarArgument(ctx, "snapshot", &snapshot));
  if (snapshot.empty()) {
    return absl::InvalidArgumentError("snapshot (\"\") must be a name");
  }
  return absl::OkStatus();
}

InterleaveDataset::InterleaveDataset(tensorflow::OpKernelContext* ctx,
                                     InterleaveInputs inputs, Lists lists,
                                     std::shared_ptr<const PlanSpec> spec,
                                     std::shared_ptr<Snapshot> snapshot)
    : DatasetOf(ctx, AllOf(lists), tensorflow::DT_VARIANT),
      inputs_(std::move(inputs)),
      lists_(std::move(lists)),
      spec_(std::move(spec)),
      fingerprint_(Fingerprint(*spec_, message().view)),
      snapshot_(std::move(snapshot)) {}

absl::Status InterleaveDataset::Make(tensorflow::OpKernelContext* ctx,
                                     tfd::DatasetBase** output) {
  InterleaveInputs inputs;
  TF_RETURN_IF_ERROR(inputs.Read(ctx));
  Lists lists;
  for (size_t i = 0; i < lists.size(); ++i) {
    TF_RETURN_IF_ERROR(ReadDatasets(ctx, kLists[i], &lists[i]));
  }
  if (lists[1].size() > 1) {
    return absl::InvalidArgumentError("fidelity must be one dataset or none");
  }
  if (lists[2].size() != (inputs.draws.message.plan.sections.empty() ? 0 : 1)) {
    return absl::InvalidArgumentError(
        "mixes must be one dataset where there are sections, or none");
  }
  std::shared_ptr<const PlanSpec> spec;
  TF_RETURN_IF_ERROR(ToTf(inputs.draws.MakeSpec(lists[0].size(), &spec)));

  std::shared_ptr<Snapshot> snapshot;
  TF_RETURN_IF_ERROR(
      SnapshotResource::Find(ctx, inputs.snapshot, true, &snapshot));
  Snapshot::Config config;
  TF_RETURN_IF_ERROR(ToTf(inputs.draws.MakeConfig(spec, &config)));
  config.tier.warn = [](const std::string& why) {
    LOG(WARNING) << "the tier of the cache is off, and training goes on "
                    "without it: "
                 << why;
  };
  TF_RETURN_IF_ERROR(ToTf(snapshot->Configure(config)));
  *output = new InterleaveDataset(ctx, std::move(inputs), std::move(lists),
                                  std::move(spec), std::move(snapshot));
  return absl::OkStatus();
}

int64_t InterleaveDataset::CardinalityInternal(
    tfd::CardinalityOptions options) const {
  const uint64_t batch = spec_->batch_size;
  const uint64_t end = draws().EndDraw(samples());
  const uint64_t last =
      message().drop_remainder ? end / batch : (end + batch - 1) / batch;
  const auto first = static_cast<uint64_t>(draws().first_step);
  return static_cast<int64_t>(last - std::min(last, first));
}

absl::Status InterleaveDataset::CheckExternalState() const {
  for (const tfd::DatasetBase* input : datasets()) {
    TF_RETURN_IF_ERROR(input->CheckExternalState());
  }
  return absl::OkStatus();
}

uint64_t InterleaveDataset::samples() const { return EpochSize(*spec_); }

absl::Status InterleaveDataset::AsGraphDefInternal(
    tfd::SerializationContext* ctx, DatasetGraphDefBuilder* b,
    tensorflow::Node** output) const {
  std::vector<std::vector<tensorflow::Node*>> lists;
  for (const Datasets& list : lists_) {
    lists.emplace_back();
    for (const tfd::DatasetBase* input : list) {
      lists.back().emplace_back();
      TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input, &lists.back().back()));
    }
  }
  std::vector<tensorflow::Node*> nodes(5);
  TF_RETURN_IF_ERROR(b->AddScalar(inputs_.plan, &nodes[0]));
  TF_RETURN_IF_ERROR(b->AddTensor(inputs_.range, &nodes[1]));
  TF_RETURN_IF_ERROR(b->AddTensor(inputs_.groups, &nodes[2]));
  TF_RETURN_IF_ERROR(b->AddTensor(inputs_.record_blocks, &nodes[3]));
  TF_RETURN_IF_ERROR(b->AddScalar(inputs_.snapshot, &nodes[4]));
  std::vector<std::pair<size_t, tensorflow::Node*>> inputs;
  for (size_t i = 0; i < nodes.size(); ++i) {
    inputs.emplace_back(i + 3, nodes[i]);
  }
  return b->AddDataset(
      this, inputs, {{0, lists[0]}, {1, lists[1]}, {2, lists[2]}}, {}, output);
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>InterleaveDataset").Device(tensorflow::DEVICE_CPU),
    DatasetOp<InterleaveDataset>);

}  // namespace liquid
