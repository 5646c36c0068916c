// Values of a batch, in memory of whoever asked for them.
#ifndef LIQUID_OPS_ENGINE_ARRAY_H_
#define LIQUID_OPS_ENGINE_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

enum class DType : uint8_t {
  kBool,
  kUint8,
  kUint16,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kString,
  kRecords,  // those of a batch, as one value
};

// Bytes of one value; 0 for strings and records.
size_t SizeOf(DType dtype);
// As NumPy calls it: "uint8".
const char* NameOf(DType dtype);

// Dense numbers, the last dimension fastest. Copies share the memory, which is
// aligned to 64 bytes. Thread-compatible.
class Array {
 public:
  Array() = default;
  Array(DType dtype, std::vector<int64_t> shape, std::shared_ptr<void> owner,
        void* data)
      : dtype_(dtype),
        shape_(std::move(shape)),
        owner_(std::move(owner)),
        data_(static_cast<uint8_t*>(data)) {}

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // The length of the first dimension, of which there must be one.
  int64_t rows() const { return shape_.front(); }
  size_t elements() const;
  size_t bytes() const { return elements() * SizeOf(dtype_); }
  // Of one step along the first dimension.
  size_t row_bytes() const {
    return rows() == 0 ? 0 : bytes() / static_cast<size_t>(rows());
  }

  uint8_t* data() const { return data_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  // What keeps the memory; the allocator knows its type.
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  DType dtype_ = DType::kUint8;
  std::vector<int64_t> shape_;
  std::shared_ptr<void> owner_;
  uint8_t* data_ = nullptr;
};

// Bytes that are kept of a sample.
class Blob {
 public:
  virtual ~Blob() = default;
  virtual ByteSpan bytes() const = 0;
};

// Gives the memory of batches. Thread-safe.
class BatchAllocator {
 public:
  virtual ~BatchAllocator() = default;
  // Numbers of any content. Errors: Unavailable where there is no memory,
  // InvalidArgument for a shape that no memory has, and for what are no
  // numbers.
  virtual Status Allocate(DType dtype, std::vector<int64_t> shape,
                          Array* array) = 0;
  // Copies bytes.
  virtual Status Keep(ByteSpan bytes, std::unique_ptr<Blob>* blob) = 0;
};

// Memory of the process's pool.
class PoolBatchAllocator : public BatchAllocator {
 public:
  Status Allocate(DType dtype, std::vector<int64_t> shape,
                  Array* array) override;
  Status Keep(ByteSpan bytes, std::unique_ptr<Blob>* blob) override;
};

// "[2,3]"; "?" stands for a length of -1, which is not known.
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_ARRAY_H_
