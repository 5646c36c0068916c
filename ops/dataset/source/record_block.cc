#include "ops/dataset/source/record_block.h"

#include <cstring>
#include <utility>

#include "ops/codecs/codec.h"
#include "ops/containers/recordio/check_record.h"
#include "ops/core/crc32c.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace liquid {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::tstring;

constexpr int kColumns = 18;
constexpr int kStrings = 4;

// What is stored of a record in memory: its bytes, or those of a record of its
// pixels.
Status FramedBytes(const Record& record, std::string* scratch,
                   ByteSpan* framed) {
  *framed = record.framed;
  if (record.pixels.empty() || !record.status.ok()) return OkStatus();
  SampleRecord sample = record.content;
  sample.image = record.pixels.front().second;
  std::string payload;
  LIQUID_RETURN_IF_ERROR(AppendSamplePayload(sample, &payload));
  LIQUID_RETURN_IF_ERROR(
      AppendRecord(ByteSpan(payload.data(), payload.size()), scratch));
  *framed = ByteSpan(scratch->data(), scratch->size());
  return OkStatus();
}

bool IsPcr(const Record& record) {
  return record.row.format == static_cast<uint8_t>(Format::kPcr);
}

}  // namespace

void RecordBlockRef::Encode(tensorflow::VariantTensorData* data) const {
  data->set_type_name(TypeName());
  if (block == nullptr) return;
  const std::vector<RecordBlock::Item>& items = block->items;
  const auto n = static_cast<int64_t>(items.size());
  Tensor head(tensorflow::DT_INT64, {4});
  head.vec<int64_t>()(0) = block->epoch;
  head.vec<int64_t>()(1) = static_cast<int64_t>(block->first_draw);
  head.vec<int64_t>()(2) = block->last;
  head.vec<int64_t>()(3) = n;
  Tensor numbers(tensorflow::DT_INT64, {n, kColumns});
  // Columns of strings: framed bytes or the image of a pcr, path of the shard,
  // error message, and the example of a pcr.
  Tensor strings(tensorflow::DT_STRING, {n, kStrings});
  for (int64_t i = 0; i < n; ++i) {
    const RecordBlock::Item& item = items[i];
    const Record& record = *item.record;
    std::string scratch;
    ByteSpan framed;
    const Status stored = record.status.ok()
                              ? FramedBytes(record, &scratch, &framed)
                              : record.status;
    IndexRow row = record.row;
    if (!scratch.empty()) {
      row.length = framed.size;
      row.crc32c = Crc32c(framed);
    }
    const int64_t values[kColumns] = {
        item.format,
        item.load,
        item.memory_hit,
        static_cast<int64_t>(record.position),
        static_cast<int64_t>(record.number),
        static_cast<int64_t>(stored.code()),
        static_cast<int64_t>(row.sample),
        row.split,
        row.format,
        row.shard,
        static_cast<int64_t>(row.offset),
        static_cast<int64_t>(row.length),
        row.crc32c,
        static_cast<int64_t>(uint64_t{row.height} << 32 | row.width),
        int64_t{row.orientation} << 16 | row.channels << 8 | row.bits,
        static_cast<int64_t>(row.pixels_hash),
        IsPcr(record) && record.status.ok()
            ? static_cast<int64_t>(record.content.labels[0])
            : 0,
        !scratch.empty()};
    std::memcpy(&numbers.matrix<int64_t>()(i, 0), values, sizeof(values));
    auto text = strings.matrix<tstring>();
    if (stored.ok()) {
      text(i, 0).assign(reinterpret_cast<const char*>(framed.data),
                        framed.size);
    }
    text(i, 1) = record.shard;
    text(i, 2) = stored.message();
    const ByteSpan example = record.content.example;
    if (IsPcr(record) && example.size > 0) {
      text(i, 3).assign(reinterpret_cast<const char*>(example.data),
                        example.size);
    }
  }
  *data->add_tensors() = head;
  *data->add_tensors() = numbers;
  *data->add_tensors() = strings;
}

