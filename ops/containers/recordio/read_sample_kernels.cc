#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "ops/kernel/file.h"
#include "tensorflow/core/example/example.pb.h"
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

// The longest record that there can be: one payload of less than 2^29 bytes,
// split at each of its words.
constexpr int64_t kMaxLength = int64_t{12} << 29;
// Where id2 stands in a payload.
constexpr size_t kId2 = 16;

bool IsExample(ByteSpan bytes) {
  tensorflow::Example example;
  return example.ParseFromArray(bytes.data, static_cast<int>(bytes.size)) &&
         !example.features().feature().empty();
}

// Takes `*payload` apart as a record of others. Where id2 does not lead to an
// example, `*payload` becomes a copy whose id2 is 0.
Status ParseForeign(std::string* payload, SampleRecord* sample) {
  Status status =
      ParseSamplePayload(ByteSpan(payload->data(), payload->size()), sample);
  if (status.ok() && sample->example.size == 0) return status;
  if (status.ok() && IsExample(sample->example)) return status;
  if (payload->size() < kId2 + 8) return status;
  std::fill_n(payload->begin() + kId2, 8, '\0');
  return ParseSamplePayload(ByteSpan(payload->data(), payload->size()), sample);
}

class ReadSampleOp : public OpKernel {
 public:
  explicit ReadSampleOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("foreign", &foreign_));
  }

  void Compute(OpKernelContext* context) override {
    for (int i = 0; i < 3; ++i) {
      OP_REQUIRES(context,
                  TensorShapeUtils::IsScalar(context->input(i).shape()),
                  absl::InvalidArgumentError("input " + std::to_string(i) +
                                             " must be a scalar"));
    }
    const int64_t offset = context->input(1).scalar<int64_t>()();
    const int64_t length = context->input(2).scalar<int64_t>()();
    OP_REQUIRES(context, offset >= 0 && length >= 0 && length <= kMaxLength,
                absl::InvalidArgumentError(
                    "offset (" + std::to_string(offset) + ") and length (" +
                    std::to_string(length) + ") must be those of a record"));
    std::string framed, scratch, payload;
    SampleRecord sample;
    std::string error =
        Read(context->env(), context->input(0).scalar<tstring>()(), offset,
             length, &framed);
    const int64_t crc =
        error.empty() ? Crc32c(ByteSpan(framed.data(), framed.size())) : 0;
    if (error.empty()) {
      const Status status = Parse(framed, &scratch, &payload, &sample);
      error = status.message();
      if (!status.ok()) sample = SampleRecord();
    }

    const int64_t count = static_cast<int64_t>(sample.labels.size());
    Tensor* outputs[5];
    for (int i = 0; i < 5; ++i) {
      const TensorShape shape = i == 1 ? TensorShape({count}) : TensorShape({});
      OP_REQUIRES_OK(context, context->allocate_output(i, shape, &outputs[i]));
    }
    Assign(sample.image, outputs[0]);
    std::copy(sample.labels.begin(), sample.labels.end(),
              outputs[1]->flat<float>().data());
    Assign(sample.example, outputs[2]);
    outputs[3]->scalar<int64_t>()() = crc;
    outputs[4]->scalar<tstring>()() = error;
  }

 private:
  static void Assign(ByteSpan bytes, Tensor* out) {
    out->scalar<tstring>()().assign(reinterpret_cast<const char*>(bytes.data),
                                    bytes.size);
  }

  // Returns why the bytes cannot be read, or nothing.
  static std::string Read(tensorflow::Env* env, const std::string& path,
                          int64_t offset, int64_t length, std::string* framed) {
    std::unique_ptr<tensorflow::RandomAccessFile> file;
    uint64_t size = 0;
    absl::Status status = OpenFile(env, path, &file, &size);
    if (!status.ok()) return std::string(status.message());
    if (static_cast<uint64_t>(offset) > size ||
        static_cast<uint64_t>(length) > size - offset) {
      return "its file ends at offset " + std::to_string(size) +
             ", before the record";
    }
    framed->resize(length);
    absl::string_view read;
    status = file->Read(offset, length, &read, framed->data());
    if (!status.ok()) return std::string(status.message());
    // A file system may answer from memory of its own.
    if (read.data() != framed->data()) framed->assign(read.data(), read.size());
    return "";
  }

  // The spans of `*sample` point into the others.
  Status Parse(const std::string& framed, std::string* scratch,
               std::string* payload, SampleRecord* sample) const {
    ByteSpan span;
    const Status status =
        ParseRecord(ByteSpan(framed.data(), framed.size()), scratch, &span);
    if (!status.ok()) return status;
    if (!foreign_) return ParseSamplePayload(span, sample);
    payload->assign(reinterpret_cast<const char*>(span.data), span.size);
    return ParseForeign(payload, sample);
  }

  bool foreign_;
};

REGISTER_KERNEL_BUILDER(Name("Liquid>ReadSample").Device(DEVICE_CPU),
                        ReadSampleOp);

}  // namespace
}  // namespace liquid
