#include "ops/gpu/driver/record_memory.h"

#include <memory>
#include <utility>

#include "ops/core/buffer_pool.h"
#include "ops/core/locked_slabs.h"

namespace liquid {
namespace {

class RegisteredMemory : public MemoryLock {
 public:
  RegisteredMemory(const CudaDriver& driver, CuContext context,
                   std::function<void(const std::string&)> warn)
      : driver_(driver), context_(context), warn_(std::move(warn)) {}

  bool Lock(uint8_t* data, size_t size) override {
    const Status status = Register(data, size);
    if (status.ok()) return true;
    warn_(status.message() +
          "; records are copied once more on their way to the GPU, which takes "
          "processor time: give the process more locked memory (ulimit -l, or "
          "the container's limits), or the cache less");
    return false;
  }

  bool Unlock(uint8_t* data) override {
    const CudaScope scope(driver_, context_);
    return scope.status().ok() && driver_.host_unregister(data) == kCuSuccess;
  }

 private:
  Status Register(uint8_t* data, size_t size) {
    const CudaScope scope(driver_, context_);
    LIQUID_RETURN_IF_ERROR(scope.status());
    const std::string what =
        "to register " + std::to_string(size) + " bytes of memory";
    return CudaStatus(driver_,
                      driver_.host_register(data, size, kCuHostMemoryPortable),
                      what.c_str());
  }

  const CudaDriver& driver_;
  const CuContext context_;
  const std::function<void(const std::string&)> warn_;
};

}  // namespace

void RegisterRecords(const CudaDriver& driver, CuContext context,
                     std::function<void(const std::string&)> warn) {
  BufferPool::Process().LockWith(
      std::make_shared<RegisteredMemory>(driver, context, std::move(warn)));
}

}  // namespace liquid
