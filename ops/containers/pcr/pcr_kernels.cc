#include <limits>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/pixels.h"
#include "ops/containers/pcr/pcr_record.h"
#include "ops/containers/recordio/dataset_index.h"
#include "ops/core/crc32c.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/parallel.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {
namespace {

using ::tensorflow::DEVICE_CPU;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

// Reads a vector whose elements must fit 32 bits: lengths or checksums.
absl::Status WordsInput(OpKernelContext* context, int index,
                        std::vector<uint32_t>* words) {
  std::vector<int64_t> values;
  TF_RETURN_IF_ERROR(Vector(context, index, &values));
  for (const int64_t value : values) {
    if (value < 0 || value > std::numeric_limits<uint32_t>::max()) {
      return Wrong("input " + std::to_string(index) + " (" +
                   std::to_string(value) + ") must be in [0, 2^32)");
    }
  }
  words->assign(values.begin(), values.end());
  return absl::OkStatus();
}

// Inputs 1 and 2: lengths and checksums of a record.
absl::Status EntryInput(OpKernelContext* context, PcrEntry* entry) {
  TF_RETURN_IF_ERROR(WordsInput(context, 1, &entry->lengths));
  TF_RETURN_IF_ERROR(WordsInput(context, 2, &entry->crc32cs));
  if (entry->lengths.size() < 2) {
    return Wrong("lengths (" + std::to_string(entry->lengths.size()) +
                 " of them) must be of metadata and a scan group at least");
  }
  if (!entry->crc32cs.empty() &&
      entry->crc32cs.size() != entry->lengths.size()) {
    return Wrong("crc32cs (" + std::to_string(entry->crc32cs.size()) +
                 " of them) must be none or as many as lengths");
  }
  return absl::OkStatus();
}

class WritePcrOp : public OpKernel {
 public:
  explicit WritePcrOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("groups", &groups_));
  }

  void Compute(OpKernelContext* context) override {
    std::vector<tstring> jpegs, examples;
    std::vector<int32_t> labels;
    OP_REQUIRES_OK(context, Vector(context, 0, &jpegs));
    OP_REQUIRES_OK(context, Vector(context, 1, &labels));
    OP_REQUIRES_OK(context, Vector(context, 2, &examples));
    OP_REQUIRES(
        context,
        labels.size() == jpegs.size() && examples.size() == jpegs.size(),
        Wrong("labels and examples must be as many as images"));
    std::vector<PcrImage> images(jpegs.size());
    for (size_t i = 0; i < images.size(); ++i) {
      images[i] = {Bytes(jpegs[i]), labels[i], Bytes(examples[i])};
    }
    std::string record;
    PcrEntry entry;
    OP_REQUIRES_OK(context, ToTf(WritePcr(images, groups_, &record, &entry)));
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, record));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 1, entry.lengths));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 2, entry.crc32cs));
  }

 private:
  std::vector<int64_t> groups_;
};

class ReadPcrOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan prefix;
    PcrEntry entry;
    OP_REQUIRES_OK(context, Scalar(context, 0, &prefix));
    OP_REQUIRES_OK(context, EntryInput(context, &entry));
    int64_t group;
    OP_REQUIRES_OK(context, Scalar(context, "fidelity", &group));
    OP_REQUIRES(
        context, group >= 1,
        Wrong("fidelity (" + std::to_string(group) + ") must be at least 1"));
    PcrView view;
    OP_REQUIRES_OK(context,
                   ToTf(PcrView::Parse(
                       prefix, entry,
                       entry.GroupsAt(static_cast<uint64_t>(group)), &view)));
    const int64_t count = static_cast<int64_t>(view.images());
    Tensor *images, *labels, *examples;
    OP_REQUIRES_OK(context, MakeVector(context, 0, count, &images));
    OP_REQUIRES_OK(context, MakeVector(context, 1, count, &labels));
    OP_REQUIRES_OK(context, MakeVector(context, 2, count, &examples));
    for (size_t i = 0; i < view.images(); ++i) {
      tstring& image = images->vec<tstring>()(i);
      image.resize_uninitialized(view.GluedBytes(i, view.groups()));
      view.GlueTo(i, view.groups(), reinterpret_cast<uint8_t*>(image.mdata()));
      labels->vec<int32_t>()(i) = view.label(i);
      Assign(view.example(i), &examples->vec<tstring>()(i));
    }
  }
};

class ReadPcrIndexOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    ByteSpan contents;
    OP_REQUIRES_OK(context, Scalar(context, 0, &contents));
    std::vector<PcrEntry> entries;
    OP_REQUIRES_OK(context, ToTf(ParsePcrIndex(contents, &entries)));
    std::vector<int64_t> parts, lengths, checksums, crcs;
    Tensor* names;
    OP_REQUIRES_OK(context, MakeVector(context, 0, entries.size(), &names));
    for (size_t i = 0; i < entries.size(); ++i) {
      const PcrEntry& entry = entries[i];
      names->vec<tstring>()(i) = entry.name;
      parts.push_back(static_cast<int64_t>(entry.lengths.size()));
      checksums.push_back(static_cast<int64_t>(entry.crc32cs.size()));
      lengths.insert(lengths.end(), entry.lengths.begin(), entry.lengths.end());
      crcs.insert(crcs.end(), entry.crc32cs.begin(), entry.crc32cs.end());
    }
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 1, parts));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 2, lengths));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 3, checksums));
    OP_REQUIRES_OK(context, SetVector<int64_t>(context, 4, crcs));
  }
};

