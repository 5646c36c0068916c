// CUDA's driver API, opened when it is first needed, so that neither headers
// nor libraries of CUDA are needed to build, and one library serves machines
// with and without a GPU.
#ifndef LIQUID_OPS_GPU_DRIVER_CUDA_DRIVER_H_
#define LIQUID_OPS_GPU_DRIVER_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>

#include "ops/core/status.h"

namespace liquid {

// The driver's own types; pointers whose contents are its own affair.
using CuResult = int;
using CuDevice = int;
using CuAddress = unsigned long long;  // in a device's memory
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;  // nullptr: the default one
using CuEvent = struct CuEventTag*;
using CuStreamCallback = void (*)(CuStream stream, CuResult result, void* data);

constexpr CuResult kCuSuccess = 0;
constexpr CuResult kCuOutOfMemory = 2;
// The default stream would have to wait for one that is captured.
constexpr CuResult kCuCaptureImplicit = 906;
constexpr int kCuCaptureRelaxed = 2;           // a thread's mode of capture
constexpr int kCuCaptureNone = 0;              // what is captured of a stream
constexpr int kCuComputeCapabilityMajor = 75;  // attributes of a device
constexpr int kCuComputeCapabilityMinor = 76;
constexpr unsigned kCuStreamNonBlocking = 1;
constexpr unsigned kCuEventDefault = 0;
constexpr unsigned kCuEventDisableTiming = 2;
constexpr unsigned kCuHostMemoryPortable = 1;

// What is used of it: member, symbol, parameters. Symbols with a number are
// those that cuda.h stands for since CUDA 4.
#define LIQUID_CUDA_FUNCTIONS(X)                                            \
  X(init, "cuInit", (unsigned flags))                                       \
  X(driver_version, "cuDriverGetVersion", (int* cuda))                      \
  X(error_name, "cuGetErrorName", (CuResult, const char** name))            \
  X(error_string, "cuGetErrorString", (CuResult, const char** text))        \
  X(device_count, "cuDeviceGetCount", (int* count))                         \
  X(device_get, "cuDeviceGet", (CuDevice*, int number))                     \
  X(device_attribute, "cuDeviceGetAttribute",                               \
    (int* value, int attribute, CuDevice))                                  \
  X(context_retain, "cuDevicePrimaryCtxRetain", (CuContext*, CuDevice))     \
  X(context_push, "cuCtxPushCurrent_v2", (CuContext))                       \
  X(context_pop, "cuCtxPopCurrent_v2", (CuContext*))                        \
  X(context_device, "cuCtxGetDevice", (CuDevice*))                          \
  X(context_priorities, "cuCtxGetStreamPriorityRange",                      \
    (int* least, int* greatest))                                            \
  X(module_load, "cuModuleLoadData", (CuModule*, const void* image))        \
  X(module_function, "cuModuleGetFunction",                                 \
    (CuFunction*, CuModule, const char* name))                              \
  X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int* mode))         \
  X(stream_create, "cuStreamCreateWithPriority",                            \
    (CuStream*, unsigned flags, int priority))                              \
  X(stream_destroy, "cuStreamDestroy_v2", (CuStream))                       \
  X(stream_synchronize, "cuStreamSynchronize", (CuStream))                  \
  X(stream_context, "cuStreamGetCtx", (CuStream, CuContext*))               \
  X(stream_wait, "cuStreamWaitEvent", (CuStream, CuEvent, unsigned flags))  \
  X(stream_captured, "cuStreamIsCapturing", (CuStream, int* captured))      \
  X(stream_callback, "cuStreamAddCallback",                                 \
    (CuStream, CuStreamCallback, void* data, unsigned flags))               \
  X(event_create, "cuEventCreate", (CuEvent*, unsigned flags))              \
  X(event_destroy, "cuEventDestroy_v2", (CuEvent))                          \
  X(event_record, "cuEventRecord", (CuEvent, CuStream))                     \
  X(event_milliseconds, "cuEventElapsedTime",                               \
    (float* milliseconds, CuEvent begin, CuEvent end))                      \
  X(allocate, "cuMemAlloc_v2", (CuAddress*, size_t size))                   \
  X(free, "cuMemFree_v2", (CuAddress))                                      \
  X(host_allocate, "cuMemHostAlloc", (void**, size_t size, unsigned flags)) \
  X(host_free, "cuMemFreeHost", (void*))                                    \
  X(host_register, "cuMemHostRegister_v2",                                  \
    (void*, size_t size, unsigned flags))                                   \
  X(host_unregister, "cuMemHostUnregister", (void*))                        \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2",                                 \
    (CuAddress to, const void* from, size_t size, CuStream))                \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2",                                   \
    (void* to, CuAddress from, size_t size, CuStream))                      \
  X(launch, "cuLaunchKernel",                                               \
    (CuFunction, unsigned grid_x, unsigned grid_y, unsigned grid_z,         \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, \
     CuStream, void** arguments, void** extra))

