#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/codecs/pixels.h"
#include "ops/containers/recordio/check_record.h"
#include "ops/containers/recordio/dataset_index.h"
#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/parallel.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/env.h"

namespace liquid {
namespace {

using ::tensorflow::DEVICE_CPU;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

class ReadFileOp : public OpKernel {
 public:
  explicit ReadFileOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("max_bytes", &max_bytes_));
  }

  void Compute(OpKernelContext* context) override {
    std::string path;
    OP_REQUIRES_OK(context, Scalar(context, 0, &path));
    Tensor* contents;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &contents));
    tstring& bytes = contents->scalar<tstring>()();
    const Status status = Read(context->env(), path, &bytes);
    if (!status.ok()) bytes.clear();
    OP_REQUIRES_OK(context,
                   SetScalar<int64_t>(context, 1, Crc32c(Bytes(bytes))));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 2, status.message()));
  }

 private:
  Status Read(tensorflow::Env* env, const std::string& path,
              tstring* bytes) const {
    uint64_t size = 0;
    std::unique_ptr<RandomFile> file;
    LIQUID_RETURN_IF_ERROR(OpenFile(env, path, &file, &size));
    if (size > static_cast<uint64_t>(max_bytes_)) {
      return ResourceExhausted("file of " + std::to_string(size) +
                               " bytes is longer than " +
                               std::to_string(max_bytes_));
    }
    bytes->resize_uninitialized(size);
    ReadCount count;
    LIQUID_RETURN_IF_ERROR(file->ReadInto(0, {{bytes->mdata(), size}}, &count));
    return count.bytes == size ? OkStatus()
                               : file->Truncated(count.bytes, 0, size);
  }

  int64_t max_bytes_;
};

class Crc32cOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan contents;
    int64_t crc;
    OP_REQUIRES_OK(context, Scalar(context, 0, &contents));
    OP_REQUIRES_OK(context, Scalar(context, "crc", &crc));
    OP_REQUIRES(context, crc >= 0 && crc <= 0xffffffff,
                absl::InvalidArgumentError("crc (" + std::to_string(crc) +
                                           ") must be in [0, 2^32)"));
    OP_REQUIRES_OK(
        context,
        SetScalar<int64_t>(context, 0,
                           ExtendCrc32c(static_cast<uint32_t>(crc), contents)));
  }
};

class PackRecordOp : public OpKernel {
 public:
  explicit PackRecordOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, context->GetAttr("jpeg_index", &spacing_));
    OP_REQUIRES(
        context, spacing_ <= UINT32_MAX,
        absl::InvalidArgumentError("jpeg_index (" + std::to_string(spacing_) +
                                   ") must be below 2^32"));
  }

  void Compute(OpKernelContext* context) override {
    SampleRecord sample;
    int64_t id;
    OP_REQUIRES_OK(context, Scalar(context, 0, &sample.image));
    OP_REQUIRES_OK(context, Vector(context, "labels", &sample.labels));
    OP_REQUIRES_OK(context, Scalar(context, "id", &id));
    OP_REQUIRES_OK(context, Scalar(context, 3, &sample.example));
    sample.id = static_cast<uint64_t>(id);
    std::string index;
    // What is wrong with the file is for its decoder to say.
    if (spacing_ >= 0 &&
        AppendJpegIndex(sample.image, limits_, static_cast<uint32_t>(spacing_),
                        &index)
            .ok()) {
      sample.index = ByteSpan(index.data(), index.size());
    }

    std::string payload, framed;
    Status status = AppendSamplePayload(sample, &payload);
    if (status.ok()) {
      status = AppendRecord(ByteSpan(payload.data(), payload.size()), &framed);
    }
    OP_REQUIRES(
        context, status.ok(),
        ToTf(Status(status.code(), "sample " + std::to_string(sample.id) +
                                       ": " + status.message())));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, framed));
    OP_REQUIRES_OK(context, SetScalar(context, 1,
                                      static_cast<int64_t>(sample.index.size)));
  }

 private:
  DecodeLimits limits_;
  int64_t spacing_;
};

class UnpackRecordOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    std::string scratch;
    ByteSpan framed, payload;
    SampleRecord sample;
    OP_REQUIRES_OK(context, Scalar(context, 0, &framed));
    OP_REQUIRES_OK(context, ToTf(ParseRecord(framed, &scratch, &payload)));
    OP_REQUIRES_OK(context, ToTf(ParseSamplePayload(payload, &sample)));
    OP_REQUIRES_OK(context, SetScalar(context, 0, sample.image));
    OP_REQUIRES_OK(context, SetVector<float>(context, 1, sample.labels));
    OP_REQUIRES_OK(context,
                   SetScalar(context, 2, static_cast<int64_t>(sample.id)));
    OP_REQUIRES_OK(context, SetScalar(context, 3, sample.example));
    OP_REQUIRES_OK(context, SetScalar(context, 4, sample.index));
  }
};

