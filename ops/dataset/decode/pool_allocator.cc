#include "ops/dataset/decode/pool_allocator.h"

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "ops/core/buffer_pool.h"
#include "tensorflow/core/framework/allocator.h"

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

}  // namespace

Status PoolTensor(tensorflow::DataType dtype,
                  const tensorflow::TensorShape& shape,
                  tensorflow::Tensor* tensor) {
  // Tensors may go as late as at the process's exit.
  static auto* const kAllocator = new PoolAllocator();
  *tensor = tensorflow::Tensor(kAllocator, dtype, shape);
  if (tensor->IsInitialized()) return OkStatus();
  return Unavailable("no memory for a tensor of " + shape.DebugString() + " " +
                     tensorflow::DataTypeString(dtype));
}

}  // namespace liquid