bool RecordBlockRef::Decode(tensorflow::VariantTensorData data) {
  if (data.tensors_size() != 3) return false;
  const Tensor& head = data.tensors(0);
  const Tensor& numbers = data.tensors(1);
  const Tensor& strings = data.tensors(2);
  if (head.dtype() != tensorflow::DT_INT64 || head.NumElements() != 4 ||
      numbers.dtype() != tensorflow::DT_INT64 || numbers.dims() != 2 ||
      strings.dtype() != tensorflow::DT_STRING || strings.dims() != 2) {
    return false;
  }
  const int64_t n = head.vec<int64_t>()(3);
  if (numbers.dim_size(0) != n || numbers.dim_size(1) != kColumns ||
      strings.dim_size(0) != n || strings.dim_size(1) != kStrings) {
    return false;
  }
  auto decoded = std::make_shared<RecordBlock>();
  decoded->epoch = head.vec<int64_t>()(0);
  decoded->first_draw = static_cast<uint64_t>(head.vec<int64_t>()(1));
  decoded->last = head.vec<int64_t>()(2) != 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* v = &numbers.matrix<int64_t>()(i, 0);
    auto text = strings.matrix<tstring>();
    auto record = std::make_shared<Record>();
    record->position = static_cast<uint64_t>(v[3]);
    record->number = static_cast<uint64_t>(v[4]);
    record->row.sample = static_cast<uint64_t>(v[6]);
    record->row.split = static_cast<uint8_t>(v[7]);
    record->row.format = static_cast<uint8_t>(v[8]);
    record->row.shard = static_cast<uint32_t>(v[9]);
    record->row.offset = static_cast<uint64_t>(v[10]);
    record->row.length = static_cast<uint64_t>(v[11]);
    record->row.crc32c = static_cast<uint32_t>(v[12]);
    record->row.height =
        static_cast<uint32_t>(static_cast<uint64_t>(v[13]) >> 32);
    record->row.width = static_cast<uint32_t>(v[13]);
    record->row.orientation = static_cast<uint32_t>(v[14] >> 16);
    record->row.channels = static_cast<uint8_t>(v[14] >> 8);
    record->row.bits = static_cast<uint8_t>(v[14]);
    record->row.pixels_hash = static_cast<uint64_t>(v[15]);
    record->shard = text(i, 1);
    record->status = Status(static_cast<StatusCode>(v[5]), text(i, 2));
    if (record->status.ok()) {
      const tstring& framed = text(i, 0);
      if (framed.size() != record->row.length) return false;
      const tstring& example = text(i, 3);
      record->memory =
          BufferPool::Process().Acquire(framed.size() + example.size());
      if (!record->memory) return false;
      uint8_t* const bytes = record->memory.data();
      std::memcpy(bytes, framed.data(), framed.size());
      record->framed = ByteSpan(bytes, framed.size());
      if (IsPcr(*record)) {
        std::memcpy(bytes + framed.size(), example.data(), example.size());
        record->content.id = record->row.sample;
        record->content.labels = {static_cast<float>(v[16])};
        record->content.image = ByteSpan(bytes, framed.size());
        record->content.example =
            ByteSpan(bytes + framed.size(), example.size());
      } else {
        record->status = CheckRecord(record->framed, record->row,
                                     &record->joined, &record->content);
        if (v[17] != 0) record->pixels = {{"", record->content.image}};
      }
    }
    decoded->items.push_back(
        {std::move(record), static_cast<uint32_t>(v[0]), v[1] != 0, v[2] != 0});
  }
  block = std::move(decoded);
  return true;
}

tensorflow::Tensor ToTensor(RecordBlock block) {
  Tensor tensor(tensorflow::DT_VARIANT, {});
  tensor.scalar<tensorflow::Variant>()() =
      RecordBlockRef{std::make_shared<RecordBlock>(std::move(block))};
  return tensor;
}

std::shared_ptr<const RecordBlock> BlockOf(const tensorflow::Tensor& tensor) {
  if (tensor.dtype() != tensorflow::DT_VARIANT || tensor.dims() != 0) {
    return nullptr;
  }
  const auto* ref =
      tensor.scalar<tensorflow::Variant>()().get<RecordBlockRef>();
  return ref == nullptr ? nullptr : ref->block;
}

REGISTER_UNARY_VARIANT_DECODE_FUNCTION(RecordBlockRef, "liquid::RecordBlock");

}  // namespace liquid
