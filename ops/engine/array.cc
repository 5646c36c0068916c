#include "ops/engine/array.h"

#include <cstring>

#include "ops/core/buffer_pool.h"

namespace liquid {
namespace {

struct DTypeRow {
  const char* name;
  size_t size;
};

// In the order of DType.
constexpr DTypeRow kTypes[] = {
    {"bool", 1},    {"uint8", 1},   {"uint16", 2},   {"int32", 4},
    {"int64", 8},   {"float16", 2}, {"bfloat16", 2}, {"float32", 4},
    {"float64", 8}, {"string", 0},  {"records", 0},
};

const DTypeRow& RowOf(DType dtype) {
  return kTypes[static_cast<size_t>(dtype)];
}

Status Acquire(size_t size, const std::string& what,
               std::shared_ptr<Buffer>* buffer) {
  // A block of nothing has no address.
  *buffer = std::make_shared<Buffer>(
      BufferPool::Process().Acquire(size == 0 ? 1 : size));
  if (**buffer) return OkStatus();
  return Unavailable("no memory for " + what);
}

class PoolBlob : public Blob {
 public:
  PoolBlob(std::shared_ptr<Buffer> buffer, size_t size)
      : buffer_(std::move(buffer)), size_(size) {}
  ByteSpan bytes() const override { return ByteSpan(buffer_->data(), size_); }

 private:
  const std::shared_ptr<Buffer> buffer_;
  const size_t size_;
};

}  // namespace

size_t SizeOf(DType dtype) { return RowOf(dtype).size; }
const char* NameOf(DType dtype) { return RowOf(dtype).name; }

size_t Array::elements() const {
  size_t elements = 1;
  for (const int64_t side : shape_) elements *= static_cast<size_t>(side);
  return elements;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t side : shape) {
    if (text.size() > 1) text += ",";
    text += side < 0 ? "?" : std::to_string(side);
  }
  return text + "]";
}

Status PoolBatchAllocator::Allocate(DType dtype, std::vector<int64_t> shape,
                                    Array* array) {
  // Less than any machine has, and no product of two overflows.
  constexpr uint64_t kMostBytes = uint64_t{1} << 46;
  const std::string what = std::string(NameOf(dtype)) + ShapeText(shape);
  uint64_t bytes = SizeOf(dtype);
  bool fits = SizeOf(dtype) > 0;
  for (const int64_t side : shape) {
    const auto length = static_cast<uint64_t>(side);
    fits = fits && side >= 0 && (length == 0 || bytes <= kMostBytes / length);
    if (!fits) break;
    bytes *= length;
  }
  if (!fits) return InvalidArgument("an array cannot be " + what);
  std::shared_ptr<Buffer> buffer;
  LIQUID_RETURN_IF_ERROR(Acquire(bytes, what, &buffer));
  uint8_t* const data = buffer->data();
  *array = Array(dtype, std::move(shape), std::move(buffer), data);
  return OkStatus();
}

Status PoolBatchAllocator::Keep(ByteSpan bytes, std::unique_ptr<Blob>* blob) {
  std::shared_ptr<Buffer> buffer;
  LIQUID_RETURN_IF_ERROR(
      Acquire(bytes.size,
              "an image of " + std::to_string(bytes.size) + " bytes", &buffer));
  if (bytes.size > 0) std::memcpy(buffer->data(), bytes.data, bytes.size);
  *blob = std::make_unique<PoolBlob>(std::move(buffer), bytes.size);
  return OkStatus();
}

}  // namespace liquid
