#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/containers/recordio/file_parts.h"
#include "ops/containers/recordio/fragment.h"
#include "ops/containers/recordio/record_index.h"
#include "ops/containers/recordio/record_scanner.h"
#include "ops/http/url.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {
namespace {

using ::tensorflow::DEVICE_CPU;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

constexpr int64_t kRangeColumns = 6;

// Checks the ranks of all inputs. Error: InvalidArgument.
absl::Status CheckRanks(OpKernelContext* context,
                        const std::vector<int>& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const TensorShape& shape = context->input(i).shape();
    if (shape.dims() != ranks[i]) {
      return absl::InvalidArgumentError(
          "input " + std::to_string(i) + " (shape " + shape.DebugString() +
          ") must have " + std::to_string(ranks[i]) + " dimensions");
    }
  }
  return absl::OkStatus();
}

// Moves values to an output of shape [values.size()].
template <typename T, typename V>
absl::Status SetVector(OpKernelContext* context, int index, V values) {
  Tensor* output;
  TF_RETURN_IF_ERROR(context->allocate_output(
      index, TensorShape({static_cast<int64_t>(values.size())}), &output));
  std::move(values.begin(), values.end(), output->vec<T>().data());
  return absl::OkStatus();
}

// Reads a file of any file system from an offset on.
class FileStream : public ByteStream {
 public:
  FileStream(const RandomFile* file, uint64_t offset, uint64_t end,
             size_t block)
      : file_(file), offset_(offset), end_(end), block_(block) {}

  Status Next(ByteSpan* bytes) override {
    *bytes = ByteSpan();
    const uint64_t size = std::min<uint64_t>(block_, end_ - offset_);
    if (size == 0) return OkStatus();
    ReadCount count;
    LIQUID_RETURN_IF_ERROR(file_->Read(offset_, size, &buffer_, bytes, &count));
    offset_ += size;
    return OkStatus();
  }

 private:
  const RandomFile* const file_;
  uint64_t offset_;
  const uint64_t end_;  // of the file
  const size_t block_;
  Buffer buffer_;
};

class ReadRecordsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckRanks(context, {0, 1, 0, 0, 0}));
    const std::string path = context->input(0).scalar<tstring>()();
    const std::string name = PublicPath(path);
    const Tensor& row = context->input(1);
    const int64_t max_bytes = context->input(3).scalar<int64_t>()();
    const int64_t block = context->input(4).scalar<int64_t>()();
    OP_REQUIRES(
        context, row.NumElements() == kRangeColumns,
        absl::InvalidArgumentError("range (shape " + row.shape().DebugString() +
                                   ") must have shape [6]"));
    OP_REQUIRES(
        context, max_bytes >= 1 && block >= 1 && block <= 1 << 30,
        absl::InvalidArgumentError("max_bytes (" + std::to_string(max_bytes) +
                                   ") must be at least 1, and block_bytes (" +
                                   std::to_string(block) + ") in [1, 2^30]"));
    const auto columns = row.vec<int64_t>();
    OP_REQUIRES(
        context, columns(1) >= 0 && columns(2) >= 0,
        absl::InvalidArgumentError("range (" + row.SummarizeValue(6) +
                                   ") must begin and end at 0 or later"));
    RecordRange range;
    range.begin = static_cast<uint64_t>(columns(1));
    range.end = static_cast<uint64_t>(columns(2));
    range.begins_at_head = columns(3) != 0;
    range.ends_at_head = columns(4) != 0;

    uint64_t size = 0;
    std::unique_ptr<RandomFile> file;
    OP_REQUIRES_OK(context, ToTf(OpenFile(context->env(), path, &file, &size)));
    OP_REQUIRES(
        context, range.begin <= size,
        absl::DataLossError(name + ": no record" + AtOffset(range.begin) +
                            ": the file ends at " + std::to_string(size)));
    FileStream stream(file.get(), range.begin, size,
                      static_cast<size_t>(block));
    RecordScanner scanner(name, range, context->input(2).scalar<bool>()(),
                          &stream);

    std::vector<tstring> records;
    std::vector<int64_t> offsets;
    int64_t next = -1;
    for (int64_t bytes = 0;;) {
      if (bytes >= max_bytes) {
        next = static_cast<int64_t>(scanner.position());
        break;
      }
      ByteSpan payload;
      bool found;
      const Status status = scanner.Next(&payload, &found);
      if (!status.ok() && !records.empty()) {
        // First what stands before the damage; the next call meets it again.
        next = static_cast<int64_t>(scanner.position());
        break;
      }
      OP_REQUIRES_OK(context, ToTf(status));
      if (!found) break;
      records.emplace_back(reinterpret_cast<const char*>(payload.data),
                           payload.size);
      offsets.push_back(static_cast<int64_t>(scanner.offset()));
      // An empty record counts, so that no call gathers without end.
      bytes += static_cast<int64_t>(payload.size) + 1;
    }
    std::vector<int64_t> lost_offsets, lost_lengths;
    std::vector<tstring> lost_reasons;
    for (const RecordLoss& loss : scanner.losses()) {
      lost_offsets.push_back(static_cast<int64_t>(loss.offset));
      lost_lengths.push_back(static_cast<int64_t>(loss.length));
      lost_reasons.emplace_back(loss.reason);
    }
    OP_REQUIRES_OK(context, SetVector<tstring>(context, 0, std::move(records)));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 1, std::move(offsets)));
    Tensor* output;
    OP_REQUIRES_OK(context,
                   context->allocate_output(2, TensorShape({}), &output));
    output->scalar<int64_t>()() = next;
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 3, lost_offsets));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 4, lost_lengths));
    OP_REQUIRES_OK(context, SetVector<tstring>(context, 5, lost_reasons));
  }
};

class ReadRecordIndexOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckRanks(context, {0}));
    std::vector<RecordIndexEntry> entries;
    OP_REQUIRES_OK(
        context, ToTf(ParseRecordIndex(
                     Bytes(context->input(0).scalar<tstring>()()), &entries)));
    std::vector<int64_t> keys, offsets;
    for (const RecordIndexEntry& entry : entries) {
      keys.push_back(entry.key);
      offsets.push_back(static_cast<int64_t>(entry.offset));
    }
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 0, keys));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 1, offsets));
  }
};

class WriteRecordIndexOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckRanks(context, {1, 1}));
    const auto keys = context->input(0).vec<int64_t>();
    const auto offsets = context->input(1).vec<int64_t>();
    OP_REQUIRES(
        context, keys.size() == offsets.size(),
        absl::InvalidArgumentError("keys and offsets must be as many, not " +
                                   std::to_string(keys.size()) + " and " +
                                   std::to_string(offsets.size())));
    std::vector<RecordIndexEntry> entries(keys.size());
    for (int64_t i = 0; i < keys.size(); ++i) {
      OP_REQUIRES(
          context, offsets(i) >= 0,
          absl::InvalidArgumentError("offset (" + std::to_string(offsets(i)) +
                                     ") must be at least 0"));
      entries[i] = {keys(i), static_cast<uint64_t>(offsets(i))};
    }
    std::string contents;
    AppendRecordIndex(entries, &contents);
    Tensor* output;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &output));
    output->scalar<tstring>()() = contents;
  }
};

class SplitRecordsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckRanks(context, {1, 1, 1, 0, 0}));
    std::vector<uint64_t> sizes, offsets, counts;
    OP_REQUIRES_OK(context, Unsigned(context, 0, "sizes", &sizes));
    OP_REQUIRES_OK(context, Unsigned(context, 1, "offsets", &offsets));
    OP_REQUIRES_OK(context, Unsigned(context, 2, "counts", &counts));
    const int64_t part = context->input(3).scalar<int64_t>()();
    const int64_t parts = context->input(4).scalar<int64_t>()();
    std::vector<PartOfFile> ranges;
    if (counts.empty()) {
      OP_REQUIRES_OK(context, ToTf(PartByBytes(sizes, part, parts, &ranges)));
    } else {
      std::vector<std::vector<uint64_t>> by_file;
      size_t begin = 0;
      for (const uint64_t count : counts) {
        OP_REQUIRES(context, count <= offsets.size() - begin,
                    absl::InvalidArgumentError(
                        "counts must not have more than the " +
                        std::to_string(offsets.size()) + " offsets"));
        const auto first = offsets.begin() + begin;
        by_file.emplace_back(first, first + count);
        begin += count;
      }
      OP_REQUIRES_OK(context, ToTf(PartByCount(sizes, std::move(by_file), part,
                                               parts, &ranges)));
    }
    Tensor* output;
    OP_REQUIRES_OK(
        context,
        context->allocate_output(
            0,
            TensorShape({static_cast<int64_t>(ranges.size()), kRangeColumns}),
            &output));
    auto rows = output->matrix<int64_t>();
    for (size_t i = 0; i < ranges.size(); ++i) {
      const PartOfFile& piece = ranges[i];
      const int64_t row[kRangeColumns] = {
          static_cast<int64_t>(piece.file),
          static_cast<int64_t>(piece.range.begin),
          static_cast<int64_t>(piece.range.end),
          piece.range.begins_at_head,
          piece.range.ends_at_head,
          piece.records};
      std::copy(std::begin(row), std::end(row), &rows(i, 0));
    }
  }

 private:
  static absl::Status Unsigned(OpKernelContext* context, int index,
                               const char* name,
                               std::vector<uint64_t>* values) {
    const auto input = context->input(index).vec<int64_t>();
    for (int64_t i = 0; i < input.size(); ++i) {
      if (input(i) < 0) {
        return absl::InvalidArgumentError(std::string(name) + " (" +
                                          std::to_string(input(i)) +
                                          ") must be at least 0");
      }
      values->push_back(static_cast<uint64_t>(input(i)));
    }
    return absl::OkStatus();
  }
};

REGISTER_KERNEL_BUILDER(Name("Liquid>ReadRecords").Device(DEVICE_CPU),
                        ReadRecordsOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>ReadRecordIndex").Device(DEVICE_CPU),
                        ReadRecordIndexOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>WriteRecordIndex").Device(DEVICE_CPU),
                        WriteRecordIndexOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>SplitRecords").Device(DEVICE_CPU),
                        SplitRecordsOp);

}  // namespace
}  // namespace liquid
