// Liquid>FormatDataset: reads one format's records ahead of their use.
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/dataset.h"
#include "ops/dataset/source/plan_context.h"
#include "ops/dataset/source/record_block.h"
#include "ops/engine/format_stream.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/tf_status.h"
#include "ops/reader/open_shards.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/profiler/lib/traceme.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;
using ::tensorflow::profiler::TraceMe;
using ::tensorflow::profiler::TraceMeEncode;

class FormatIterator;

class FormatDataset : public DatasetOf<FormatDataset, FormatIterator> {
 public:
  static constexpr char kName[] = "LiquidFormat";

  static absl::Status Make(OpKernelContext* ctx, tfd::DatasetBase** output) {
    tstring plan;
    Tensor chosen;  // uint8, a bit for each sample number
    FormatFiles files;
    TF_RETURN_IF_ERROR(ReadPlan(ctx, &plan, &files.message));
    TF_RETURN_IF_ERROR(
        ToTf(FormatFiles::CheckMessage(files.message, &files.mode)));
    TF_RETURN_IF_ERROR(ReadVector(ctx, "chosen", &chosen));
    FileAccess access;
    access.patience = static_cast<double>(files.message.patience);
    access.mode = files.mode;
    const auto bits = chosen.vec<uint8_t>();
    TF_RETURN_IF_ERROR(ToTf(OpenShards(
        files.message, ByteSpan(bits.data(), static_cast<size_t>(bits.size())),
        MakeOpener(ctx->env(), access), &files.opened)));
    *output = new FormatDataset(ctx, std::move(plan), std::move(chosen),
                                std::move(files));
    return absl::OkStatus();
  }

  const FormatFiles& files() const { return files_; }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    std::vector<tensorflow::Node*> nodes(2);
    TF_RETURN_IF_ERROR(b->AddScalar(plan_, &nodes[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(chosen_, &nodes[1]));
    return b->AddDataset(this, nodes, {}, output);
  }

 private:
  FormatDataset(OpKernelContext* ctx, tstring plan, Tensor chosen,
                FormatFiles files)
      : DatasetOf(ctx, {}, tensorflow::DT_VARIANT),
        plan_(std::move(plan)),
        chosen_(std::move(chosen)),
        files_(std::move(files)) {}

  // As given, so that the dataset can be serialized again.
  const tstring plan_;
  const Tensor chosen_;
  const FormatFiles files_;
};

class FormatIterator : public SourceIterator<FormatDataset> {
 public:
  using SourceIterator::SourceIterator;

 protected:
  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    std::unique_lock<std::mutex> lock(mu_);
    TF_RETURN_IF_ERROR(Start(ctx));
    RecordBlock block;
    {
      TraceMe trace([this]() {
        return TraceMeEncode("Liquid Records wait",
                             {{"format", dataset()->files().message.format}});
      });
      TF_RETURN_IF_ERROR(ToTf(stream_->Next(&block)));
    }
    *end_of_sequence = block.items.empty();
    if (!*end_of_sequence) out_tensors->push_back(ToTensor(std::move(block)));
    return absl::OkStatus();
  }

  // Of an interleave's source nothing is saved: the plan says what is read.
  absl::Status SaveInternal(tfd::SerializationContext* ctx,
                            tfd::IteratorStateWriter* writer) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (stream_ == nullptr) {
      return WriteNumbers(writer,
                          {{"records", records_}, {"samples", samples_}});
    }
    if (stream_->planned()) return absl::OkStatus();
    return WriteNumbers(
        writer, {{"records", static_cast<int64_t>(stream_->records())},
                 {"samples", static_cast<int64_t>(stream_->samples())}});
  }
  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (!reader->Contains(prefix(), "records")) return absl::OkStatus();
    return ReadNumbers(reader,
                       {{"records", &records_}, {"samples", &samples_}});
  }

 private:
  // Starts reading at the first GetNext, when the interleave has its plan.
  absl::Status Start(tfd::IteratorContext* ctx) {
    if (stream_ != nullptr) return absl::OkStatus();
    tensorflow::core::RefCountPtr<PlanContext> context;
    const absl::Status found = FindContext(ctx, &context);
    if (!absl::IsNotFound(found)) TF_RETURN_IF_ERROR(found);
    TF_RETURN_IF_ERROR(ToTf(FormatStream::Create(
        dataset()->files(), context == nullptr ? nullptr : &context->plan,
        static_cast<uint64_t>(records_), &stream_)));
    stream_->set_samples(static_cast<uint64_t>(samples_));
    return CancelBy(ctx, [reads = stream_->stream()]() { reads->Cancel(); });
  }

  std::mutex mu_;
  // Where it begins, of a source by itself.
  int64_t records_ = 0;
  int64_t samples_ = 0;
  std::unique_ptr<FormatStream> stream_;
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>FormatDataset").Device(tensorflow::DEVICE_CPU),
    DatasetOp<FormatDataset>);

}  // namespace
}  // namespace liquid
