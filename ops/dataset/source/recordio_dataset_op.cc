// Liquid>RecordIODataset: the records of RecordIO files, or of a part of them.
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/dataset.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/tf_status.h"
#include "ops/reader/range_reader.h"
#include "tensorflow/core/framework/dataset.h"

namespace liquid {
namespace {

namespace tfd = ::tensorflow::data;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

constexpr int64_t kRangeColumns = 6;  // see Liquid>SplitRecords
constexpr char kRange[] = "range";
constexpr char kPosition[] = "position";
constexpr char kRecords[] = "records";

struct Arguments {
  std::vector<tstring> paths;
  Tensor ranges;
  int64_t depth = 0;
  int64_t block_bytes = 0;
  tstring reader;
  bool repair = false;
};

class RecordIOIterator;

class RecordIODataset : public DatasetOf<RecordIODataset, RecordIOIterator> {
 public:
  static constexpr char kName[] = "LiquidRecordIO";

  RecordIODataset(OpKernelContext* ctx, Arguments arguments, ReadMode mode,
                  std::vector<FileRange> ranges)
      : DatasetOf(ctx, {}, tensorflow::DT_STRING),
        arguments_(std::move(arguments)),
        ranges_(std::move(ranges)) {
    options_.mode = mode;
    options_.depth = static_cast<int>(arguments_.depth);
    options_.block_bytes = static_cast<uint64_t>(arguments_.block_bytes);
    options_.repair = arguments_.repair;
  }

  const std::vector<FileRange>& ranges() const { return ranges_; }
  const RangeReaderOptions& options() const { return options_; }

  int64_t CardinalityInternal(tfd::CardinalityOptions) const override {
    int64_t records = 0;
    for (const FileRange& range : ranges_) {
      if (range.records < 0 || options_.repair) return tfd::kUnknownCardinality;
      records += range.records;
    }
    return records;
  }

 protected:
  absl::Status AsGraphDefInternal(tfd::SerializationContext* ctx,
                                  DatasetGraphDefBuilder* b,
                                  tensorflow::Node** output) const override {
    const Arguments& a = arguments_;
    std::vector<tensorflow::Node*> inputs(5);
    TF_RETURN_IF_ERROR(b->AddVector(a.paths, &inputs[0]));
    TF_RETURN_IF_ERROR(b->AddTensor(a.ranges, &inputs[1]));
    TF_RETURN_IF_ERROR(b->AddScalar(a.depth, &inputs[2]));
    TF_RETURN_IF_ERROR(b->AddScalar(a.block_bytes, &inputs[3]));
    TF_RETURN_IF_ERROR(b->AddScalar(a.reader, &inputs[4]));
    tensorflow::AttrValue repair;
    b->BuildAttrValue(a.repair, &repair);
    return b->AddDataset(this, inputs, {{"repair", repair}}, output);
  }

 private:
  const Arguments arguments_;
  const std::vector<FileRange> ranges_;
  RangeReaderOptions options_;
};

class RecordIOIterator : public SourceIterator<RecordIODataset> {
 public:
  using SourceIterator::SourceIterator;

 protected:
  absl::Status GetNextInternal(tfd::IteratorContext* ctx,
                               std::vector<Tensor>* out_tensors,
                               bool* end_of_sequence) override {
    std::unique_lock<std::mutex> lock(mu_);
    TF_RETURN_IF_ERROR(Start(ctx));
    ByteSpan payload;
    bool found;
    TF_RETURN_IF_ERROR(ToTf(reader_->Next(&payload, &found)));
    *end_of_sequence = !found;
    if (!found) return absl::OkStatus();
    Tensor record(ctx->allocator({}), tensorflow::DT_STRING, {});
    record.scalar<tstring>()().assign(
        reinterpret_cast<const char*>(payload.data), payload.size);
    out_tensors->push_back(std::move(record));
    return absl::OkStatus();
  }

  absl::Status SaveInternal(tfd::SerializationContext* ctx,
                            tfd::IteratorStateWriter* writer) override {
    std::unique_lock<std::mutex> lock(mu_);
    const Place place = Now();
    return WriteNumbers(writer,
                        {{kRange, static_cast<int64_t>(place.range)},
                         {kPosition, static_cast<int64_t>(place.position)},
                         {kRecords, place.records}});
  }

  absl::Status RestoreInternal(tfd::IteratorContext* ctx,
                               tfd::IteratorStateReader* reader) override {
    std::unique_lock<std::mutex> lock(mu_);
    int64_t range, position;
    TF_RETURN_IF_ERROR(ReadNumbers(reader, {{kRange, &range},
                                            {kPosition, &position},
                                            {kRecords, &start_.records}}));
    if (range < 0 || static_cast<size_t>(range) > dataset()->ranges().size() ||
        position < 0 || start_.records < 0) {
      return absl::DataLossError(
          "the checkpoint is of other RecordIO files: it stands in their "
          "range " +
          std::to_string(range) + " of " +
          std::to_string(dataset()->ranges().size()));
    }
    start_.range = static_cast<size_t>(range);
    start_.position = static_cast<uint64_t>(position);
    start_.begun = true;
    EndCancelling();
    reader_ = nullptr;
    return absl::OkStatus();
  }

