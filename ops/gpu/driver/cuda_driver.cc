#include "ops/gpu/driver/cuda_driver.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

namespace liquid {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

Status Load(CudaDriver* driver) {
  // Never closed: its threads outlive whoever opened it.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return NotFound(
        std::string("l3 on a GPU: there is no NVIDIA driver (") + dlerror() +
        "); install one, so that nvidia-smi runs, or decode on the processors");
  }
  const NamedFunction functions[] = {
#define LIQUID_CUDA_NAME(member, symbol, parameters) \
  {symbol, reinterpret_cast<void**>(&driver->member)},
      LIQUID_CUDA_FUNCTIONS(LIQUID_CUDA_NAME)
#undef LIQUID_CUDA_NAME
  };
  LIQUID_RETURN_IF_ERROR(FindFunctions(library, kLibrary, functions,
                                       sizeof(functions) / sizeof(functions[0]),
                                       "install a driver of CUDA 12 or later"));
#define LIQUID_CUDA_FIND(member, symbol, parameters) \
  *reinterpret_cast<void**>(&driver->member) = dlsym(library, symbol);
  LIQUID_CUDA_OPTIONAL_FUNCTIONS(LIQUID_CUDA_FIND)
#undef LIQUID_CUDA_FIND
  const CuResult result = driver->init(0);
  int count = 0;
  if (result == kCuSuccess) {
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(*driver, driver->device_count(&count), "to count the GPUs"));
  }
  if (count > 0) return OkStatus();
  const std::string why =
      result == kCuSuccess
          ? "CUDA finds no GPU"
          : CudaStatus(*driver, result, "to start CUDA").message();
  return NotFound("l3 on a GPU: " + why +
                  "; nvidia-smi must show one, and CUDA_VISIBLE_DEVICES may "
                  "hide it");
}

}  // namespace

Status FindFunctions(void* library, const char* library_name,
                     const NamedFunction* functions, size_t count,
                     const char* advice) {
  for (size_t i = 0; i < count; ++i) {
    *functions[i].function = dlsym(library, functions[i].symbol);
    if (*functions[i].function == nullptr) {
      return Unimplemented(std::string("l3 on a GPU: ") + library_name +
                           " has no " + functions[i].symbol + ": " + advice);
    }
  }
  return OkStatus();
}

Status CudaStatus(const CudaDriver& driver, CuResult result, const char* what) {
  if (result == kCuSuccess) return OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  driver.error_name(result, &name);
  driver.error_string(result, &text);
  return Status(result == kCuOutOfMemory ? StatusCode::kResourceExhausted
                                         : StatusCode::kInternal,
                std::string("l3 on a GPU: ") + what + ": " +
                    (name == nullptr ? std::to_string(result) : name) +
                    (text == nullptr ? "" : std::string(", ") + text));
}

Status CheckCudaDevice(const CudaDriver& driver, int number) {
  int count = 0;
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver, driver.device_count(&count), "to count the GPUs"));
  if (number >= 0 && number < count) return OkStatus();
  return InvalidArgument("l3 on a GPU: there is no GPU " +
                         std::to_string(number) + ": CUDA finds " +
                         std::to_string(count) +
                         ", numbered from 0, and CUDA_VISIBLE_DEVICES may "
                         "hide others");
}

Status FindPrimaryContext(const CudaDriver& driver, int number,
                          CuContext* context) {
  static std::mutex mutex;
  static auto* const contexts = new std::map<int, CuContext>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = contexts->find(number);
  if (found != contexts->end()) {
    *context = found->second;
    return OkStatus();
  }
  LIQUID_RETURN_IF_ERROR(CheckCudaDevice(driver, number));
  CuDevice device = 0;
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(driver, driver.device_get(&device, number), "to find a GPU"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver, driver.context_retain(context, device), "to make a context"));
  contexts->emplace(number, *context);
  return OkStatus();
}

Status LoadCudaDriver(const CudaDriver** driver) {
  static std::mutex mutex;
  static CudaDriver loaded;
  static bool is_loaded = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (!is_loaded) LIQUID_RETURN_IF_ERROR(Load(&loaded));
  is_loaded = true;
  *driver = &loaded;
  return OkStatus();
}

}  // namespace liquid