// Moves the next `count` of `words` to `*taken`; false where there are fewer.
bool Take(const std::vector<uint32_t>& words, int64_t count, size_t* at,
          std::vector<uint32_t>* taken) {
  if (count < 0 || static_cast<uint64_t>(count) > words.size() - *at) {
    return false;
  }
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(*at);
  taken->assign(begin, begin + count);
  *at += static_cast<size_t>(count);
  return true;
}

class WritePcrIndexOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    std::vector<tstring> names;
    std::vector<int64_t> parts, checksums;
    std::vector<uint32_t> lengths, crcs;
    OP_REQUIRES_OK(context, Vector(context, 0, &names));
    OP_REQUIRES_OK(context, Vector(context, 1, &parts));
    OP_REQUIRES_OK(context, WordsInput(context, 2, &lengths));
    OP_REQUIRES_OK(context, Vector(context, 3, &checksums));
    OP_REQUIRES_OK(context, WordsInput(context, 4, &crcs));
    OP_REQUIRES(
        context,
        parts.size() == names.size() && checksums.size() == names.size(),
        Wrong("parts and checksums must be as many as names"));
    std::vector<PcrEntry> entries(names.size());
    size_t length = 0, crc = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      entries[i].name = names[i];
      OP_REQUIRES(context,
                  Take(lengths, parts[i], &length, &entries[i].lengths) &&
                      Take(crcs, checksums[i], &crc, &entries[i].crc32cs),
                  Wrong("parts and checksums must sum to lengths and crc32cs"));
    }
    OP_REQUIRES(context, length == lengths.size() && crc == crcs.size(),
                Wrong("parts and checksums must sum to lengths and crc32cs"));
    std::string contents;
    AppendPcrIndex(entries, &contents);
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, contents));
  }
};

class VerifyPcrOp : public OpKernel {
 public:
  explicit VerifyPcrOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
  }

  void Compute(OpKernelContext* context) override {
    ByteSpan record;
    PcrEntry entry;
    OP_REQUIRES_OK(context, Scalar(context, 0, &record));
    OP_REQUIRES_OK(context, EntryInput(context, &entry));
    const Tensor& packed = context->input(3);
    OP_REQUIRES(context,
                packed.dims() == 2 &&
                    packed.dim_size(1) == static_cast<int64_t>(kIndexRowBytes),
                Wrong("rows (shape " + packed.shape().DebugString() +
                      ") must have shape [n, 56]"));
    std::vector<IndexRow> rows;
    OP_REQUIRES_OK(context,
                   ToTf(ParseIndexRows(ByteSpan(packed.flat<uint8_t>().data(),
                                                packed.NumElements()),
                                       &rows)));
    int64_t images;
    OP_REQUIRES_OK(context, Scalar(context, "images", &images));
    const int64_t count = packed.dim_size(0);
    Tensor *problems, *examples, *labels;
    OP_REQUIRES_OK(context, MakeVector(context, 1, count, &problems));
    OP_REQUIRES_OK(context, MakeVector(context, 2, count, &examples));
    OP_REQUIRES_OK(context, MakeVector(context, 3, count, &labels));
    labels->vec<int32_t>().setConstant(kPcrNoLabel);
    PcrView view;
    Status status = PcrView::Parse(record, entry, entry.groups(), &view);
    if (status.ok() && static_cast<int64_t>(view.images()) != images) {
      status = DataLoss("has " + std::to_string(view.images()) +
                        " images, the manifest says " + std::to_string(images));
    }
    OP_REQUIRES_OK(context, SetScalar<tstring>(context, 0, status.message()));
    if (!status.ok()) return;
    auto problem = problems->vec<tstring>();
    auto example = examples->vec<tstring>();
    auto label = labels->vec<int32_t>();
    // One image costs far more than handing it to a thread.
    constexpr int64_t kCost = 10 * 1000 * 1000;
    ParallelFor(context, count, kCost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        problem(i) = Verify(view, rows[i]).message();
        if (rows[i].offset < view.images()) {
          Assign(view.example(rows[i].offset), &example(i));
          label(i) = view.label(rows[i].offset);
        }
      }
    });
  }

 private:
  Status Verify(const PcrView& view, const IndexRow& row) const {
    if (row.offset >= view.images()) {
      return DataLoss("has no image " + std::to_string(row.offset));
    }
    std::string jpeg;
    view.Glue(row.offset, view.groups(), &jpeg);
    const ByteSpan file(jpeg.data(), jpeg.size());
    if (jpeg.size() != row.length || Crc32c(file) != row.crc32c) {
      return DataLoss("its " + std::to_string(jpeg.size()) +
                      " bytes do not have the index's length and CRC-32C");
    }
    std::vector<uint8_t> pixels;
    return CheckPixels(Format::kJpeg, file, limits_, row.image(),
                       row.pixels_hash, &pixels);
  }

  DecodeLimits limits_;
};

#define LIQUID_REGISTER(name) \
  REGISTER_KERNEL_BUILDER(Name("Liquid>" #name).Device(DEVICE_CPU), name##Op)

LIQUID_REGISTER(ReadPcr);
LIQUID_REGISTER(ReadPcrIndex);
LIQUID_REGISTER(VerifyPcr);
LIQUID_REGISTER(WritePcr);
LIQUID_REGISTER(WritePcrIndex);

#undef LIQUID_REGISTER

}  // namespace
}  // namespace liquid