 private:
  // Where the next record is.
  struct Place {
    size_t range = 0;       // of the dataset's
    uint64_t position = 0;  // in its file
    int64_t records = 0;    // of the range, before it
    bool begun = false;     // whether `position` counts
  };

  Place Now() const {
    if (reader_ == nullptr) return start_;
    Place place;
    place.range = start_.range + reader_->range();
    place.position = reader_->position();
    place.records = reader_->records();
    if (reader_->range() == 0) place.records += start_.records;
    place.begun = true;
    return place;
  }

  absl::Status Start(tfd::IteratorContext* ctx) {
    if (reader_ != nullptr) return absl::OkStatus();
    const auto& all = dataset()->ranges();
    std::vector<FileRange> ranges(all.begin() + start_.range, all.end());
    if (start_.begun && !ranges.empty()) {
      FileRange& first = ranges.front();
      first.range.begins_at_head =
          first.range.begins_at_head || start_.position > first.range.begin;
      first.range.begin = start_.position;
      if (first.records >= 0) first.records -= start_.records;
    }
    reader_ = std::make_shared<RangeReader>(
        std::move(ranges),
        MakeFileOpener(ctx->env(), {dataset()->options().mode}),
        dataset()->options(),
        [](const std::string& path, const RecordLoss& loss) {
          LOG(WARNING) << path << ": " << loss.length
                       << " bytes are passed over" << AtOffset(loss.offset)
                       << ": " << loss.reason;
        });
    return CancelBy(ctx, [reader = reader_]() { reader->Cancel(); });
  }

  std::mutex mu_;
  Place start_;                          // of the reader
  std::shared_ptr<RangeReader> reader_;  // made at the first GetNext
};

// Reads the rows of `ranges`. Error: InvalidArgument.
absl::Status ParseRanges(const Arguments& arguments,
                         std::vector<FileRange>* ranges) {
  const Tensor& table = arguments.ranges;
  if (table.dims() != 2 || table.dim_size(1) != kRangeColumns) {
    return absl::InvalidArgumentError("ranges (shape " +
                                      table.shape().DebugString() +
                                      ") must have shape [k, 6]");
  }
  const auto rows = table.matrix<int64_t>();
  for (int64_t i = 0; i < table.dim_size(0); ++i) {
    if (rows(i, 0) < 0 ||
        rows(i, 0) >= static_cast<int64_t>(arguments.paths.size()) ||
        rows(i, 1) < 0 || rows(i, 2) < 0) {
      return absl::InvalidArgumentError(
          "range " + std::to_string(i) +
          " must be of one of the paths, and begin and end at 0 or later");
    }
    FileRange range;
    range.path = arguments.paths[rows(i, 0)];
    range.range.begin = static_cast<uint64_t>(rows(i, 1));
    range.range.end = static_cast<uint64_t>(rows(i, 2));
    range.range.begins_at_head = rows(i, 3) != 0;
    range.range.ends_at_head = rows(i, 4) != 0;
    range.records = rows(i, 5);
    ranges->push_back(std::move(range));
  }
  return absl::OkStatus();
}

class RecordIODatasetOp : public tfd::DatasetOpKernel {
 public:
  explicit RecordIODatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("repair", &repair_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, tfd::DatasetBase** output) override;

 private:
  bool repair_;
};

void RecordIODatasetOp::MakeDataset(OpKernelContext* ctx,
                                    tfd::DatasetBase** output) {
  Arguments a;
  a.repair = repair_;
  OP_REQUIRES_OK(ctx,
                 tfd::ParseVectorArgument<tstring>(ctx, "paths", &a.paths));
  const Tensor* ranges_input;
  OP_REQUIRES_OK(ctx, ctx->input("ranges", &ranges_input));
  a.ranges = *ranges_input;
  OP_REQUIRES_OK(ctx,
                 tfd::ParseScalarArgument<int64_t>(ctx, "depth", &a.depth));
  OP_REQUIRES_OK(ctx, tfd::ParseScalarArgument<int64_t>(ctx, "block_bytes",
                                                        &a.block_bytes));
  OP_REQUIRES_OK(ctx,
                 tfd::ParseScalarArgument<tstring>(ctx, "reader", &a.reader));
  OP_REQUIRES(ctx, a.depth >= 1 && a.depth <= 256,
              absl::InvalidArgumentError("depth (" + std::to_string(a.depth) +
                                         ") must be in 1..256"));
  OP_REQUIRES(ctx,
              a.block_bytes >= 1 << 17 && a.block_bytes <= 8 << 20 &&
                  a.block_bytes % 4096 == 0,
              absl::InvalidArgumentError(
                  "block_bytes (" + std::to_string(a.block_bytes) +
                  ") must be a multiple of 4096 from 128 KiB to 8 MiB"));
  ReadMode mode;
  OP_REQUIRES_OK(ctx, ToTf(ParseReadMode(a.reader, &mode)));
  std::vector<FileRange> ranges;
  OP_REQUIRES_OK(ctx, ParseRanges(a, &ranges));
  *output = new RecordIODataset(ctx, std::move(a), mode, std::move(ranges));
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>RecordIODataset").Device(tensorflow::DEVICE_CPU),
    RecordIODatasetOp);

}  // namespace
}  // namespace liquid
