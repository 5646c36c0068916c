#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/codecs/codec.h"
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
using ::tensorflow::TensorShapeUtils;
using ::tensorflow::tstring;

// Reads a scalar string input. Error: InvalidArgument.
absl::Status ScalarInput(OpKernelContext* context, int index,
                         const tstring** value) {
  const Tensor& tensor = context->input(index);
  if (!TensorShapeUtils::IsScalar(tensor.shape())) {
    return absl::InvalidArgumentError(
        "input " + std::to_string(index) + " (shape " +
        tensor.shape().DebugString() + ") must be a scalar");
  }
  *value = &tensor.scalar<tstring>()();
  return absl::OkStatus();
}

std::string Size(const ImageInfo& info) {
  return std::to_string(info.height) + " x " + std::to_string(info.width) +
         " x " + std::to_string(info.channels) + " of " +
         std::to_string(info.bits) + " bits";
}

class ReadFileOp : public OpKernel {
 public:
  explicit ReadFileOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("max_bytes", &max_bytes_));
  }

  void Compute(OpKernelContext* context) override {
    const tstring* path;
    OP_REQUIRES_OK(context, ScalarInput(context, 0, &path));
    Tensor* contents;
    Tensor* crc;
    Tensor* error;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &contents));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({}), &crc));
    OP_REQUIRES_OK(context,
                   context->allocate_output(2, TensorShape({}), &error));
    tstring& bytes = contents->scalar<tstring>()();
    const Status status = Read(context->env(), *path, &bytes);
    if (!status.ok()) {
      bytes.clear();
      error->scalar<tstring>()() = status.message();
    }
    crc->scalar<int64_t>()() = Crc32c(Bytes(bytes));
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
    const tstring* contents;
    OP_REQUIRES_OK(context, ScalarInput(context, 0, &contents));
    const Tensor& start = context->input(1);
    OP_REQUIRES(context, TensorShapeUtils::IsScalar(start.shape()),
                absl::InvalidArgumentError("crc must be a scalar"));
    const int64_t crc = start.scalar<int64_t>()();
    OP_REQUIRES(context, crc >= 0 && crc <= 0xffffffff,
                absl::InvalidArgumentError("crc (" + std::to_string(crc) +
                                           ") must be in [0, 2^32)"));
    Tensor* result;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &result));
    result->scalar<int64_t>()() =
        ExtendCrc32c(static_cast<uint32_t>(crc), Bytes(*contents));
  }
};

class PackRecordOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const tstring* image;
    const tstring* example;
    OP_REQUIRES_OK(context, ScalarInput(context, 0, &image));
    OP_REQUIRES_OK(context, ScalarInput(context, 3, &example));
    const Tensor& labels = context->input(1);
    const Tensor& id = context->input(2);
    OP_REQUIRES(
        context,
        TensorShapeUtils::IsVector(labels.shape()) &&
            TensorShapeUtils::IsScalar(id.shape()),
        absl::InvalidArgumentError("labels must be a vector and id a scalar"));
    SampleRecord sample;
    sample.id = static_cast<uint64_t>(id.scalar<int64_t>()());
    const auto values = labels.vec<float>();
    sample.labels.assign(values.data(), values.data() + values.size());
    sample.image = Bytes(*image);
    sample.example = Bytes(*example);

    std::string payload, framed;
    Status status = AppendSamplePayload(sample, &payload);
    if (status.ok()) {
      status = AppendRecord(ByteSpan(payload.data(), payload.size()), &framed);
    }
    OP_REQUIRES(
        context, status.ok(),
        ToTf(Status(status.code(), "sample " + std::to_string(sample.id) +
                                       ": " + status.message())));
    Tensor* result;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &result));
    result->scalar<tstring>()() = framed;
  }
};

class UnpackRecordOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const tstring* framed;
    OP_REQUIRES_OK(context, ScalarInput(context, 0, &framed));
    std::string scratch;
    ByteSpan payload;
    SampleRecord sample;
    OP_REQUIRES_OK(context,
                   ToTf(ParseRecord(Bytes(*framed), &scratch, &payload)));
    OP_REQUIRES_OK(context, ToTf(ParseSamplePayload(payload, &sample)));
    Tensor* image;
    Tensor* labels;
    Tensor* id;
    Tensor* example;
    const int64_t count = static_cast<int64_t>(sample.labels.size());
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &image));
    OP_REQUIRES_OK(context,
                   context->allocate_output(1, TensorShape({count}), &labels));
    OP_REQUIRES_OK(context, context->allocate_output(2, TensorShape({}), &id));
    OP_REQUIRES_OK(context,
                   context->allocate_output(3, TensorShape({}), &example));
    Assign(sample.image, &image->scalar<tstring>()());
    std::copy(sample.labels.begin(), sample.labels.end(),
              labels->flat<float>().data());
    id->scalar<int64_t>()() = static_cast<int64_t>(sample.id);
    Assign(sample.example, &example->scalar<tstring>()());
  }

 private:
  static void Assign(ByteSpan bytes, tstring* out) {
    out->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
  }
};

class VerifyRecordsOp : public OpKernel {
 public:
  explicit VerifyRecordsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, context->GetAttr("decode", &decode_));
  }

  void Compute(OpKernelContext* context) override {
    const tstring* path;
    OP_REQUIRES_OK(context, ScalarInput(context, 0, &path));
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
    Tensor* problems;
    Tensor* examples;
    Tensor* counts;
    OP_REQUIRES_OK(
        context, context->allocate_output(0, TensorShape({count}), &problems));
    OP_REQUIRES_OK(
        context, context->allocate_output(1, TensorShape({count}), &examples));
    OP_REQUIRES_OK(context,
                   context->allocate_output(3, TensorShape({count}), &counts));
    std::unique_ptr<RandomFile> file;
    uint64_t size = 0;
    OP_REQUIRES_OK(context,
                   ToTf(OpenFile(context->env(), *path, &file, &size)));

    auto problem = problems->vec<tstring>();
    auto example = examples->vec<tstring>();
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
        example(i).assign(reinterpret_cast<const char*>(sample.example.data),
                          sample.example.size);
        labels[i] = std::move(sample.labels);
      }
    });
    int64_t all = 0;
    for (int64_t i = 0; i < count; ++i) {
      counts->vec<int64_t>()(i) = static_cast<int64_t>(labels[i].size());
      all += counts->vec<int64_t>()(i);
    }
    Tensor* values;
    OP_REQUIRES_OK(context,
                   context->allocate_output(2, TensorShape({all}), &values));
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
    ImageInfo info;
    info.height = row.height;
    info.width = row.width;
    info.channels = row.channels;
    info.bits = row.bits;
    const Format format = static_cast<Format>(row.format);
    // Sizes the buffer only after the image itself has confirmed the index.
    ImageInfo found;
    LIQUID_RETURN_IF_ERROR(Peek(format, sample->image, limits_, &found));
    if (found.height != info.height || found.width != info.width ||
        found.channels != info.channels || found.bits != info.bits) {
      return DataLoss("the image's size differs from the index's: " +
                      Size(found) + ", not " + Size(info));
    }
    pixels->resize(info.PixelBytes());
    const Window whole{0, 0, info.height, info.width};
    LIQUID_RETURN_IF_ERROR(Decode(format, sample->image, limits_, info, whole,
                                  pixels->data(), info.RowBytes()));
    if (PixelHash(info, pixels->data()) != row.pixels_hash) {
      return DataLoss("the decoded pixels' hash differs from the index's");
    }
    return OkStatus();
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
