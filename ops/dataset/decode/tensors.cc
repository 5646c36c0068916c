#include "ops/dataset/decode/tensors.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "ops/core/buffer_pool.h"
#include "ops/dataset/source/batch_records.h"
#include "ops/kernel/values.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/variant.h"

namespace liquid {
namespace {

// Thread-safe.
class PoolAllocator : public tensorflow::Allocator {
 public:
  std::string Name() override { return "liquid_pool"; }

  // Before the memory that is given out lies the buffer that owns it.
  void* AllocateRaw(size_t alignment, size_t bytes) override {
    static_assert(sizeof(Buffer) <= kHead, "the buffer fits before the data");
    if (alignment > kHead || bytes > SIZE_MAX - kHead) return nullptr;
    Buffer buffer = BufferPool::Process().Acquire(kHead + bytes);
    if (!buffer) return nullptr;
    uint8_t* const head = buffer.data();
    new (head) Buffer(std::move(buffer));
    return head + kHead;
  }

  void DeallocateRaw(void* data) override {
    if (data == nullptr) return;
    auto* const head =
        reinterpret_cast<Buffer*>(static_cast<uint8_t*>(data) - kHead);
    const Buffer buffer = std::move(*head);
    head->~Buffer();
  }

 private:
  static constexpr size_t kHead = kAllocatorAlignment;
};

// In the order of DType.
constexpr tensorflow::DataType kTypes[] = {
    tensorflow::DT_BOOL,     tensorflow::DT_UINT8,   tensorflow::DT_UINT16,
    tensorflow::DT_INT32,    tensorflow::DT_INT64,   tensorflow::DT_HALF,
    tensorflow::DT_BFLOAT16, tensorflow::DT_FLOAT,   tensorflow::DT_DOUBLE,
    tensorflow::DT_STRING,   tensorflow::DT_VARIANT,
};

class TextBlob : public Blob {
 public:
  explicit TextBlob(ByteSpan bytes)
      : text(reinterpret_cast<const char*>(bytes.data), bytes.size) {}
  ByteSpan bytes() const override { return Bytes(text); }

  tensorflow::tstring text;
};

// A text that is the batch's alone is moved.
tensorflow::tstring TakeText(const Output::Text& given) {
  if (given.blob != nullptr && given.blob.use_count() == 1) {
    return std::move(static_cast<TextBlob*>(given.blob.get())->text);
  }
  return tensorflow::tstring(reinterpret_cast<const char*>(given.bytes.data),
                             given.bytes.size);
}

}  // namespace

TensorAllocator& TensorAllocator::Process() {
  static auto* const kAllocator = new TensorAllocator();
  return *kAllocator;
}

Status TensorAllocator::Allocate(DType dtype, std::vector<int64_t> shape,
                                 Array* array) {
  // Tensors may go as late as at the process's exit.
  static auto* const kPool = new PoolAllocator();
  tensorflow::TensorShape sides;
  const absl::Status made =
      tensorflow::TensorShape::BuildTensorShape(shape, &sides);
  if (!made.ok()) {
    return InvalidArgument("a batch of " + ShapeText(shape) + ": " +
                           std::string(made.message()));
  }
  const tensorflow::DataType type = kTypes[static_cast<size_t>(dtype)];
  auto tensor = std::make_shared<tensorflow::Tensor>(kPool, type, sides);
  if (!tensor->IsInitialized()) {
    return Unavailable("no memory for a tensor of " + sides.DebugString() +
                       " " + tensorflow::DataTypeString(type));
  }
  void* const data = tensor->data();
  *array = Array(dtype, std::move(shape), std::move(tensor), data);
  return OkStatus();
}

Status TensorAllocator::Keep(ByteSpan bytes, std::unique_ptr<Blob>* blob) {
  *blob = std::make_unique<TextBlob>(bytes);
  return OkStatus();
}

bool ToDType(tensorflow::DataType type, DType* dtype) {
  const auto* const found =
      std::find(std::begin(kTypes), std::end(kTypes), type);
  *dtype = static_cast<DType>(found - std::begin(kTypes));
  return found != std::end(kTypes);
}

std::vector<tensorflow::Tensor> ToTensors(std::vector<Output> outputs) {
  std::vector<tensorflow::Tensor> tensors;
  for (Output& output : outputs) {
    if (output.dtype == DType::kRecords) {
      tensors.emplace_back(tensorflow::DT_VARIANT, tensorflow::TensorShape());
      tensors.back().scalar<tensorflow::Variant>()() = BatchRecords{
          std::move(output.records), std::move(output.plans),
          std::move(output.blends),  std::move(output.formats),
          std::move(output.moves),   std::move(output.count_decode)};
      continue;
    }
    if (output.dtype != DType::kString) {
      tensors.push_back(*std::static_pointer_cast<tensorflow::Tensor>(
          output.numbers.owner()));
      continue;
    }
    tensors.emplace_back(tensorflow::DT_STRING,
                         tensorflow::TensorShape(output.shape));
    std::transform(output.texts.begin(), output.texts.end(),
                   tensors.back().flat<tensorflow::tstring>().data(), TakeText);
  }
  return tensors;
}

}  // namespace liquid