class VerifyRecordsOp : public OpKernel {
 public:
  explicit VerifyRecordsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, context->GetAttr("decode", &decode_));
  }

  void Compute(OpKernelContext* context) override {
    std::string path;
    OP_REQUIRES_OK(context, Scalar(context, 0, &path));
    const Tensor& packed = context->input(1);
    OP_REQUIRES(context,
                packed.dims() == 2 &&
                    packed.dim_size(1) == static_cast<int64_t>(kIndexRowBytes),
                absl::InvalidArgumentError("rows (shape " +
                                           packed.shape().DebugString() +
                                           ") must have shape [n, 56]"));
    std::vector<IndexRow> rows;
    OP_REQUIRES_OK(context,
                   ToTf(ParseIndexRows(ByteSpan(packed.flat<uint8_t>().data(),
                                                packed.NumElements()),
                                       &rows)));
    const int64_t count = packed.dim_size(0);
    Tensor *problems, *examples, *counts, *index_bytes;
    OP_REQUIRES_OK(context, MakeVector(context, 0, count, &problems));
    OP_REQUIRES_OK(context, MakeVector(context, 1, count, &examples));
    OP_REQUIRES_OK(context, MakeVector(context, 3, count, &counts));
    OP_REQUIRES_OK(context, MakeVector(context, 4, count, &index_bytes));
    std::unique_ptr<RandomFile> file;
    uint64_t size = 0;
    OP_REQUIRES_OK(context, ToTf(OpenFile(context->env(), path, &file, &size)));

    auto problem = problems->vec<tstring>();
    auto example = examples->vec<tstring>();
    auto indexed = index_bytes->vec<int64_t>();
    indexed.setZero();
    std::vector<std::vector<float>> labels(count);
    // One record costs far more than handing it to a thread.
    constexpr int64_t kCost = 10 * 1000 * 1000;
    ParallelFor(context, count, kCost, [&](int64_t begin, int64_t end) {
      std::string scratch;
      Buffer framed;
      std::vector<uint8_t> pixels;
      for (int64_t i = begin; i < end; ++i) {
        SampleRecord sample;
        const Status status =
            Verify(*file, size, rows[i], &framed, &scratch, &pixels, &sample);
        problem(i) = status.message();
        if (!status.ok()) continue;
        Assign(sample.example, &example(i));
        indexed(i) = static_cast<int64_t>(sample.index.size);
        labels[i] = std::move(sample.labels);
      }
    });
    int64_t all = 0;
    for (int64_t i = 0; i < count; ++i) {
      counts->vec<int64_t>()(i) = static_cast<int64_t>(labels[i].size());
      all += counts->vec<int64_t>()(i);
    }
    Tensor* values;
    OP_REQUIRES_OK(context, MakeVector(context, 2, all, &values));
    float* next = values->vec<float>().data();
    for (const std::vector<float>& one : labels) {
      next = std::copy(one.begin(), one.end(), next);
    }
  }

 private:
  // The spans of `*sample` point into `*framed` or `*scratch`.
  Status Verify(const RandomFile& file, uint64_t file_size, const IndexRow& row,
                Buffer* framed, std::string* scratch,
                std::vector<uint8_t>* pixels, SampleRecord* sample) const {
    if (row.offset > file_size || row.length > file_size - row.offset) {
      return DataLoss("ends at " + std::to_string(row.offset + row.length) +
                      ", past the end of the file at " +
                      std::to_string(file_size));
    }
    ByteSpan read;
    ReadCount count;
    const Status status =
        file.Read(row.offset, row.length, framed, &read, &count);
    if (!status.ok()) return DataLoss("cannot be read: " + status.message());
    LIQUID_RETURN_IF_ERROR(CheckRecord(read, row, scratch, sample));
    if (!decode_) return OkStatus();
    LIQUID_RETURN_IF_ERROR(CheckPixels(static_cast<Format>(row.format),
                                       sample->image, limits_, row.image(),
                                       row.pixels_hash, pixels));
    return CheckIndex(*sample, row, limits_);
  }

  DecodeLimits limits_;
  bool decode_;
};

REGISTER_KERNEL_BUILDER(Name("Liquid>ReadFile").Device(DEVICE_CPU), ReadFileOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>Crc32c").Device(DEVICE_CPU), Crc32cOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>PackRecord").Device(DEVICE_CPU),
                        PackRecordOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>UnpackRecord").Device(DEVICE_CPU),
                        UnpackRecordOp);
REGISTER_KERNEL_BUILDER(Name("Liquid>VerifyRecords").Device(DEVICE_CPU),
                        VerifyRecordsOp);

}  // namespace
}  // namespace liquid
