#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "ops/containers/recordio/recordio.h"
#include "ops/core/crc32c.h"
#include "ops/kernel/open_file.h"
#include "ops/kernel/values.h"
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
using ::tensorflow::tstring;

// The longest record that there can be: one payload of less than 2^29 bytes,
// cut at each of its words.
constexpr int64_t kMaxLength = int64_t{12} << 29;
// Where id2 stands in a payload.
constexpr size_t kId2 = 16;

bool IsExample(ByteSpan bytes) {
  tensorflow::Example example;
  return example.ParseFromArray(bytes.data, static_cast<int>(bytes.size)) &&
         !example.features().feature().empty();
}

// Takes `*payload` apart as a record of others. Where id2 leads neither to an
// index nor to an example, `*payload` becomes a copy whose id2 is 0.
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
    std::string path;
    int64_t offset, length;
    OP_REQUIRES_OK(context, Scalar(context, 0, &path));
    OP_REQUIRES_OK(context, Scalar(context, 1, &offset));
    OP_REQUIRES_OK(context, Scalar(context, 2, &length));
    OP_REQUIRES(context, offset >= 0 && length >= 0 && length <= kMaxLength,
                absl::InvalidArgumentError(
                    "offset (" + std::to_string(offset) + ") and length (" +
                    std::to_string(length) + ") must be those of a record"));
    Buffer buffer;
    ByteSpan framed;
    std::string scratch, payload;
    SampleRecord sample;
    Status status =
        Read(context->env(), path, offset, length, &buffer, &framed);
    const int64_t crc = status.ok() ? Crc32c(framed) : 0;
    if (status.ok()) {
      status = Parse(framed, &scratch, &payload, &sample);
      if (!status.ok()) sample = SampleRecord();
    }

    OP_REQUIRES_OK(context, SetScalar(context, 0, sample.image));
    OP_REQUIRES_OK(context, SetVector<float>(context, 1, sample.labels));
    OP_REQUIRES_OK(context, SetScalar(context, 2, sample.example));
    OP_REQUIRES_OK(context, SetScalar(context, 3, crc));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 4, status.message()));
  }

 private:
  static Status Read(tensorflow::Env* env, const std::string& path,
                     uint64_t offset, uint64_t length, Buffer* buffer,
                     ByteSpan* framed) {
    std::unique_ptr<RandomFile> file;
    uint64_t size = 0;
    LIQUID_RETURN_IF_ERROR(OpenFile(env, path, &file, &size));
    if (offset > size || length > size - offset) {
      return DataLoss("its file ends at offset " + std::to_string(size) +
                      ", before the record");
    }
    ReadCount count;
    return file->Read(offset, length, buffer, framed, &count);
  }

  // The spans of `*sample` point into the others.
  Status Parse(ByteSpan framed, std::string* scratch, std::string* payload,
               SampleRecord* sample) const {
    ByteSpan span;
    const Status status = ParseRecord(framed, scratch, &span);
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