// How a copy of a batch reads its source.
struct CuCopyAttributes {
  int source_order;                            // kCuAnyOrder
  int source_location[2], target_location[2];  // 0: as the pointers tell
  unsigned flags;
};
constexpr int kCuAnyOrder = 3;

// What a driver may lack; nullptr where it does. CUDA 12.8 brought it.
#define LIQUID_CUDA_OPTIONAL_FUNCTIONS(X)                            \
  X(copy_batch, "cuMemcpyBatchAsync",                                \
    (CuAddress * to, CuAddress * from, size_t * sizes, size_t count, \
     CuCopyAttributes*, size_t * first_copies, size_t attributes,    \
     size_t * failed, CuStream))

struct CudaDriver {
#define LIQUID_CUDA_MEMBER(member, symbol, parameters) \
  CuResult(*member) parameters = nullptr;
  LIQUID_CUDA_FUNCTIONS(LIQUID_CUDA_MEMBER)
  LIQUID_CUDA_OPTIONAL_FUNCTIONS(LIQUID_CUDA_MEMBER)
#undef LIQUID_CUDA_MEMBER
};

// Opens libcuda.so.1 and initialises it, once a process; `*driver` is never
// freed. Thread-safe. Errors: NotFound where there is no driver or no device,
// Unimplemented where the driver lacks a function. A failure is not remembered.
Status LoadCudaDriver(const CudaDriver** driver);

// Whether there is a GPU `number`; InvalidArgument if not.
Status CheckCudaDevice(const CudaDriver& driver, int number);

// Finds the primary context of GPU `number`, which all of the process's
// libraries share; it stays as long as the process. Thread-safe. Errors:
// those of CheckCudaDevice and of the driver.
Status FindPrimaryContext(const CudaDriver& driver, int number,
                          CuContext* context);

// OK, or what the driver says of a result, behind `what` was tried:
// ResourceExhausted where memory ran out, else Internal.
Status CudaStatus(const CudaDriver& driver, CuResult result, const char* what);

// Fills in `functions`, `count` of them, from an open library by their symbols.
// Unimplemented, with the missing symbol and `advice`, where there is one.
struct NamedFunction {
  const char* symbol;
  void** function;
};
Status FindFunctions(void* library, const char* library_name,
                     const NamedFunction* functions, size_t count,
                     const char* advice);

// Makes a context the thread's current one, and the one before it afterwards.
// Meanwhile the thread may take memory and give it back although another one
// captures a graph: else both would fail.
class CudaScope {
 public:
  CudaScope(const CudaDriver& driver, CuContext context)
      : driver_(driver), result_(driver.context_push(context)) {
    if (result_ != kCuSuccess) return;
    is_relaxed_ = driver_.capture_mode(&capture_mode_) == kCuSuccess;
  }
  ~CudaScope() {
    if (result_ != kCuSuccess) return;
    if (is_relaxed_) driver_.capture_mode(&capture_mode_);
    CuContext context;
    driver_.context_pop(&context);
  }
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;

  Status status() const {
    return CudaStatus(driver_, result_, "to use the GPU's context");
  }

 private:
  const CudaDriver& driver_;
  const CuResult result_;
  int capture_mode_ = kCuCaptureRelaxed;  // of who is not in this scope
  bool is_relaxed_ = false;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_CUDA_DRIVER_H_
