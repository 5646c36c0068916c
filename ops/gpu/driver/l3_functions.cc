#include "ops/gpu/driver/l3_functions.h"

#include <map>
#include <mutex>

#include "ops/codecs/l3/device/l3_device_plan.cuh"
#include "ops/gpu/driver/l3_module.h"
#include "ops/gpu/driver/nvrtc.h"

namespace liquid {
namespace {

constexpr int kOldest = 75;  // compute capability

Status LoadModule(const CudaDriver& driver, CuModule* module) {
  CuDevice device = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(driver, driver.context_device(&device),
                                    "to find the context's GPU"));
  int capability = 0;
  LIQUID_RETURN_IF_ERROR(CheckCapability(driver, device, &capability));
  const DeviceModule carried = L3DeviceModule();
  const void* image = carried.bytes.data;
  std::string compiled;
  if (carried.is_source) {
    int cuda = 0;
    LIQUID_RETURN_IF_ERROR(CudaStatus(driver, driver.driver_version(&cuda),
                                      "to ask for the driver's version"));
    LIQUID_RETURN_IF_ERROR(CompileForDevice(
        std::string(reinterpret_cast<const char*>(carried.bytes.data),
                    carried.bytes.size),
        cuda, capability, &compiled));
    image = compiled.data();
  }
  const Status status = CudaStatus(driver, driver.module_load(module, image),
                                   "to load the kernels");
  if (status.ok()) return status;
  return Status(status.code(), status.message() + " (compute capability " +
                                   std::to_string(capability) +
                                   "); a driver as new as the CUDA that "
                                   "compiled them takes them");
}

}  // namespace

Status CheckCapability(const CudaDriver& driver, CuDevice device,
                       int* capability) {
  int major = 0, minor = 0;
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver,
      driver.device_attribute(&major, kCuComputeCapabilityMajor, device),
      "to ask for the compute capability"));
  LIQUID_RETURN_IF_ERROR(CudaStatus(
      driver,
      driver.device_attribute(&minor, kCuComputeCapabilityMinor, device),
      "to ask for the compute capability"));
  *capability = 10 * major + minor;
  if (*capability >= kOldest) return OkStatus();
  return Unimplemented("l3 on a GPU: GPU " + std::to_string(device) +
                       " has compute capability " + std::to_string(major) +
                       "." + std::to_string(minor) +
                       ", and must have 7.5 (Turing) or more: take a later "
                       "one, or decode on the processors");
}

Status FindL3Function(const CudaDriver& driver, CuContext context,
                      const std::string& name, CuFunction* function) {
  static std::mutex mutex;
  static auto* const modules = new std::map<CuContext, CuModule>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = modules->find(context);
  if (found == modules->end()) {
    CuModule module = nullptr;
    LIQUID_RETURN_IF_ERROR(LoadModule(driver, &module));
    found = modules->emplace(context, module).first;
  }
  const std::string what = "to find kernel " + name;
  return CudaStatus(
      driver, driver.module_function(function, found->second, name.c_str()),
      what.c_str());
}

Status LaunchL3Plan(const CudaDriver& driver, CuFunction kernel,
                    CuStream stream, uint32_t count, CuAddress images,
                    CuAddress runs, CuAddress bytes, CuAddress tasks,
                    CuAddress results) {
  if (count == 0) return OkStatus();
  void* arguments[] = {&images, &runs, &count, &bytes, &tasks, &results};
  return CudaStatus(driver,
                    driver.launch(kernel, count, 1, 1, kL3PlanThreads, 1, 1, 0,
                                  stream, arguments, nullptr),
                    "to launch a kernel");
}

Status LaunchL3Check(const CudaDriver& driver, CuFunction kernel,
                     CuStream stream, uint32_t count, CuAddress tasks,
                     CuAddress results, CuAddress findings) {
  if (count == 0) return OkStatus();
  void* arguments[] = {&tasks, &results, &count, &findings};
  const uint32_t blocks = (count - 1) / kL3PlanThreads + 1;
  return CudaStatus(driver,
                    driver.launch(kernel, blocks, 1, 1, kL3PlanThreads, 1, 1, 0,
                                  stream, arguments, nullptr),
                    "to launch a kernel");
}

}  // namespace liquid
