#include "ops/dataset/interleave/interleave_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/core/crc32c.h"
#include "ops/dataset/interleave/interleave_iterator.h"

namespace liquid {

namespace tfd = ::tensorflow::data;

namespace {

// What is cached may differ (Snapshot::Restore). `view`: which samples are
// read.
int64_t Fingerprint(const PlanSpec& spec, int64_t view) {
  std::string text = absl::StrCat(kPlanVersion, "/", view, "/", spec.seed, "/",
                                  spec.batch_size, "/", spec.shuffle, "/",
                                  static_cast<int>(spec.policy));
  for (const FormatSpec& format : spec.formats) {
    // The fill of a section is as the mix is.
    absl::StrAppend(&text, ";",
                    HasSections(spec) ? "part" : absl::StrCat(format.fill), ":",
                    absl::StrJoin(format.files, ","));
    if (!format.record_samples.empty()) {
      absl::StrAppend(&text, ":", absl::StrJoin(format.record_samples, ","));
    }
    // Unlike a mix, it has the same sections in all epochs.
    if (format.groups != kFullFidelity) {
      absl::StrAppend(&text, ":groups ", format.groups, " of ", format.count);
    }
  }
  if (spec.weights != nullptr) {
    absl::StrAppend(&text, ";weights:", spec.weights->fingerprint());
  }
  return int64_t{Crc32c(ByteSpan(text.data(), text.size()))};
}

}  // namespace

InterleaveDataset::InterleaveDataset(
    tensorflow::OpKernelContext* ctx, InterleaveInputs inputs,
    std::vector<tfd::DatasetBase*> datasets, tfd::DatasetBase* fidelity,
    tfd::DatasetBase* mixes, std::shared_ptr<const PlanSpec> spec,
    tensorflow::core::RefCountPtr<Snapshot> snapshot)
    : DatasetBase(tfd::DatasetContext(ctx)),
      inputs_(std::move(inputs)),
      datasets_(std::move(datasets)),
      fidelity_(fidelity),
      mixes_(mixes),
      spec_(std::move(spec)),
      fingerprint_(Fingerprint(*spec_, inputs_.message.view)),
      snapshot_(std::move(snapshot)) {
  for (tfd::DatasetBase* input : datasets_) input->Ref();
  for (tfd::DatasetBase* asked : {fidelity_, mixes_}) {
    if (asked != nullptr) asked->Ref();
  }
}

InterleaveDataset::~InterleaveDataset() {
  for (tfd::DatasetBase* input : datasets_) input->Unref();
  for (tfd::DatasetBase* asked : {fidelity_, mixes_}) {
    if (asked != nullptr) asked->Unref();
  }
}

std::unique_ptr<tfd::IteratorBase> InterleaveDataset::MakeIteratorInternal(
    const std::string& prefix) const {
  return std::make_unique<InterleaveIterator>(
      InterleaveIterator::Params{this, prefix + "::LiquidInterleave"});
}

const tensorflow::DataTypeVector& InterleaveDataset::output_dtypes() const {
  static const auto* const kTypes =
      new tensorflow::DataTypeVector({tensorflow::DT_VARIANT});
  return *kTypes;
}

const std::vector<tensorflow::PartialTensorShape>&
InterleaveDataset::output_shapes() const {
  static const auto* const kShapes =
      new std::vector<tensorflow::PartialTensorShape>(
          {tensorflow::PartialTensorShape({})});
  return *kShapes;
}

std::string InterleaveDataset::DebugString() const {
  return "Liquid>InterleaveDatasetOp::Dataset";
}

int64_t InterleaveDataset::CardinalityInternal(
    tfd::CardinalityOptions options) const {
  const uint64_t batch = spec_->batch_size;
  const uint64_t end = inputs_.EndDraw(samples());
  const uint64_t last =
      inputs_.message.drop_remainder ? end / batch : (end + batch - 1) / batch;
  const auto first = static_cast<uint64_t>(inputs_.first_step);
  return static_cast<int64_t>(last - std::min(last, first));
}

absl::Status InterleaveDataset::InputDatasets(
    std::vector<const tfd::DatasetBase*>* inputs) const {
  inputs->assign(datasets_.begin(), datasets_.end());
  for (tfd::DatasetBase* asked : {fidelity_, mixes_}) {
    if (asked != nullptr) inputs->push_back(asked);
  }
  return absl::OkStatus();
}

absl::Status InterleaveDataset::CheckExternalState() const {
  for (const tfd::DatasetBase* input : datasets_) {
    TF_RETURN_IF_ERROR(input->CheckExternalState());
  }
  return absl::OkStatus();
}

uint64_t InterleaveDataset::samples() const { return EpochSize(*spec_); }

absl::Status InterleaveDataset::AsGraphDefInternal(
    tfd::SerializationContext* ctx, DatasetGraphDefBuilder* b,
    tensorflow::Node** output) const {
  std::vector<tensorflow::Node*> datasets;
  for (const tfd::DatasetBase* input : datasets_) {
    datasets.emplace_back();
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, input, &datasets.back()));
  }
  std::vector<tensorflow::Node*> fidelity, mixes;
  for (auto [asked, asked_nodes] :
       {std::make_pair(fidelity_, &fidelity), std::make_pair(mixes_, &mixes)}) {
    if (asked == nullptr) continue;
    asked_nodes->emplace_back();
    TF_RETURN_IF_ERROR(b->AddInputDataset(ctx, asked, &asked_nodes->back()));
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
  return b->AddDataset(this, inputs, {{0, datasets}, {1, fidelity}, {2, mixes}},
                       {}, output);
}

}  // namespace liquid
