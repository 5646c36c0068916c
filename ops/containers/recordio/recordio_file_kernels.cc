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
#include "ops/kernel/open_file.h"
#include "ops/kernel/tf_status.h"
#include "ops/kernel/values.h"
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
    std::string path;
    std::vector<int64_t> columns;
    bool repair;
    int64_t max_bytes, block;
    OP_REQUIRES_OK(context, Scalar(context, 0, &path));
    OP_REQUIRES_OK(context, Vector(context, 1, &columns));
    OP_REQUIRES_OK(context, Scalar(context, 2, &repair));
    OP_REQUIRES_OK(context, Scalar(context, 3, &max_bytes));
    OP_REQUIRES_OK(context, Scalar(context, 4, &block));
    const std::string name = PublicPath(path);
    OP_REQUIRES(context, columns.size() == kRangeColumns,
                absl::InvalidArgumentError("range (shape [" +
                                           std::to_string(columns.size()) +
                                           "]) must have shape [6]"));
    OP_REQUIRES(
        context, max_bytes >= 1 && block >= 1 && block <= 1 << 30,
        absl::InvalidArgumentError("max_bytes (" + std::to_string(max_bytes) +
                                   ") must be at least 1, and block_bytes (" +
                                   std::to_string(block) + ") in [1, 2^30]"));
    OP_REQUIRES(context, columns[1] >= 0 && columns[2] >= 0,
                absl::InvalidArgumentError(
                    "range (" + context->input(1).SummarizeValue(6) +
                    ") must begin and end at 0 or later"));
    RecordRange range;
    range.begin = static_cast<uint64_t>(columns[1]);
    range.end = static_cast<uint64_t>(columns[2]);
    range.begins_at_head = columns[3] != 0;
    range.ends_at_head = columns[4] != 0;

    uint64_t size = 0;
    std::unique_ptr<RandomFile> file;
    OP_REQUIRES_OK(context, ToTf(OpenFile(context->env(), path, &file, &size)));
    OP_REQUIRES(
        context, range.begin <= size,
        absl::DataLossError(name + ": no record" + AtOffset(range.begin) +
                            ": the file ends at " + std::to_string(size)));
    FileStream stream(file.get(), range.begin, size,
                      static_cast<size_t>(block));
    RecordScanner scanner(name, range, repair, &stream);

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
    OP_REQUIRES_OK(context, SetScalar(context, 2, next));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 3, lost_offsets));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 4, lost_lengths));
    OP_REQUIRES_OK(context, SetVector<tstring>(context, 5, lost_reasons));
  }
};

class ReadRecordIndexOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan contents;
    OP_REQUIRES_OK(context, Scalar(context, 0, &contents));
    std::vector<RecordIndexEntry> entries;
    OP_REQUIRES_OK(context, ToTf(ParseRecordIndex(contents, &entries)));
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
    std::vector<int64_t> keys, offsets;
    OP_REQUIRES_OK(context, Vector(context, 0, &keys));
    OP_REQUIRES_OK(context, Vector(context, 1, &offsets));
    OP_REQUIRES(
        context, keys.size() == offsets.size(),
        absl::InvalidArgumentError("keys and offsets must be as many, not " +
                                   std::to_string(keys.size()) + " and " +
                                   std::to_string(offsets.size())));
    std::vector<RecordIndexEntry> entries(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      OP_REQUIRES(
          context, offsets[i] >= 0,
          absl::InvalidArgumentError("offset (" + std::to_string(offsets[i]) +
                                     ") must be at least 0"));
      entries[i] = {keys[i], static_cast<uint64_t>(offsets[i])};
    }
    std::string contents;
    AppendRecordIndex(entries, &contents);
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, contents));
  }
};

class SplitRecordsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    std::vector<uint64_t> sizes, offsets, counts;
    OP_REQUIRES_OK(context, Counts(context, "sizes", &sizes));
    OP_REQUIRES_OK(context, Counts(context, "offsets", &offsets));
    OP_REQUIRES_OK(context, Counts(context, "counts", &counts));
    int64_t part, parts;
    OP_REQUIRES_OK(context, Scalar(context, 3, &part));
    OP_REQUIRES_OK(context, Scalar(context, 4, &parts));
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
