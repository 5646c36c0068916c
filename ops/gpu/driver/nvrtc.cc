#include "ops/gpu/driver/nvrtc.h"

#include <dlfcn.h>

#include <string>

#include "ops/gpu/driver/cuda_driver.h"

namespace liquid {
namespace {

constexpr char kAdvice[] =
    "install that NVRTC (pip install nvidia-cuda-nvrtc-cu12, or "
    "nvidia-cuda-nvrtc for CUDA 13), or build liquid_tf with nvcc";

using Program = struct ProgramTag*;

struct Nvrtc {
  int (*create)(Program*, const char* source, const char* name, int headers,
                const char* const* header_sources,
                const char* const* header_names) = nullptr;
  int (*compile)(Program, int count, const char* const* options) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*image_size)(Program, size_t*) = nullptr;
  int (*image)(Program, char*) = nullptr;
  const char* (*error_string)(int) = nullptr;
};

Status Load(int cuda, Nvrtc* nvrtc) {
  std::string name;
  void* library = nullptr;
  // Machine code of a later CUDA than the driver's does not load.
  for (int major = 13; major >= 12 && library == nullptr; --major) {
    if (major > cuda / 1000) continue;
    name = "libnvrtc.so." + std::to_string(major);
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return NotFound(
        "l3 on a GPU: this library carries its kernels as source, and there is "
        "no libnvrtc.so.12" +
        std::string(cuda < 13000 ? "" : " or .13") +
        " to compile them for the driver, which is for CUDA " +
        std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10) +
        ": " + kAdvice);
  }
  const NamedFunction functions[] = {
      {"nvrtcCreateProgram", reinterpret_cast<void**>(&nvrtc->create)},
      {"nvrtcCompileProgram", reinterpret_cast<void**>(&nvrtc->compile)},
      {"nvrtcDestroyProgram", reinterpret_cast<void**>(&nvrtc->destroy)},
      {"nvrtcGetProgramLogSize", reinterpret_cast<void**>(&nvrtc->log_size)},
      {"nvrtcGetProgramLog", reinterpret_cast<void**>(&nvrtc->log)},
      {"nvrtcGetCUBINSize", reinterpret_cast<void**>(&nvrtc->image_size)},
      {"nvrtcGetCUBIN", reinterpret_cast<void**>(&nvrtc->image)},
      {"nvrtcGetErrorString", reinterpret_cast<void**>(&nvrtc->error_string)},
  };
  return FindFunctions(library, name.c_str(), functions,
                       sizeof(functions) / sizeof(functions[0]), kAdvice);
}

std::string Log(const Nvrtc& nvrtc, Program program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != 0 || size < 2) return "";
  std::string text(size, '\0');  // with the byte that ends it
  if (nvrtc.log(program, text.data()) != 0) return "";
  text.resize(size - 1);
  return ":\n" + text;
}

Status Compile(const Nvrtc& nvrtc, Program program, int capability,
               std::string* image) {
  const std::string architecture =
      "--gpu-architecture=sm_" + std::to_string(capability);
  const char* const options[] = {"--std=c++17", architecture.c_str()};
  const int result = nvrtc.compile(program, 2, options);
  if (result != 0) {
    return Internal("l3 on a GPU: NVRTC does not compile the kernels for sm_" +
                    std::to_string(capability) + " (" +
                    nvrtc.error_string(result) +
                    "); another NVRTC, or a library built with nvcc, may" +
                    Log(nvrtc, program));
  }
  size_t size = 0;
  if (nvrtc.image_size(program, &size) != 0 || size == 0) {
    return Internal("l3 on a GPU: NVRTC made no machine code");
  }
  image->resize(size);
  if (nvrtc.image(program, image->data()) != 0) {
    return Internal("l3 on a GPU: NVRTC does not give its machine code");
  }
  return OkStatus();
}

}  // namespace

Status CompileForDevice(const std::string& source, int cuda, int capability,
                        std::string* image) {
  Nvrtc nvrtc;
  LIQUID_RETURN_IF_ERROR(Load(cuda, &nvrtc));
  Program program = nullptr;
  const int result = nvrtc.create(&program, source.c_str(), "l3_device.cu", 0,
                                  nullptr, nullptr);
  if (result != 0) {
    return Internal("l3 on a GPU: NVRTC does not begin: " +
                    std::string(nvrtc.error_string(result)));
  }
  const Status status = Compile(nvrtc, program, capability, image);
  nvrtc.destroy(&program);
  return status;
}

}  // namespace liquid
